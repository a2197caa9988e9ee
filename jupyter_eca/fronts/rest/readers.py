"""Owns the readers of turns: HTTP clients that wait for an answer. Together they are one subscriber of the host.

It must not know the contract (`projection.py`).
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
    from jupyter_eca.host.subscribers import Again, Notice
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.question import ChatAskQuestionParams, ChatAskQuestionResult
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# How many events a reader may be behind before their text is joined to longer pieces. A reader that has stopped reading
# then costs hardly more memory than the answer itself.
MAX_BEHIND: Final = 1_000


@dataclass(eq=False)
class TurnReader:
    """A client that reads a turn after the event `known`. `gone`: the chat was deleted. `messages` are for its user,
    and are no part of the chat: that it is not saved, for example."""

    chat: str
    turn: str
    known: int = 0
    gone: bool = False
    messages: list[str] = field(default_factory=list[str])
    _behind: list[Event] = field(default_factory=list["Event"])
    _room: int = MAX_BEHIND
    _wake: asyncio.Event = field(default_factory=asyncio.Event)

    def show(self, event: Event) -> None:
        """Keep an event if it belongs to the contract."""
        is_in_contract = isinstance(event.content, TextContent | ToolCallContent) or event.outcome is not None
        if event.turn != self.turn or not is_in_contract:
            return
        self._behind.append(event)
        if len(self._behind) > self._room:
            self._behind = merge_pieces(self._behind)
            self._room = max(MAX_BEHIND, 2 * len(self._behind))
        self._wake.set()

    def end(self) -> None:
        self.gone = True
        self._wake.set()

    async def read(self, seconds: float) -> list[Event]:
        """Return the events since the last call; none when there was no event for that many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self._wake.wait()
        except TimeoutError:
            return []
        self._wake.clear()
        behind, self._behind = self._behind, []
        return [event for event in behind if not 0 < event.seq <= self.known]


class TurnReaders:
    """A subscriber of the host (`host/subscribers.py`), which also brings news of tool servers."""

    def __init__(self) -> None:
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self._by_chat: dict[str, list[TurnReader]] = {}
        self._waiting: set[asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]] = set()

    def add(self, reader: TurnReader) -> None:
        self._by_chat.setdefault(reader.chat, []).append(reader)

    def remove(self, reader: TurnReader) -> bool:
        """Remove a reader. Return whether it was the last one of its chat."""
        readers = self._by_chat[reader.chat]
        readers.remove(reader)
        if not readers:
            del self._by_chat[reader.chat]
        return not readers

    def watch_servers(self) -> asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]:
        """Return a queue of all news of tool servers, until `stop_watching`."""
        queue: asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams] = asyncio.Queue()
        self._waiting.add(queue)
        return queue

    def stop_watching(self, queue: asyncio.Queue[ToolServerUpdatedParams | ToolServerRemovedParams]) -> None:
        self._waiting.discard(queue)

    # -- the subscriber

    def sees(self, chat: str) -> bool:
        return chat in self._by_chat

    def approves(self, chat: str) -> bool:  # noqa: ARG002  # the contract has no approval
        return False

    def answers(self, chat: str) -> bool:  # noqa: ARG002
        return False

    def show(self, events: list[Event]) -> None:
        for event in events:
            for reader in self._by_chat.get(event.chat, ()):
                reader.show(event)

    def tell(self, notice: Notice) -> None:
        if isinstance(notice.params, ToolServerUpdatedParams | ToolServerRemovedParams):
            for queue in self._waiting:
                queue.put_nowait(notice.params)
        if notice.chat is None:
            return
        for reader in self._by_chat.get(notice.chat, ()):
            if notice.method == "chat/deleted":
                reader.end()
            elif isinstance(notice.params, ShowMessageParams):
                reader.messages.append(notice.params.message)

    def show_anew(self, again: Again) -> None:
        """Do nothing: a chat is cut back while it is idle, when nobody reads here."""

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:  # noqa: ARG002
        raise RemoteError("no user can answer questions here")
