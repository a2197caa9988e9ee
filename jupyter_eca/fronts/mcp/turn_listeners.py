"""Owns the listeners of turns. When a client calls a tool over MCP (Model Context Protocol), a turn begins in a chat,
and the call waits for the events of this turn. All such calls together are one subscriber of the host.

It must not know how events become a result: `turn_result.py` does.
"""

from __future__ import annotations

import asyncio
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import mcp_types as types

from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.mcp.offers_base import TOOLS
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.lifecycle import ShowMessageParams
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from collections.abc import Generator

    from jupyter_eca.fronts.mcp.offers_base import Caller, ChangeListener
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# The form of the URI that a chat has as an MCP resource.
CHAT_URI: Final = "eca://chat/{id}"


@dataclass(eq=False)
class TurnListener:
    """A call that waits for the events of a turn."""

    chat: str
    """The chat in which the call runs."""
    caller: Caller
    """The client that has made the call."""

    is_silent: bool = False
    """Whether the client's user has left a question without an answer. `assistant.py` sets it."""

    queue: asyncio.Queue[Event | str] = field(default_factory=asyncio.Queue["Event | str"])
    """The new events of the chat, and messages to the user that are not part of the chat, for example that the chat is
    not saved."""


class TurnListeners:
    """The subscriber of the host (`host/subscribers.py`). It passes events on to the calls that wait for them."""

    def __init__(self, notify_change: ChangeListener) -> None:
        """Make the subscriber. `notify_change` is called with the URI of a chat when a turn of the chat has ended or
        the chat was deleted, and with `TOOLS` when the list of tools may have changed."""
        # A subscriber may offer these to the tools of the model. Clients of this front offer none of them.
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self._notify_change = notify_change
        self._by_chat: dict[str, list[TurnListener]] = {}  # by the id of the chat

    @contextmanager
    def listening(self, chat: str, caller: Caller) -> Generator[TurnListener]:
        """Collect the events of a chat for a call while this context lasts."""
        listener = TurnListener(chat, caller)
        self._by_chat.setdefault(chat, []).append(listener)
        try:
            yield listener
        finally:
            self._by_chat[chat].remove(listener)
            if not self._by_chat[chat]:
                del self._by_chat[chat]

    # -- the subscriber: the host calls these methods, which `host/subscribers.py` describes

    def sees(self, chat: str) -> bool:
        """Return whether clients see the chat. They do not see the chats of subagents."""
        return not chat.startswith(SUBAGENT)

    def approves(self, chat: str) -> bool:
        """Return whether a call in the chat comes from a client that can ask its user. A client does not count if its
        user has left a question of the call without an answer."""
        return any(listener.caller.can_ask and not listener.is_silent for listener in self._by_chat.get(chat, ()))

    def answers(self, chat: str) -> bool:
        """Return whether a client with a call in the chat can ask its user a question."""
        return self.approves(chat)

    def reviews(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: clients of this front do not list changes with Keep and Undo."""
        return False

    def show(self, events: list[Event]) -> None:
        """Pass events on to the calls that wait for them."""
        for event in events:
            for listener in self._by_chat.get(event.chat, ()):
                listener.queue.put_nowait(event)
            if event.outcome is not None:
                self._notify_change(CHAT_URI.format(id=event.chat))

    def tell(self, notice: Notice) -> None:
        """Pass on messages to the user, and report changes of chats and tools."""
        if notice.method == "chat/deleted" and notice.chat is not None:
            self._notify_change(CHAT_URI.format(id=notice.chat))
        elif notice.method == "config/updated":
            self._notify_change(TOOLS)
        elif isinstance(notice.params, ShowMessageParams) and notice.chat is not None:
            for listener in self._by_chat.get(notice.chat, ()):
                listener.queue.put_nowait(notice.params.message)

    def reload_chat(self, reload: ChatReload) -> None:
        """Report that turns were removed from a chat."""
        self._notify_change(CHAT_URI.format(id=reload.chat))

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the user of the first client that has a call in the chat and can ask. Raises: RemoteError when no client
        can."""
        # MCP forbids asking for a secret in a form (elicitation): the client's model could read it.
        listeners = [] if question.secret else self._by_chat.get(str(question.chat_id), [])
        for listener in list(listeners):
            if listener.caller.can_ask and (answer := await listener.caller.ask(_make_form(question))):
                text = (answer.content or {}).get("answer") if answer.action == "accept" else None
                return ChatAskQuestionResult(answer=str(text)) if text else ChatAskQuestionResult(cancelled=True)
        raise RemoteError("no user can answer questions here")


def _make_form(question: ChatAskQuestionParams) -> types.ElicitRequestFormParams:
    """Make the form of MCP (an elicitation) that asks a question."""
    labels = [option.label for option in question.options or ()]
    answer = {"type": "string", "enum": labels} if labels and not question.allow_freeform else {"type": "string"}
    schema = {"type": "object", "properties": {"answer": answer}, "required": ["answer"]}
    hint = f" ({', '.join(labels)})" if labels else ""
    return types.ElicitRequestFormParams(message=f"{question.question}{hint}", requested_schema=schema)
