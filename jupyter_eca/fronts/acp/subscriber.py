"""Owns the subscriber by which a client of the Agent Client Protocol (ACP) gets the events of one host. The host calls
its methods, which `host/subscribers.py` describes.

It must not know what an event becomes: `session.py` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pydantic import ValidationError

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.acp.requests import AcpCapabilities, FormAnswer, FormRequest
from jupyter_eca.protocol.chat import ChatToolCallProgressParams
from jupyter_eca.protocol.lifecycle import ConfigUpdatedParams, MessageType, ShowMessageParams
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.fronts.acp.session import AcpSession
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks


class AskingClient(Protocol):
    """What a subscriber needs of the connection."""

    access: ClientAccess
    """What the client may do, for example approve tool calls and answer questions."""
    capabilities: AcpCapabilities
    """What the client can do, as it has declared in `initialize`."""

    def show(self, event: Event) -> None:
        """Queue an event of a session for the client."""
        ...

    def warn(self, message: str, session: str) -> None:
        """Show a warning to the user in a session."""
        ...

    async def request(self, method: str, params: Model) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        ...


class AcpSubscriber:
    """One client at one host."""

    # A subscriber may offer these to the tools of the model. Clients of this protocol offer none of them.
    kernel: Kernel | None = None
    editor: Editor | None = None
    notebooks: Notebooks | None = None

    def __init__(self, host: Host, client: AskingClient, sessions: Mapping[str, AcpSession]) -> None:
        """`sessions` are the open sessions of the client by id, also those of other hosts."""
        self._host = host
        self._client = client
        self._sessions = sessions

    def sees(self, chat: str) -> bool:
        """Return whether the chat belongs to an open session of the client."""
        return self._find_session(chat) is not None

    def approves(self, chat: str) -> bool:
        """Return whether the client can ask its user about calls of the chat, and has answered until now."""
        session = self._find_session(chat)
        return self._client.access.may_approve and session is not None and not session.is_silent

    def answers(self, chat: str) -> bool:
        """Return whether the client can ask its user a question."""
        return self.approves(chat) and self._client.capabilities.shows_forms

    def reviews(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: clients of this protocol do not list changes with Keep and Undo."""
        return False

    def show(self, events: list[Event]) -> None:
        """Queue new events for the client."""
        for event in events:
            self._client.show(event)

    def tell(self, notice: Notice) -> None:
        """Pass on the notices that concern a session. All other notices are for clients of ECA."""
        session = self._find_session(notice.chat) if notice.chat is not None else None
        match notice.params:
            case ChatToolCallProgressParams(id=id, text=text) if session is not None and notice.chat == session.id:
                session.report(id, text)
            case ShowMessageParams(type=MessageType.WARNING | MessageType.ERROR, message=message):
                # A message about no chat is shown in all sessions of this host.
                for warned in [session] if session else self._list_sessions() if notice.chat is None else []:
                    self._client.warn(message, warned.id)
            # The agent of the chat was chosen at another client.
            case ConfigUpdatedParams(chat=selected) if session is not None and selected and selected.select_agent:
                session.select_agent(selected.select_agent)
            # The options of the chat's outside agent have changed.
            case ConfigUpdatedParams(chat=selected) if session is not None and selected and selected.agent_options:
                session.announce_choice()
            # The configuration has changed.
            case ConfigUpdatedParams() if notice.chat is None:
                for changed in self._list_sessions():
                    changed.refresh()
            case _ if notice.method == "chat/deleted" and session is not None and notice.chat == session.id:
                session.fail("The session was deleted.")
            case _:
                pass

    def reload_chat(self, reload: ChatReload) -> None:
        """Do nothing. The host wants a chat to be sent again, but in this protocol nothing that was sent can be
        removed."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the client's user by a form. Raises: RemoteError."""
        session = self._find_session(str(question.chat_id))
        if session is None or question.secret:
            # The protocol forbids to ask for a secret in a form.
            raise RemoteError("no user can answer this question here")
        answer = await self._client.request("elicitation/create", _make_form(session, question))
        try:
            form = FormAnswer.model_validate(answer)
        except ValidationError as error:
            raise RemoteError("the answer to the question is invalid") from error
        text = (form.content or {}).get("answer") if form.action == "accept" else None
        return ChatAskQuestionResult(answer=str(text)) if text else ChatAskQuestionResult(cancelled=True)

    def _find_session(self, chat: str) -> AcpSession | None:
        """Return the session that a chat of this host belongs to, None if the client has none."""
        return next((session for session in self._list_sessions() if session.sees(chat)), None)

    def _list_sessions(self) -> list[AcpSession]:
        """Return the open sessions whose chats belong to this host."""
        return [session for session in self._sessions.values() if session.host is self._host]


def _make_form(session: AcpSession, question: ChatAskQuestionParams) -> FormRequest:
    """Make the form that asks a question. If any text can be the answer, the options are only a hint."""
    options, call = question.options or (), question.tool_call_id
    labels = [option.label for option in options]
    field: dict[str, Any] = {"type": "string", "title": "Answer"}
    if labels and not question.allow_freeform:
        field["enum"] = labels
    hints = [f"- {option.label}" + (f": {option.description}" if option.description else "") for option in options]
    return FormRequest(
        session_id=session.id,
        message="\n".join([question.question, *hints]),
        tool_call_id=session.make_wire_id(str(question.chat_id), call) if call else None,
        requested_schema={"type": "object", "properties": {"answer": field}, "required": ["answer"]},
    )
