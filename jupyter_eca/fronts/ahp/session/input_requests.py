"""Owns the questions to the user, as input requests of a session. An input request is the protocol's list of questions.
Our input requests always contain one question. They are part of the session's state, which all clients share and
actions change. Any client of the session may answer a question.

This module must not know the session: `session.py` passes the answers of clients to it.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none
from jupyter_eca.protocol.ahp import actions
from jupyter_eca.protocol.question import ChatAskQuestionResult, FieldKind, FieldQuestion

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from jupyter_eca.protocol.question import ChatAskQuestionParams, FormField

# The id of the one question in each input request.
_QUESTION_ID: Final = "answer"

# The protocol's kinds of questions, where they differ from the names of ours.
_KINDS: Final = {FieldKind.ONE: "single-select", FieldKind.SEVERAL: "multi-select"}


class InputRequests:
    """The open questions of one session. `session` is its URI, `get_state` returns its current state, and `dispatch`
    applies an action and sends it to all clients."""

    def __init__(
        self, session: str, get_state: Callable[[], Json], dispatch: Callable[[actions.AhpAction], None]
    ) -> None:
        self._session = session
        self._get_state = get_state
        self._dispatch = dispatch
        # The open questions and their answers, by the id of the input request.
        self._open: dict[str, tuple[ChatAskQuestionParams, asyncio.Future[ChatAskQuestionResult]]] = {}

    @property
    def has_open(self) -> bool:
        """Whether a question waits for an answer."""
        return bool(self._open)

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask a question, and wait for the answer.

        Raises: RemoteError when no client is left that could answer. Also raises it for a question about a secret,
        because all clients would see the answer in the state.
        """
        if question.secret:
            raise RemoteError("a secret cannot be asked for in a shared state")
        input_request = make_request(question)
        id = str(input_request["id"])
        future: asyncio.Future[ChatAskQuestionResult] = asyncio.get_running_loop().create_future()
        self._open[id] = (question, future)
        self._dispatch(actions.InputRequested(session=self._session, request=input_request))
        try:
            return await future
        finally:
            del self._open[id]
            # If a client has answered, the request is already removed from the state.
            if any(pending["id"] == id for pending in get_list(self._get_state(), "inputRequests")):
                self._dispatch(actions.InputCompleted(session=self._session, request_id=id, response="cancel"))

    def resolve(self, request: Json, response: str, final_answers: Json) -> None:
        """Return an answer of a client to the caller of `ask`. For the arguments see `read_answer`."""
        question, future = self._open.get(request["id"], (None, None))
        if question is not None and future is not None and not future.done():
            future.set_result(read_answer(question, request, response, final_answers))

    def cancel_all(self) -> None:
        """End all questions with an error. Called when no client that could answer has been connected for a while."""
        for _, future in self._open.values():
            if not future.done():
                future.set_exception(RemoteError("nobody is left to answer"))


def make_request(question: ChatAskQuestionParams) -> Json:
    """Make an input request that contains one question. If an MCP server asks the user to fill in a form, each question
    is about one field of the form, and its kind follows from the field. The kind of other questions follows from their
    options."""
    fields: Json = {"id": _QUESTION_ID, "message": question.question, "required": True}
    if isinstance(question, FieldQuestion):
        kind_fields = _describe_field(question.field)
    elif question.options:
        options = ((option.label, option.description, None) for option in question.options)
        kind_fields = {
            "kind": "single-select",
            "options": _make_options(options),
            "allowFreeformInput": question.allow_freeform,
        }
    else:
        kind_fields = {"kind": "text"}
    return {"id": uuid.uuid4().hex, "message": question.question, "questions": [{**fields, **kind_fields}]}


def _describe_field(field: FormField) -> Json:
    """Describe the field of a form as a question of the protocol. The default of a field is a text, as a user would
    type it. In the question, it has the type of the value: the text "10" becomes the number 10, and "Yes" becomes
    True."""
    default: Any = field.default
    fields: Json = {"title": field.title, "message": field.description or field.title, "required": field.required}
    match field.kind:
        case FieldKind.ONE | FieldKind.SEVERAL:
            # The options that are the default are marked as recommended instead.
            chosen = set((field.default or "").split(", ")) if field.kind is FieldKind.SEVERAL else {field.default}
            default = None
            fields["options"] = _make_options((choice, None, choice in chosen or None) for choice in field.choices)
        case FieldKind.YES_OR_NO if default is not None:
            default = default == field.choices[0]
        case FieldKind.NUMBER | FieldKind.INTEGER if default is not None:
            default = float(default) if field.kind is FieldKind.NUMBER else int(default)
        case _:
            pass
    # `least` and `most` are for a number, for the length of a text, or for how many choices are selected.
    bounds = {} if field.kind is FieldKind.ONE else {"min": field.least, "max": field.most}
    kind = _KINDS.get(field.kind, field.kind.value)
    return omit_none(kind=kind, **fields, **bounds, format=field.format or None, defaultValue=default)


def _make_options(choices: Iterable[tuple[str, str | None, bool | None]]) -> list[Json]:
    """Make the options of a question from triples of label, description, and True for a recommended option. Their ids
    are "1", "2" and so on."""
    return [
        omit_none(id=str(number), label=label, description=description, recommended=recommended)
        for number, (label, description, recommended) in enumerate(choices, 1)
    ]


def read_answer(
    question: ChatAskQuestionParams, request: Json, response: str, final_answers: Json
) -> ChatAskQuestionResult:
    """Return what a client answered to a request.

    `request` is the input request in the state. `response` is `accept`, `decline` or `cancel`. `final_answers` are the
    answers that the client sent together with the response, by the id of the question. They replace the drafts in the
    request.
    """
    # A question about a field of a form has two special answers: one declines the form, the other leaves the field
    # empty.
    field = question.field if isinstance(question, FieldQuestion) else None
    if response == "decline" and field is not None:
        return ChatAskQuestionResult(answer=field.decline)
    if response != "accept":
        return ChatAskQuestionResult(cancelled=True)
    entry: Json = get_object({**get_object(request, "answers"), **final_answers}, _QUESTION_ID)
    value = get_object(entry, "value")
    # The texts that the user has typed instead of selecting an option. They are a field of the value. An answer with
    # the state `skipped` has no value: there they are a field of the answer itself (AHP, section 6.5).
    texts = [str(text) for text in value.get("freeformValues") or entry.get("freeformValues") or ()]
    if not texts and "value" in value:
        options = {option["id"]: option["label"] for option in get_list(get_list(request, "questions")[0], "options")}
        texts = _convert_value(value["value"], options, field)
    if not texts and field is not None and not field.required:
        return ChatAskQuestionResult(answer=field.leave_out)
    return ChatAskQuestionResult(answer=", ".join(texts), cancelled=not texts)


def _convert_value(value: Any, options: Json, field: FormField | None) -> list[str]:
    """Return the value of an answer as the texts that a user would type. `options` has the labels of the options, by
    their ids: for the value ["1", "3"], the texts are the labels of the first and the third option."""
    if isinstance(value, bool):
        return [field.choices[0 if value else 1]] if field is not None else [str(value)]
    if isinstance(value, float) and value.is_integer():
        return [str(int(value))]
    values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]  # pyright: ignore[reportUnknownArgumentType]  # raw JSON
    return [str(options.get(item, item)) for item in values]
