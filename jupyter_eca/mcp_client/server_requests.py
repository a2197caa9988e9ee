"""What a server may ask of its client: elicitation, sampling and roots. The chat that uses the server at that moment
is asked. `active_calls` knows which chat that is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from mcp_types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    CreateMessageResult,
    ElicitRequestFormParams,
    ElicitResult,
    ErrorData,
    ListRootsResult,
    Root,
    TextContent,
)
from pydantic import FileUrl

from jupyter_eca.errors import ProviderError, SamplingRefusal
from jupyter_eca.mcp_client import elicitation_forms
from jupyter_eca.mcp_client.results import parse_sampling
from jupyter_eca.protocol.question import ChatAskQuestionParams, FieldQuestion, FormField, QuestionOption

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcp.client.context import ClientRequestContext
    from mcp_types import CreateMessageRequestParams, ElicitRequestParams, ElicitRequestURLParams

    from jupyter_eca.mcp_client.active_calls import ActiveCall, ActiveCalls
    from jupyter_eca.mcp_client.connection_settings import ConnectionSettings
    from jupyter_eca.workspace.ports import QuestionAsker

# Beside whatever a form offers.
ACCEPT: Final = "Accept"
DECLINE: Final = "Decline to answer"
LEAVE_OUT: Final = "Leave it out"
OPENED: Final = "I have opened it"

# How often an answer that does not fit is asked for again.
_TRIES: Final = 3


class _NoAnswerError(Exception):
    """Nobody answered; `action` is the protocol's word for the reason."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class ServerRequests:
    """The requests of one connection. The methods are the SDK's callbacks."""

    def __init__(self, settings: ConnectionSettings, calls: ActiveCalls) -> None:
        self._settings = settings
        self._calls = calls

    async def roots(self, context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG002
        folders = self._settings.folders()
        return ListRootsResult(roots=[Root(uri=FileUrl(folder.as_uri()), name=folder.name) for folder in folders])

    # -- a user

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002
        call = self._calls.find_caller()
        questions = self._settings.people.questions(call.behalf.chat) if call else None
        if call is None or questions is None:
            self._settings.log.write("warning", f"it asked for something while nobody was there: {params.message}")
            return ElicitResult(action="cancel")
        with call.pause_clock() as waits:
            async with call.asking:
                return await self._elicit(_Dialogue(questions, call, self._settings.name), params)
        assert waits.cancelled_caught  # noqa: S101  # nothing else leaves the block without a result
        return ElicitResult(action="cancel")

    async def _elicit(self, dialogue: _Dialogue, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        try:
            if isinstance(params, ElicitRequestFormParams):
                questions = elicitation_forms.questions(params.requested_schema)
                return ElicitResult(action="accept", content=dict(await dialogue.form(params.message, questions)))
            await dialogue.page(params)
            return ElicitResult(action="accept")
        except _NoAnswerError as error:
            return ElicitResult(action="decline" if error.action == "decline" else "cancel")
        except ValueError as error:
            self._settings.log.write("warning", f"it asked for something that cannot be asked: {error}")
            return ErrorData(code=INVALID_PARAMS, message=f"this cannot be asked: {error}")

    async def pages(self, pages: Sequence[ElicitRequestURLParams]) -> bool:
        """Ask the user to open the pages that a call needs first; return whether they did."""
        for page in pages:
            call = self._calls.find_caller()
            questions = self._settings.people.questions(call.behalf.chat) if call else None
            if call is None or questions is None:
                return False
            try:
                with call.pause_clock():
                    async with call.asking:
                        await _Dialogue(questions, call, self._settings.name).page(page)
            except _NoAnswerError:
                return False
        return True

    # -- a model

    async def sample(
        self,
        context: ClientRequestContext,  # noqa: ARG002
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        call = self._calls.find_caller()
        if call is None:
            why = "no chat uses this server now, so there is no model and nobody to allow it"
            return self._refuse(why)
        try:
            wanted = parse_sampling(self._settings.name, params)
            with call.pause_clock():
                async with call.asking:
                    sampled = await self._settings.people.sample(call.behalf.chat, wanted)
                return CreateMessageResult(
                    role="assistant",
                    content=TextContent(type="text", text=sampled.text),
                    model=sampled.model,
                    stop_reason=sampled.stop.value,
                )
        except (SamplingRefusal, ValueError) as error:
            return self._refuse(str(error))
        except ProviderError as error:
            self._settings.log.write("warning", f"the model that it asked failed: {error}")
            return ErrorData(code=INTERNAL_ERROR, message=f"the model failed: {error}")
        return self._refuse("the call that it was for is over")

    def _refuse(self, why: str) -> ErrorData:
        self._settings.log.write("warning", f"it wanted to ask a model: {why}")
        return ErrorData(code=INVALID_REQUEST, message=f"sampling was refused: {why}")


class _Dialogue:
    """One elicitation, as questions to a chat."""

    def __init__(self, questions: QuestionAsker, call: ActiveCall, server: str) -> None:
        self._questions = questions
        self._call = call
        self._server = server

    async def form(
        self, message: str, questions: Sequence[elicitation_forms.FormQuestion]
    ) -> dict[str, elicitation_forms.Value]:
        """Ask for the fields of a form. Raises: _NoAnswerError."""
        found: dict[str, elicitation_forms.Value] = {}
        asks = f"The MCP server {self._server!r} asks: {message}"
        if not questions:
            await self._ask(asks, [QuestionOption(label=ACCEPT)], free=False)
        for question in questions:
            value = await self._answer(f"{asks}\n\n{question.words}", question)
            if value is not None:
                found[question.name] = value
        return found

    async def page(self, params: ElicitRequestURLParams) -> None:
        """Ask the user to open a page. Raises: _NoAnswerError, also for an address that is no web page."""
        place = urlsplit(params.url)
        if place.scheme not in {"http", "https"} or not place.hostname:
            raise _NoAnswerError("decline")
        asks = (
            f"The MCP server {self._server!r} asks you to open a page at {place.hostname}: {params.message}\n\n"
            f"{params.url}\n\nWhat you enter there goes to that site, not to this chat."
        )
        await self._ask(asks, [QuestionOption(label=OPENED)], free=False)

    async def _answer(self, asks: str, question: elicitation_forms.FormQuestion) -> elicitation_forms.Value | None:
        typed = question.several or not question.choices
        labels = [] if question.several else list(question.choices)
        options = [QuestionOption(label=label) for label in labels]
        if (default := question.default) is not None:
            options = [one for one in options if one.label != default]
            options.insert(0, QuestionOption(label=default, description="if you do not change it"))
        if not question.required:
            options.append(QuestionOption(label=LEAVE_OUT))
        words = asks
        for _ in range(_TRIES):
            answer = await self._ask(words, options, free=typed, field=_field(question))
            if answer == LEAVE_OUT and not question.required:
                return None
            try:
                return question.read(answer)
            except ValueError as error:
                words = f"{asks}\n\n{answer!r} does not fit. {error}"
        raise _NoAnswerError("cancel")

    async def _ask(
        self, words: str, options: list[QuestionOption], *, free: bool, field: FormField | None = None
    ) -> str:
        """Ask one question. Raises: _NoAnswerError."""
        asked = ChatAskQuestionParams(
            chat_id=self._call.behalf.chat,
            question=words,
            options=(*options, QuestionOption(label=DECLINE)),
            tool_call_id=self._call.behalf.call or None,
            allow_freeform=free,
        )
        if field is not None:
            asked = FieldQuestion(**dict(asked), field=field)
        answer = await self._questions.ask(asked)
        if answer.cancelled or answer.answer is None:
            raise _NoAnswerError("cancel")
        if answer.answer == DECLINE:
            raise _NoAnswerError("decline")
        return answer.answer


def _field(question: elicitation_forms.FormQuestion) -> FormField:
    least, most = question.bounds
    return FormField(
        kind=question.kind,
        title=question.wanted.title or question.name,
        description=question.wanted.description,
        required=question.required,
        default=question.default,
        format=question.wanted.format,
        least=least,
        most=most,
        choices=tuple(question.choices),
        decline=DECLINE,
        leave_out=LEAVE_OUT,
    )
