"""Owns the readers of turns. A reader is an HTTP client of the REST front that waits for an answer. All readers
together are one subscriber of the host, which sends them the events of its chats. The contract is the HTTP API that the
front serves.

It must not know how events are written for clients: `projection.py` does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.content import TextContent, ToolCallContent
from jupyter_eca.protocol.event import merge_pieces
from jupyter_eca.protocol.lifecycle import ShowMessageParams
from jupyter_eca.protocol.mcp import ToolServerRemovedParams, ToolServerUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.host.subscribers import ChatReload, Notice
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# If more events than this wait for a reader, their texts are joined to longer pieces. So a client that has stopped
# reading needs hardly more memory than the answer itself.
MAX_BEHIND: Final = 1_000


@dataclass(eq=False)
class TurnReader:
    """A client that reads one turn."""

    chat: str
    """The host's id of the chat."""
    turn: str
    """The id of the turn."""
    last_stored: int = 0
    """The number of the last event that was read from the store. `read` leaves out this event and those before it."""

    is_deleted: bool = False
    """Whether the chat was deleted."""

    messages: list[str] = field(default_factory=list[str])
    """Messages to the user that are not part of the chat, for example that the chat is not saved."""

    _events: list[Event] = field(default_factory=list["Event"])
    """The events that wait for the client."""

    _max_waiting: int = MAX_BEHIND
    """How many events may wait before their texts are joined again."""

    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when events wait, or when the chat was deleted."""

    def show(self, event: Event) -> None:
        """Keep an event for the client, if it belongs to the turn and is a text, a tool call, or the end of the turn.
        Clients of this front can show nothing else."""
        is_in_contract = isinstance(event.content, TextContent | ToolCallContent) or event.outcome is not None
        if event.turn != self.turn or not is_in_contract:
            return
        self._events.append(event)
        if len(self._events) > self._max_waiting:
            self._events = merge_pieces(self._events)
            self._max_waiting = max(MAX_BEHIND, 2 * len(self._events))
        self._wake.set()

    def end(self) -> None:
        """Wake the client, because the chat was deleted."""
        self.is_deleted = True
        self._wake.set()

    async def read(self, seconds: float) -> list[Event]:
        """Return the events since the last call. Wait for the first one, but at most `seconds`. The list is empty if
        none has come by then, or if the chat was deleted."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return []
        self._wake.clear()
        events, self._events = self._events, []
        return [event for event in events if not 0 < event.seq <= self.last_stored]


class TurnReaders:
    """The subscriber of the host (`host/subscribers.py`). It passes events on to the readers, and changes of tool
    servers to those who watch them."""

    def __init__(self) -> None:
        # A subscriber may offer these to the tools of the model. Clients of this front offer none of them.
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self._by_chat: dict[str, list[TurnReader]] = {}  # by the host's id of the chat
        # The queues of those who watch the tool servers.
        self._server_queues: set[asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]] = set()

    def add(self, reader: TurnReader) -> None:
        """Add a reader, which gets the events of its chat from now on."""
        self._by_chat.setdefault(reader.chat, []).append(reader)

    def remove(self, reader: TurnReader) -> bool:
        """Remove a reader. Return whether no other reader reads this chat."""
        readers = self._by_chat[reader.chat]
        readers.remove(reader)
        if not readers:
            del self._by_chat[reader.chat]
        return not readers

    def watch_servers(self) -> asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]:
        """Return a queue that gets all changes of tool servers until `stop_watching`."""
        queue: asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams] = asyncio.Queue()
        self._server_queues.add(queue)
        return queue

    def stop_watching(self, queue: asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]) -> None:
        """Add no more changes to a queue."""
        self._server_queues.discard(queue)

    # -- the subscriber: the host calls these methods, which `host/subscribers.py` describes

    def sees(self, chat: str) -> bool:
        """Return whether a client reads an answer in the chat."""
        return chat in self._by_chat

    def approves(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: the contract has no approval of tool calls."""
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: the contract has no questions to the user."""
        return False

    def reviews(self, chat: str) -> bool:  # noqa: ARG002
        """Return False: the contract has no changes with Keep and Undo."""
        return False

    def show(self, events: list[Event]) -> None:
        """Pass events on to the readers of their chats."""
        for event in events:
            for reader in self._by_chat.get(event.chat, ()):
                reader.show(event)

    def tell(self, notice: Notice) -> None:
        """Pass on changes of tool servers, messages to the user, and that a chat was deleted."""
        if isinstance(notice.params, ToolServerUpdatedParams | ToolServerRemovedParams):
            for queue in self._server_queues:
                queue.put_nowait(notice.params)
        if notice.chat is None:
            return
        for reader in self._by_chat.get(notice.chat, ()):
            if notice.method == "chat/deleted":
                reader.end()
            elif isinstance(notice.params, ShowMessageParams):
                reader.messages.append(notice.params.message)

    def reload_chat(self, reload: ChatReload) -> None:
        """Do nothing. The host sends a chat again after turns were removed from it. That happens only in an idle chat,
        and no client of this front reads a turn of an idle chat."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        """Refuse a question. Raises: RemoteError, always."""
        raise RemoteError("no user can answer questions here")
