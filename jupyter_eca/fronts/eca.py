"""ECA over any link: one session per connection. What each method does is in `methods/`, one module a subject.

Almost the identity, since the engine speaks in ECA's contents.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

from pydantic import ValidationError

from jupyter_eca import plugins
from jupyter_eca.audience import Notice
from jupyter_eca.errors import BusyError, LocalError, RemoteError, ToolError
from jupyter_eca.fronts.linked import LinkEditor, LinkKernel
from jupyter_eca.fronts.project import project
from jupyter_eca.host import Choice
from jupyter_eca.links.peer import Peer
from jupyter_eca.protocol import lifecycle
from jupyter_eca.protocol.event import Event, merged
from jupyter_eca.protocol.jsonrpc import Code
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.protocol.question import ChatAskQuestionResult

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from jupyter_eca.host import Host
    from jupyter_eca.links.base import Link
    from jupyter_eca.protocol.base import ChatId, Model
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.workspace.base import Editor, Kernel

# Events a session may be behind before it is cut off: a client that reconnects is replayed what it missed, while one
# that has stopped reading would otherwise hold everything in memory for ever.
MAX_BEHIND: Final = 20_000


class Door(Protocol):
    """What a transport decides for its sessions."""

    async def host(self, params: lifecycle.InitializeParams) -> Host:
        """The host that answers. Raises: ConfigError."""
        ...

    @property
    def sees_all(self) -> bool:
        """Whether the peer is shown all chats, or only those it asked in (a kernel: cell code speaks on its link)."""
        ...

    async def doctor(self, host: Host) -> str: ...

    async def interrupt(self) -> None:
        """End what the client's kernel runs: somebody stopped the turn that sent it there."""
        ...


@cache
def handlers() -> Mapping[str, Callable[[EcaSession, Any], Any]]:
    """Method name to its function: a coroutine function for a request, a plain one for a notification."""
    return {
        name: function
        for found in plugins.find("fronts.methods", "HANDLERS").values()
        for name, function in found.items()
    }


class EcaSession:
    """An audience of the host. `kernel` is set for a client that runs code for its own chats.

    `own` are the chats it asked in, by the host's id, as the client writes them; `choice` is what it selected for chats
    to come.
    """

    def __init__(self, link: Link, door: Door) -> None:
        self.kernel: Kernel | None = None
        self.editor: Editor | None = None
        self.ended = asyncio.Event()
        self.door = door
        self.can = lifecycle.CodeAssistant()
        self.own: dict[str, ChatId] = {}
        self.opened = asyncio.Event()
        self.opened.set()
        self.choice = Choice()
        self._link = link
        self.peer = Peer(link, self._answer, self._heed)
        self._host: Host | None = None
        self._behind: list[Event | Notice] = []
        self._shown: dict[str, int] = {}
        self._sending = asyncio.Lock()
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Until the client leaves or says `exit`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                showing = tasks.create_task(self._show())
                serving = tasks.create_task(self.peer.run())
                ending = tasks.create_task(self.ended.wait())
                await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
                for task in (showing, serving, ending):
                    task.cancel()
        finally:
            if self._host is not None:
                self._host.leave(self)
            await self._link.close()

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Work that ends with the session at the latest."""
        self._tasks.create_task(work)

    # -- the audience

    def sees(self, chat: str) -> bool:
        return self.door.sees_all or chat in self.own

    def approves(self, chat: str) -> bool:
        return self.sees(chat) and not self.can.unattended

    def answers(self, chat: str) -> bool:
        return self.approves(chat) and self.can.chat_capabilities.ask_question

    def show(self, events: list[Event]) -> None:
        self._behind += events
        if len(self._behind) > MAX_BEHIND:
            self._behind = _compact(self._behind)
        if len(self._behind) > MAX_BEHIND:
            self.ended.set()
        self._wake.set()

    def tell(self, notice: Notice) -> None:
        self._behind.append(notice)
        self._wake.set()

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        params = question.model_copy(update={"chat_id": self.wire_id(str(question.chat_id))})
        answer = await self.peer.request("chat/askQuestion", params.wire())
        try:
            return ChatAskQuestionResult.model_validate(answer or {})
        except ValidationError as error:
            raise RemoteError("the answer to the question makes no sense") from error

    async def _show(self) -> None:
        """A client that reads slowly is given longer pieces, not more of them."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            async with self._sending:
                # Before they are merged: a merged one could not be told from its parts that a replay has shown.
                behind, self._behind = [item for item in self._behind if not self._was_shown(item)], []
                for item in _compact(behind):
                    await self._send(item)

    async def _send(self, item: Event | Notice) -> None:
        """Each event once, also when it is both in a replay and among what has just happened."""
        if isinstance(item, Notice):
            await self.notify(item.method, item.params, item.chat)
            return
        if self._was_shown(item):
            return
        if item.seq:
            self._shown[item.chat] = item.seq
        for method, params in project(item, self.wire_id(item.chat), envelope=self.can.envelope):
            await self.notify(method, params)

    def _was_shown(self, item: Event | Notice) -> bool:
        return isinstance(item, Event) and 0 < item.seq <= self._shown.get(item.chat, 0)

    async def replay(self, chat: str, after: int, before: list[Notice], events: list[Event]) -> None:
        """Show a chat again: `before` first, then these events, and nothing of the chat that came in the meantime
        twice."""
        async with self._sending:
            self._shown[chat] = after
            for item in (*before, *merged(events)):
                await self._send(item)

    async def notify(self, method: str, params: Model, chat: str | None = None) -> None:
        """With `chat`, a host's id: the client is written its own."""
        if chat is not None:
            params = params.model_copy(update={"chat_id": self.wire_id(chat)})
        await self.peer.notify(method, params.wire())

    def wire_id(self, chat: str) -> ChatId:
        return self.own.get(chat, chat)

    # -- requests and notifications

    async def _answer(self, method: str, params: Any) -> Any:
        row = METHODS.get(method)
        handler = handlers().get(method)
        if row is None or row.sender is not Sender.CLIENT or row.result is None or handler is None:
            raise RemoteError(f"there is no request {method!r}", Code.METHOD_NOT_FOUND)
        try:
            if method != "initialize":
                await self.opened.wait()
            result = await handler(self, _parsed(method, params))
        except BusyError as error:
            raise RemoteError(str(error), Code.BUSY) from error
        except (LocalError, ToolError) as error:
            raise RemoteError(str(error), Code.REFUSED) from error
        return None if result is None else result.wire()

    def _heed(self, method: str, params: Any) -> None:
        """Unknown notifications are ignored, as JSON-RPC and ECA want it."""
        row = METHODS.get(method)
        if row is not None and row.sender is Sender.CLIENT and row.result is None:
            handlers()[method](self, _parsed(method, params))

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RemoteError("say `initialize` first", Code.NOT_INITIALIZED)
        return self._host

    def known(self, id: ChatId) -> str:
        """The host's id of a chat the client may speak about. Raises: RemoteError."""
        if not self.sees(str(id)):
            raise RemoteError("this client did not ask in that chat", Code.REFUSED)
        return str(id)

    async def open(self, params: lifecycle.InitializeParams) -> Host:
        """Raises: RemoteError the second time; ConfigError, after which the client may try again."""
        if self._host is not None:
            raise RemoteError("already initialized", Code.INVALID_REQUEST)
        self.can = params.capabilities.code_assistant
        if self.can.kernel:
            self.kernel = LinkKernel(self.peer, self.door.interrupt)
        if any(self.can.editor.model_dump().values()):
            self.editor = LinkEditor(self.peer, self.can.editor)
        # A client may send its first requests without waiting for this reply: they wait in its stead.
        self.opened.clear()
        try:
            self._host = await self.door.host(params)
            self._host.join(self)
        finally:
            self.opened.set()
        return self._host


def _compact(items: list[Event | Notice]) -> list[Event | Notice]:
    """Events that are next to each other merged, notices where they were."""
    compact: list[Event | Notice] = []
    events: list[Event] = []
    for item in items:
        if isinstance(item, Event):
            events.append(item)
        else:
            compact += (*merged(events), item)
            events = []
    return [*compact, *merged(events)]


def _parsed(method: str, params: Any) -> Model:
    try:
        return METHODS[method].parse(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", Code.INVALID_PARAMS) from error
