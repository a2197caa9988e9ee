"""A question to the user as an input request of a session: any of its clients may answer."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.reducers.base import Json, items, present, record
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.question import ChatAskQuestionResult, FieldKind, FieldQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.protocol.question import ChatAskQuestionParams, FormField

_ONE: Final = "answer"

_KINDS: Final = {FieldKind.ONE: "single-select", FieldKind.SEVERAL: "multi-select"}


class InputRequests:
    """Of one session; `state` gives what it is now, `tell` has an action dispatched."""

    def __init__(self, session: str, state: Callable[[], Json], tell: Callable[[actions.Action], None]) -> None:
        self._session = session
        self._state = state
        self._tell = tell
        self._asked: dict[str, tuple[ChatAskQuestionParams, asyncio.Future[ChatAskQuestionResult]]] = {}

    @property
    def open(self) -> bool:
        return bool(self._asked)

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Raises: RemoteError when nobody is left to answer, or the answer is a secret: state is seen by all."""
        if question.secret:
            raise RemoteError("secrets are not asked for in shared state")
        asked = request(question)
        id = str(asked["id"])
        future: asyncio.Future[ChatAskQuestionResult] = asyncio.get_running_loop().create_future()
        self._asked[id] = (question, future)
        self._tell(actions.InputRequested(session=self._session, request=asked))
        try:
            return await future
        finally:
            del self._asked[id]
            if any(one["id"] == id for one in items(self._state(), "inputRequests")):
                self._tell(actions.InputCompleted(session=self._session, request_id=id, response="cancel"))

    def answered(self, asked: Json, response: str, final: Json) -> None:
        question, future = self._asked.get(asked["id"], (None, None))
        if question is not None and future is not None and not future.done():
            future.set_result(answer(question, asked, response, final))

    def unwatched(self) -> None:
        """Nobody has looked for a while."""
        for _, future in self._asked.values():
            if not future.done():
                future.set_exception(RemoteError("nobody is left to answer"))


def request(question: ChatAskQuestionParams) -> Json:
    """One question: a field is one of its kind; else with options one is chosen, or it is answered in words."""
    about: Json = {"id": _ONE, "message": question.question, "required": True}
    if isinstance(question, FieldQuestion):
        kind = _of_field(question.field)
    elif question.options:
        shown = ((one.label, one.description, None) for one in question.options)
        kind = {"kind": "single-select", "options": _options(shown), "allowFreeformInput": question.allow_freeform}
    else:
        kind = {"kind": "text"}
    return {"id": uuid.uuid4().hex, "message": question.question, "questions": [{**about, **kind}]}


def _of_field(field: FormField) -> Json:
    default: Any = field.default
    about: Json = {"title": field.title, "message": field.description or field.title, "required": field.required}
    match field.kind:
        case FieldKind.ONE | FieldKind.SEVERAL:
            chosen = set((field.default or "").split(", ")) if field.kind is FieldKind.SEVERAL else {field.default}
            default = None
            about["options"] = _options((one, None, one in chosen or None) for one in field.choices)
        case FieldKind.YES_OR_NO if default is not None:
            default = default == field.choices[0]
        case FieldKind.NUMBER | FieldKind.INTEGER if default is not None:
            default = float(default) if field.kind is FieldKind.NUMBER else int(default)
        case _:
            pass
    bounds = {} if field.kind is FieldKind.ONE else {"min": field.least, "max": field.most}
    kind = _KINDS.get(field.kind, field.kind.value)
    return present(kind=kind, **about, **bounds, format=field.format or None, defaultValue=default)


def _options(shown: Iterable[tuple[str, str | None, bool | None]]) -> list[Json]:
    return [
        present(id=str(at), label=label, description=description, recommended=recommended)
        for at, (label, description, recommended) in enumerate(shown, 1)
    ]


def answer(question: ChatAskQuestionParams, request: Json, response: str, final: Json) -> ChatAskQuestionResult:
    """What a client made of it; answers that came with the last word stand over drafts."""
    field = question.field if isinstance(question, FieldQuestion) else None
    if response == "decline" and field is not None:
        return ChatAskQuestionResult(answer=field.decline)
    if response != "accept":
        return ChatAskQuestionResult(cancelled=True)
    given: Json = record({**record(request, "answers"), **final}, _ONE)
    value = record(given, "value")
    said = [str(one) for one in value.get("freeformValues") or given.get("freeformValues") or ()]
    if not said and "value" in value:
        options = {one["id"]: one["label"] for one in items(items(request, "questions")[0], "options")}
        said = _words(value["value"], options, field)
    if not said and field is not None and not field.required:
        return ChatAskQuestionResult(answer=field.leave_out)
    return ChatAskQuestionResult(answer=", ".join(said), cancelled=not said)


def _words(value: Any, options: Json, field: FormField | None) -> list[str]:
    """As the question would be answered by somebody who types."""
    if isinstance(value, bool):
        return [field.choices[0 if value else 1]] if field is not None else [str(value)]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return [str(options.get(one, one)) for one in values]
