"""A question of the assistant's, or of a dialogue such as `/login`, answered in the cell: by buttons and a field where
a page shows them, by `input()` elsewhere. A secret is typed where nobody reads along, and is kept nowhere here."""

from __future__ import annotations

import asyncio
import getpass
import uuid
from typing import TYPE_CHECKING, Any

from jupyter_eca.kernel.interrupt import in_input
from jupyter_eca.kernel.markdown import inert
from jupyter_eca.kernel.row import Row, toolkit
from jupyter_eca.kernel.surroundings import Surroundings
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_eca.kernel.screen import Publisher
    from jupyter_eca.protocol.question import ChatAskQuestionParams

NOBODY = ChatAskQuestionResult(cancelled=True)


async def answered(
    surroundings: Surroundings, publisher: Publisher, asked: ChatAskQuestionParams
) -> ChatAskQuestionResult:
    """Cancel it to take the question back. Raises: KeyboardInterrupt."""
    match surroundings:
        case Surroundings.NOTEBOOK:
            return await _on_page(publisher, asked)
        case Surroundings.TERMINAL:
            return typed(asked)
        case Surroundings.UNATTENDED:
            return NOBODY


# -- on a page


async def _on_page(publisher: Publisher, asked: ChatAskQuestionParams) -> ChatAskQuestionResult:
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[ChatAskQuestionResult] = loop.create_future()

    def give(result: ChatAskQuestionResult) -> None:
        if not answer.done():
            answer.set_result(result)

    def said(result: ChatAskQuestionResult) -> None:
        # On ipykernel before 7.4 a click arrives on a thread of its own.
        loop.call_soon_threadsafe(give, result)

    id = f"eca-question-{asked.tool_call_id or uuid.uuid4().hex}"
    words = f"{id}-words"
    data = {"text/markdown": inert(asked.question), "text/plain": asked.question}
    publisher.publish(data, transient={"display_id": words})
    row = Row(publisher, id, list(_parts(asked, said)), "waits for an answer")
    try:
        return await answer
    finally:
        row.withdraw()
        publisher.publish({"text/plain": ""}, transient={"display_id": words}, update=True)


def _parts(asked: ChatAskQuestionParams, said: Callable[[ChatAskQuestionResult], None]) -> Iterator[Any]:
    widgets = toolkit()
    for option in asked.options or ():
        button = widgets.Button(description=option.label, tooltip=option.description or "", button_style="info")
        button.layout.width = "auto"
        button.on_click(_clicked(said, ChatAskQuestionResult(answer=option.label)))
        yield button
    if asked.allow_freeform or not asked.options:
        yield from _field(asked, said)
    cancel = widgets.Button(description="Cancel", tooltip="Do not answer")
    cancel.on_click(_clicked(said, NOBODY))
    yield cancel


def _field(asked: ChatAskQuestionParams, said: Callable[[ChatAskQuestionResult], None]) -> Iterator[Any]:
    widgets = toolkit()
    kind = widgets.Password if asked.secret else widgets.Text
    placeholder = "Typed here it is not shown, and not saved" if asked.secret else "Your answer"
    # The whole answer at once: a page sends every letter that is typed otherwise.
    field = kind(placeholder=placeholder, continuous_update=False)
    send = widgets.Button(description="Send", button_style="success")

    def clicked(_button: object) -> None:
        typed = str(field.value)
        if asked.secret:
            field.value = ""
        if typed.strip():
            said(ChatAskQuestionResult(answer=typed))

    send.on_click(clicked)
    yield field
    yield send


def _clicked(said: Callable[[ChatAskQuestionResult], None], result: ChatAskQuestionResult) -> Callable[[object], None]:
    def clicked(_button: object) -> None:
        said(result)

    return clicked


# -- in a terminal


def typed(asked: ChatAskQuestionParams) -> ChatAskQuestionResult:
    """The loop stands still meanwhile, as it does for an approval. Only return means: no answer.

    Raises: KeyboardInterrupt.
    """
    options = asked.options or ()
    lines = [f"{number}. {one.label}" for number, one in enumerate(options, 1)]
    lines = [
        f"{line} ({one.description})" if one.description else line for line, one in zip(lines, options, strict=True)
    ]
    hint = "Number" + (" or answer" if asked.allow_freeform else "") if options else "Answer"
    shown = "\n".join([asked.question, *lines])
    try:
        with in_input():
            words = _secretly(f"\n{shown}\n") if asked.secret else input(f"\n{shown}\n{hint}: ")
    except EOFError:
        return NOBODY
    return _meant(asked, words.strip())


def _secretly(prompt: str) -> str:
    """ipykernel puts its own in this place while a cell runs, so the name is looked up now."""
    return getpass.getpass(f"{prompt}Typed here it is not shown: ")


def _meant(asked: ChatAskQuestionParams, words: str) -> ChatAskQuestionResult:
    """A number of the list, one of its labels (or what only that begins with), or words of one's own."""
    labels = [option.label for option in asked.options or ()]
    if words.isdecimal() and 1 <= int(words) <= len(labels):
        return ChatAskQuestionResult(answer=labels[int(words) - 1])
    free = asked.allow_freeform or not labels
    same = [label for label in labels if label.lower() == words.lower()]
    begun = [label for label in labels if words and not free and label.lower().startswith(words.lower())]
    if len(found := same or begun) == 1:
        return ChatAskQuestionResult(answer=found[0])
    return ChatAskQuestionResult(answer=words) if words and free else NOBODY
