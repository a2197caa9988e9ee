"""Owns one ECA connection, over any link. It translates little, because the engine's events already have ECA's
contents.

It must not know where it runs: its `Door` knows that. What each method does is in `methods/`, one module for each
subject.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.errors import BusyError, LocalError, RemoteError, ToolError
from jupyter_eca.fronts.eca import trust
from jupyter_eca.fronts.eca.client_ports import LinkEditor, LinkKernel, LinkNotebooks
from jupyter_eca.fronts.eca.cursor_help import CursorHelp
from jupyter_eca.fronts.eca.job_view import list_visible
from jupyter_eca.fronts.eca.parse import BEFORE_INITIALIZE, SHOWN_FIRST, parse_params
from jupyter_eca.fronts.eca.projection import merge_subagents, place_flags, project, reset_chat
from jupyter_eca.fronts.eca.send_queue import MAX_BEHIND, Item, compact, put, runs
from jupyter_eca.host.chat.live_chat import NO_CHOICE
from jupyter_eca.host.subscribers import Again, Notice
from jupyter_eca.plugins import loader
from jupyter_eca.protocol import dialect, lifecycle
from jupyter_eca.protocol.chats import ChatOpenParams, ChatStatus, ChatStatusChangedParams
from jupyter_eca.protocol.event import Event, merge_pieces
from jupyter_eca.protocol.job import JobsListResult
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.protocol.lifecycle import UntrustedSettingsParams
from jupyter_eca.protocol.mcp import ToolServerUpdatedParams
from jupyter_eca.protocol.methods import METHODS, Sender
from jupyter_eca.protocol.question import ChatAskQuestionResult
from jupyter_eca.transport.peer import Peer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, MutableMapping, Sequence

    from jupyter_eca.fronts.eca.door import Door
    from jupyter_eca.host.chat.live_chat import Choice
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.turn.subagents import Span
    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.base import ChatId, Model
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.transport.link import Link
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# Revisions whose clients show a subagent's chat within its parent's.
_NESTING: Final = frozenset({dialect.Dialect.CURRENT, dialect.Dialect.OWN})


@cache
def load_handlers() -> Mapping[str, Callable[[EcaSession, Any], Any]]:
    """Return the function of each method: a coroutine function for a request, a plain one for a notification."""
    return {
        name: function
        for handlers in loader.find("fronts.eca.methods", "HANDLERS").values()
        for name, function in handlers.items()
    }


class EcaSession:
    """One connection, as a subscriber of the host (`host/subscribers.py`)."""

    def __init__(
        self, link: Link, door: Door, own: MutableMapping[str, ChatId] | None = None, *, quiet: bool = False
    ) -> None:
        """Make a session. `own` maps chats to the ids that the client uses; the sessions of one notebook's kernels
        share it.

        `quiet`: the client is shown a chat only while its own prompt is answered there.
        """
        self.kernel: Kernel | None = None
        """The client's kernel, if it runs code for its own chats."""
        self.editor: Editor | None = None
        self.notebooks: Notebooks | None = None
        self.ended = asyncio.Event()
        """Set when the client has said `exit`, or is too far behind."""
        self.shut = False
        """Whether the client has said `shutdown`: only `exit` may follow."""
        self.door = door
        self.can = lifecycle.CodeAssistant()
        """What the client can do, as it said in `initialize`."""
        self.dialect = dialect.Dialect.CURRENT
        self._most: int | None = None
        self.own: MutableMapping[str, ChatId] = {} if own is None else own
        """The chats that the client prompted in, or shares: the host's id, and the id that the client uses."""
        self.opened = asyncio.Event()
        """Set unless `initialize` is being answered."""
        self.opened.set()
        self.choices: dict[str, Choice] = {}
        """What the client selected for a chat; "" is for its new chats."""
        self.lent: tuple[Tool, ...] = ()
        """The client's own tools."""
        self.agent = ""
        """The agent whose tools the client is shown."""
        self._link = link
        self.peer = Peer(link, self._answer, self._handle_notification)
        self.cursor_help = CursorHelp(self)
        self.asking: set[str] | None = set() if quiet else None
        self._working: set[asyncio.Task[None]] = set()
        self._host: Host | None = None
        self._joined = False
        self._hello: lifecycle.InitializeParams | None = None
        self._behind: list[Item] = []
        self.known_digests: set[str] = set()
        """The settings that the user was asked or told about: see `trust.py`."""
        self.shown: dict[str, int] = {}
        """The number of the last event of each chat that the client was shown."""
        self.sending = asyncio.Lock()
        """Held by whoever shows the client something, so that nothing comes in between."""
        self._replaying = False
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Serve until the client leaves or says `exit`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                showing = tasks.create_task(self._show())
                serving = tasks.create_task(self.peer.run())
                ending = tasks.create_task(self.ended.wait())
                await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
                for task in (showing, serving, ending, *self._working):
                    task.cancel()
        finally:
            if self._host is not None:
                self._host.toolbox.take_back(self)
            if self._host is not None and self._joined:
                self._host.leave(self)
            await self._link.close()

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work that ends with the session at the latest."""
        task = self._tasks.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    # -- the user, who may sign in somewhere

    @property
    def browser(self) -> Browser:
        return self.door.browser

    def say(self, type: lifecycle.MessageType, message: str) -> None:
        """Show a message to this client alone. The others did not ask, and the code of a kernel need not know it."""
        self.tell(Notice("$/showMessage", lifecycle.ShowMessageParams(type=type, message=message)))

    # -- the subscriber

    def sees(self, chat: str) -> bool:
        """Return whether the client may know about a chat.

        It sees a subagent's chat with its parent's if its revision has subagents; with `"chat": false` it sees only its
        own chats.
        """
        if parent := self.host.subagents.parent(chat) if self._host else "":
            return self.dialect in _NESTING and self.sees(parent)
        return (self.door.sees_all and self.can.chat is not False) or chat in self.own

    def approves(self, chat: str) -> bool:
        return self.sees(chat) and self.door.approves and not self.can.unattended

    def answers(self, chat: str) -> bool:
        return self.approves(chat) and self.can.chat_capabilities.ask_question

    def _is_subscribed(self, chat: str) -> bool:
        """Return whether the client is shown a chat now. See `quiet`."""
        if self.asking is None or chat in self.asking:
            return True
        parent = self.host.subagents.parent(chat)
        return parent != "" and self._is_subscribed(parent)

    def show(self, events: list[Event]) -> None:
        self._behind += [event for event in events if self._is_subscribed(event.chat)]
        if self.asking is not None:
            self.asking -= {event.chat for event in events if event.outcome}
        # Do not send during a replay: an event that is partly in the replay would be shown twice.
        if len(self._behind) > MAX_BEHIND and not self._replaying:
            self._behind = compact(item for item in self._behind if not self._is_shown(item))
        if len(self._behind) > MAX_BEHIND:
            self.ended.set()
        self._wake.set()

    def tell(self, notice: Notice) -> None:
        if notice.method == "chat/deleted" and notice.chat is not None:
            self.choices.pop(notice.chat, None)
        if notice.chat is None or notice.method != "chat/toolCallProgress" or self._is_subscribed(notice.chat):
            put(self._behind, notice)
            self._wake.set()

    def show_anew(self, again: Again) -> None:
        self._behind.append(again)
        self._wake.set()

    def resume(self, chat: str) -> None:
        """Show a chat as if the client had opened it itself (`Asker` of a turn)."""
        self.own.setdefault(chat, chat)
        self.start(self._resume(chat))

    async def _resume(self, chat: str) -> None:
        await load_handlers()["chat/open"](self, ChatOpenParams(chat_id=self.wire_id(chat)))

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        params = question.model_copy(update={"chat_id": self.wire_id(str(question.chat_id))})
        # Emacs writes the question into its tool call, and later output of the call over the question.
        await self.catch_up()
        answer = await self.peer.request("chat/askQuestion", params.wire())
        try:
            return ChatAskQuestionResult.model_validate(answer or {})
        except ValidationError as error:
            raise RemoteError("the answer to the question is invalid") from error

    async def _show(self) -> None:
        """Send the waiting notices. A client that reads slowly gets longer pieces, not more of them."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._show_behind()

    async def _show_behind(self) -> None:
        async with self.sending:
            behind, self._behind = self._behind, []
            for run in runs(behind):
                # First drop what a replay has shown, or it would be merged with the rest and shown again.
                for item in compact([item for item in run if not self._is_shown(item)]):
                    await self._send(item)

    async def catch_up(self) -> None:
        """Wait until the client was sent everything that has happened so far."""
        await self.host.store.settle()
        await self._show_behind()

    def _is_shown(self, item: Item) -> bool:
        return isinstance(item, Event) and 0 < item.seq <= self.shown.get(item.chat, 0)

    @asynccontextmanager
    async def replaying(self) -> AsyncGenerator[None]:
        """Hold back other events. What is read within this context can be given to `show_again`."""
        async with self.sending:
            self._replaying = True
            try:
                yield
            finally:
                self._replaying = False

    async def _send(self, item: Item) -> None:
        match item:
            case Notice(method=method, params=JobsListResult(jobs=jobs)):
                await self.notify(method, await list_visible(self, jobs))
            case Notice(params=UntrustedSettingsParams(folders=folders)):
                await trust.announce(self, folders)
            case Notice(method=method, params=ToolServerUpdatedParams() as server):
                await self.notify(method, self.describe_server(server))
            case Notice(method=method, params=params, chat=chat):
                await self.notify(method, params, chat)
            case Again(chat=chat):
                self._replaying = True
                try:
                    row = await self.host.chats.read_row(chat)
                    await self.show_again(chat, row and row.title, await self.host.store.events(chat), anew=True)
                finally:
                    self._replaying = False
            case Event(chat=chat, seq=seq):
                self.shown[chat] = max(seq, self.shown.get(chat, 0))
                await self._show_event(item)

    async def _show_event(self, event: Event, *, replayed: bool = False) -> None:
        parent = self.host.subagents.parent(event.chat)
        within, wire_id = self.wire_id(parent) if parent else None, self.wire_id(event.chat)
        for method, params in project(event, wire_id, envelope=self.can.envelope, replayed=replayed, parent=within):
            await self.notify(method, params)

    async def show_again(
        self,
        chat: str,
        title: str | None,
        events: Sequence[Event],
        flags: Sequence[Event] = (),
        *,
        anew: bool,
        within: Span = (0, None),
    ) -> None:
        """Show past events; with `anew`, show the whole chat again from the beginning. Read the events within
        `replaying`: then events that come in the meantime are neither lost nor shown twice.

        `flags` are those of the whole chat. `within` gives the two places between which the chat is shown.
        """
        wire_id = self.wire_id(chat)
        if anew:
            for method, params in reset_chat(wire_id, title):
                await self.notify(method, params)
        merged = merge_pieces(events)
        placed = merged if self.can.envelope else place_flags(merged, flags)
        for event in merge_subagents(placed, await self._read_subagents(chat, within)):
            await self._show_event(event, replayed=True)
        self.shown[chat] = max((event.seq for event in merged), default=0 if anew else self.shown.get(chat, 0))
        status = self.host.chats.status(chat)
        # A chat that waits for an answer to `/login` is idle here: only results and lists have the status `login`.
        status = ChatStatus.IDLE if status is ChatStatus.LOGIN else status
        await self.notify("chat/statusChanged", ChatStatusChangedParams(chat_id=wire_id, status=status))

    async def _read_subagents(self, chat: str, within: Span) -> list[Event]:
        """Return the events of a chat's subagents in a part of the chat."""
        said_by_subagents = await self.host.subagents.read_events(chat, *within) if self.dialect in _NESTING else []
        for event in said_by_subagents:
            self.shown[event.chat] = max(event.seq, self.shown.get(event.chat, 0))
        return merge_pieces(said_by_subagents)

    async def notify(self, method: str, params: Model, chat: str | None = None) -> None:
        """Send a notification. `chat` is the host's id of its chat: the client gets its own id."""
        if chat is not None:
            params = params.model_copy(update={"chat_id": self.wire_id(chat)})
        if (translated := dialect.translate_notification(self.dialect, method, params.wire())) is not None:
            await self.peer.notify(method, dialect.shorten(translated, self._most))

    def describe_server(self, server: ToolServerUpdatedParams) -> ToolServerUpdatedParams:
        """Return a tool server as this client may see it."""
        return self.host.notifications.describe_server(server, self.agent or self.default_agent, self.kernel)

    def wire_id(self, chat: str) -> ChatId:
        return self.own.get(chat, chat)

    @property
    def default_agent(self) -> str:
        """The agent of the client's new chats; "" for the configured one."""
        return self.choices.get("", NO_CHOICE).agent

    # -- requests and notifications

    async def _answer(self, method: str, params: Any) -> Any:
        if self.shut:
            raise RemoteError("nothing but `exit` comes after `shutdown`", ErrorCode.INVALID_REQUEST)
        row = METHODS.get(method)
        handler = load_handlers().get(method)
        if row is None or row.sender is not Sender.CLIENT or row.result is None or handler is None:
            raise RemoteError(f"there is no request {method!r}", ErrorCode.METHOD_NOT_FOUND)
        self._learn(method, params)
        try:
            if method not in BEFORE_INITIALIZE:
                await self.opened.wait()
                self._join(self.host)
            result = await handler(self, parse_params(self.dialect, method, params))
            if method in SHOWN_FIRST:
                await self.catch_up()
        except BusyError as error:
            raise RemoteError(str(error), ErrorCode.BUSY) from error
        except (LocalError, ToolError) as error:
            raise RemoteError(str(error), ErrorCode.REFUSED) from error
        return None if result is None else dialect.translate_result(self.dialect, method, result.wire())

    def _handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification. JSON-RPC and ECA want unknown ones to be ignored."""
        row = METHODS.get(method)
        if self.shut and method != "exit":
            return
        if row is not None and row.sender is Sender.CLIENT and row.result is None:
            self._learn(method, params)
            if self._host is not None:
                self._join(self._host)
            load_handlers()[method](self, parse_params(self.dialect, method, params))

    def _learn(self, method: str, params: Any) -> None:
        """Learn the client's revision from its messages, until nothing more can be learned."""
        if method == "chat/prompt" and self._hello is not None:
            self.dialect, self._hello = dialect.detect_dialect(self._hello, params), None
        if (learned := dialect.correct_dialect(self.dialect, method)) is not self.dialect:
            self.dialect, self._hello = learned, None

    @property
    def initialized(self) -> bool:
        return self._host is not None

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RemoteError("say `initialize` first", ErrorCode.NOT_INITIALIZED)
        return self._host

    def find_chat(self, id: ChatId) -> str:
        """Return the host's id of a chat that the client may use. Raises: RemoteError."""
        known = self.host_id(id)
        if not self.sees(known):
            raise RemoteError("this client did not ask in that chat", ErrorCode.REFUSED)
        return known

    def host_id(self, id: ChatId) -> str:
        """Return the host's id of a chat. A number is the client's own count, and means a chat of this session alone.

        nvim's first chat is always 1.
        """
        if isinstance(id, str):
            return id
        return next((host for host, wire in self.own.items() if wire == id), str(id))

    async def open(self, params: lifecycle.InitializeParams) -> Host:
        """Initialize the session. Raises: RemoteError the second time; ConfigError, after which the client may try
        again.
        """
        if self._host is not None:
            raise RemoteError("already initialized", ErrorCode.INVALID_REQUEST)
        self.can = params.capabilities.code_assistant
        self.dialect, self._hello = dialect.detect_dialect(params), params
        self._most = dialect.get_message_limit(params)
        if self.can.kernel:
            self.kernel = LinkKernel(self.peer, self.door.interrupt, self.catch_up, self.door.kernel)
        if self.can.notebook:
            self.notebooks = LinkNotebooks(self.peer)
        if any(self.can.editor.model_dump().values()):
            self.editor = LinkEditor(self.peer, self.can.editor, lambda: self.dialect, in_jupyter=self.can.notebook)
        # A client may send requests without waiting for this reply: they wait until `opened` is set.
        self.opened.clear()
        try:
            self._host = await self.door.host(params)
        finally:
            self.opened.set()
        return self._host

    def _join(self, host: Host) -> None:
        """Join the host's subscribers when the client is ready: after `initialized`, or its next message."""
        if not self._joined:
            self._joined = True
            host.join(self)
