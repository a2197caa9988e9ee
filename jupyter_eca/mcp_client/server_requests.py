"""Answers the requests of an MCP server to its client, which is us. There are three kinds. Elicitation is a question to
the user: a form, or a page to open. Sampling is a request to a model. The roots are the folders of the workspace.

Elicitation and sampling are passed to the chat that uses the server at that moment. `active_calls.py` finds this chat.
The module must not know how a chat asks its user or its model: the host implements `client_features.ClientFeatures`.
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

# The labels of options that are offered in addition to those of a form.
ACCEPT: Final = "Accept"
DECLINE: Final = "Decline to answer"
LEAVE_OUT: Final = "Leave it out"
OPENED: Final = "I have opened it"

# How often the user is asked about one field, if the answers are not valid.
_TRIES: Final = 3


class UnansweredQuestion(Exception):
    """The user did not answer. `action` is MCP's word for the reason: `decline` or `cancel`."""

    def __init__(self, action: str) -> None:
        super().__init__(action)
        self.action = action


class ServerRequests:
    """Answers the requests on one connection. The public methods are callbacks of the SDK, except
    `ask_to_open_pages`."""

    def __init__(self, settings: ConnectionSettings, calls: ActiveCalls) -> None:
        self._settings = settings
        self._calls = calls

    async def list_roots(self, context: ClientRequestContext) -> ListRootsResult:  # noqa: ARG002
        """Answer `roots/list`: the roots are the folders of the workspace."""
        folders = self._settings.get_folders()
        return ListRootsResult(roots=[Root(uri=FileUrl(folder.as_uri()), name=folder.name) for folder in folders])

    # -- questions to the user

    async def elicit(self, context: ClientRequestContext, params: ElicitRequestParams) -> ElicitResult | ErrorData:  # noqa: ARG002
        """Answer `elicitation/create`: ask the user of the chat that uses the server."""
        call = self._calls.find_call()
        asker = self._settings.client_features.find_question_asker(call.caller.chat) if call else None
        if call is None or asker is None:
            self._settings.log.write("warning", f"it asked for something while nobody was there: {params.message}")
            return ElicitResult(action="cancel")
        with call.pause_timeout() as scope:
            async with call.question_lock:
                return await self._elicit(
                    self._make_dialogue(asker, call),
                    params,
                )
        # The block returns the answer. It is left without an answer only if the call ends first, which cancels it.
        assert scope.cancelled_caught  # noqa: S101
        return ElicitResult(action="cancel")

    def _make_dialogue(self, asker: QuestionAsker, call: ActiveCall) -> QuestionDialogue:
        """Return the dialogue with the user of the chat that made a call."""
        who = f"The MCP server {self._settings.name!r}"
        return QuestionDialogue(asker, call.caller.chat, call.caller.call or "", who)

    async def _elicit(self, dialogue: QuestionDialogue, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """Ask the user to fill in a form or to open a page, and return the answer for the server."""
        try:
            if isinstance(params, ElicitRequestFormParams):
                questions = elicitation_forms.parse_form(params.requested_schema)
                return ElicitResult(action="accept", content=dict(await dialogue.ask_form(params.message, questions)))
            await dialogue.ask_page(params.url, params.message)
            return ElicitResult(action="accept")
        except UnansweredQuestion as error:
            return ElicitResult(action="decline" if error.action == "decline" else "cancel")
        except ValueError as error:
            self._settings.log.write("warning", f"it asked for something that cannot be asked: {error}")
            return ErrorData(code=INVALID_PARAMS, message=f"this cannot be asked: {error}")

    async def ask_to_open_pages(self, pages: Sequence[ElicitRequestURLParams]) -> bool:
        """Ask the user to open the pages that a call needs. Return whether the user opened all of them."""
        for page in pages:
            call = self._calls.find_call()
            asker = self._settings.client_features.find_question_asker(call.caller.chat) if call else None
            if call is None or asker is None:
                return False
            try:
                with call.pause_timeout() as scope:
                    async with call.question_lock:
                        await self._make_dialogue(asker, call).ask_page(page.url, page.message)
            except UnansweredQuestion:
                return False
            if scope.cancelled_caught:  # the call has ended, so nobody has answered
                return False
        return True

    # -- requests to a model

    async def sample(
        self,
        context: ClientRequestContext,  # noqa: ARG002
        params: CreateMessageRequestParams,
    ) -> CreateMessageResult | ErrorData:
        """Answer `sampling/createMessage`: send the request to the model of the chat that uses the server."""
        call = self._calls.find_call()
        if call is None:
            why = "no chat uses this server now, so there is no model and nobody to allow it"
            return self._refuse(why)
        try:
            request = parse_sampling(self._settings.name, params)
            with call.pause_timeout():
                async with call.question_lock:
                    answer = await self._settings.client_features.sample(call.caller.chat, request)
                return CreateMessageResult(
                    role="assistant",
                    content=TextContent(type="text", text=answer.text),
                    model=answer.model,
                    stop_reason=answer.stop.value,
                )
        except (SamplingRefusal, ValueError) as error:
            return self._refuse(str(error))
        except ProviderError as error:
            self._settings.log.write("warning", f"the model that it asked failed: {error}")
            return ErrorData(code=INTERNAL_ERROR, message=f"the model failed: {error}")
        # The block returns the answer. It is left without an answer only if the call ends first, which cancels it.
        return self._refuse("the call during which the server sent the request has ended")

    def _refuse(self, why: str) -> ErrorData:
        """Log that a sampling request is refused, and return the error for the server."""
        self._settings.log.write("warning", f"it wanted to ask a model: {why}")
        return ErrorData(code=INVALID_REQUEST, message=f"sampling was refused: {why}")


class QuestionDialogue:
    """Asks the user the questions of one elicitation."""

    def __init__(self, asker: QuestionAsker, chat: str, call: str, who: str) -> None:
        """`chat` and `call` are the ids of the chat and of the tool call; "" for no call. `who` is the name of the
        asking server in a question: `The MCP server 'x'`."""
        self._asker = asker
        self._chat = chat
        self._call = call
        self._who = who

    async def ask_form(
        self, message: str, questions: Sequence[elicitation_forms.FormQuestion]
    ) -> dict[str, elicitation_forms.Value]:
        """Ask for the values of a form's fields, and return them by the names of the fields. A form without fields only
        needs to be accepted. `message` is what the server wants to know.

        Raises: UnansweredQuestion.
        """
        values: dict[str, elicitation_forms.Value] = {}
        heading = f"{self._who} asks: {message}"
        if not questions:
            await self._ask(heading, [QuestionOption(label=ACCEPT)], allow_freeform=False)
        for question in questions:
            value = await self._ask_field(f"{heading}\n\n{question.text}", question)
            if value is not None:
                values[question.name] = value
        return values

    async def ask_page(self, address: str, message: str) -> None:
        """Ask the user to open a page. `message` says why.

        Raises: UnansweredQuestion, also for an address that is not one of a web page.
        """
        url = urlsplit(address)
        if url.scheme not in {"http", "https"} or not url.hostname:
            raise UnansweredQuestion("decline")
        text = (
            f"{self._who} asks you to open a page at {url.hostname}: {message}\n\n"
            f"{address}\n\nWhat you enter there goes to that site, not to this chat."
        )
        await self._ask(text, [QuestionOption(label=OPENED)], allow_freeform=False)

    async def _ask_field(self, text: str, question: elicitation_forms.FormQuestion) -> elicitation_forms.Value | None:
        """Ask for the value of one field, and ask again if the answer is not valid. Return None if it is left out.
        `text` is the whole question as the user reads it.

        Raises: UnansweredQuestion.
        """
        # The user can select only one option. So where several choices may be chosen, their labels are not offered as
        # options: the question lists them, and the user types the chosen ones.
        is_typed = question.is_multiple or not question.choices
        labels = [] if question.is_multiple else list(question.choices)
        options = [QuestionOption(label=label) for label in labels]
        if (default := question.default) is not None:
            options = [option for option in options if option.label != default]
            options.insert(0, QuestionOption(label=default, description="the default"))
        if not question.required:
            options.append(QuestionOption(label=LEAVE_OUT))
        attempt_text = text
        for _ in range(_TRIES):
            # A client that draws fields would show a secret while it is typed.
            field = None if question.is_secret else _make_form_field(question)
            answer = await self._ask(
                attempt_text, options, allow_freeform=is_typed, field=field, secret=question.is_secret
            )
            if answer == LEAVE_OUT and not question.required:
                return None
            try:
                return question.parse_answer(answer)
            except ValueError as error:
                wrong = "That" if question.is_secret else repr(answer)
                attempt_text = f"{text}\n\n{wrong} does not fit. {error}"
        raise UnansweredQuestion("cancel")

    async def _ask(
        self,
        text: str,
        options: list[QuestionOption],
        *,
        allow_freeform: bool,
        field: FormField | None = None,
        secret: bool = False,
    ) -> str:
        """Ask one question and return the answer. With `allow_freeform`, the user may type an answer that is no option.
        `field` describes the field for clients that can draw it. `secret` is whether the answer is a secret.

        Raises: UnansweredQuestion.
        """
        question = ChatAskQuestionParams(
            chat_id=self._chat,
            question=text,
            options=(*options, QuestionOption(label=DECLINE)),
            tool_call_id=self._call or None,
            allow_freeform=allow_freeform,
            secret=secret or None,
        )
        if field is not None:
            question = FieldQuestion(**dict(question), field=field)
        answer = await self._asker.ask(question)
        if answer.cancelled or answer.answer is None:
            raise UnansweredQuestion("cancel")
        if answer.answer == DECLINE:
            raise UnansweredQuestion("decline")
        return answer.answer


def _make_form_field(question: elicitation_forms.FormQuestion) -> FormField:
    """Return the field for clients that can draw it."""
    least, most = question.bounds
    return FormField(
        kind=question.kind,
        title=question.schema.title or question.name,
        description=question.schema.description,
        required=question.required,
        default=question.default,
        format=question.schema.format,
        least=least,
        most=most,
        choices=tuple(question.choices),
        decline=DECLINE,
        leave_out=LEAVE_OUT,
    )
