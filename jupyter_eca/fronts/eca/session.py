"""Owns one connection to a client that speaks ECA (Editor Code Assistant, the protocol of the panel and of editors),
over any link. It passes requests on to the functions of the methods, and sends the events of the host as notifications.
The contents of events are ECA's already, so little has to be translated.

It must not know the application that it runs in: its `Door` knows it. It must not know what a method does: that is in
`methods/`, with one module for each subject.
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
from jupyter_eca.fronts.eca.job_view import list_visible
from jupyter_eca.fronts.eca.projection import merge_subagents, place_flags, project, project_reset
from jupyter_eca.fronts.eca.request_rules import BEFORE_INITIALIZE, READING, REPLY_LAST, make_params_error
from jupyter_eca.fronts.eca.rewrites_and_completions import CursorHelp
from jupyter_eca.fronts.eca.send_queue import Item, add_notice, get_data, group_events, join_events
from jupyter_eca.host.chat.live_chat import NO_CHOICE
from jupyter_eca.host.subscribers import ChatReload, Notice
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
from jupyter_eca.transport.send_limit import FEW_ITEMS, NOT_READING, SendLimit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, MutableMapping, Sequence

    from jupyter_eca.fronts.eca.door import Door
    from jupyter_eca.host.chat.live_chat import Choice
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.turn.subagents import Span
    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.plugins.tools.base import Tool
    from jupyter_eca.protocol.base import ChatId, Model
    from jupyter_eca.protocol.methods import Method
    from jupyter_eca.protocol.question import ChatAskQuestionParams
    from jupyter_eca.transport.link import Link
    from jupyter_eca.workspace.ports import Editor, Kernel, Notebooks

# The revisions of ECA whose clients show the chat of a subagent within its parent's chat.
_NESTING: Final = frozenset({dialect.Dialect.CURRENT, dialect.Dialect.OWN})


@cache
def load_handlers() -> Mapping[str, Callable[[EcaSession, Any], Any]]:
    """Return the function of each method: a coroutine function for a request, and a plain function for a
    notification."""
    return {
        name: function
        for handlers in loader.find("fronts.eca.methods", "HANDLERS").values()
        for name, function in handlers.items()
    }


class EcaSession:
    """One connection. It is also a subscriber of the host (`host/subscribers.py`)."""

    def __init__(
        self, link: Link, door: Door, wire_ids: MutableMapping[str, ChatId] | None = None, *, quiet: bool = False
    ) -> None:
        """Make a session.

        `wire_ids` maps the host's ids of chats to the ids that the client uses. The sessions of one kernel share it.
        With `quiet`, the client gets the events of a chat only while its own prompt is answered there.
        """
        self.kernel: Kernel | None = None
        """The client's kernel, if the client can run code for its own chats."""
        self.editor: Editor | None = None
        """The client's editor, if it answers requests, for example for diagnostics."""
        self.notebooks: Notebooks | None = None
        """The notebooks that the client has open, if it can change them."""
        self.ended = asyncio.Event()
        """Set when the client has sent `exit`, or when too many items wait to be sent to it."""
        self.is_shut_down = False
        """Whether the client has sent `shutdown`. After that it may send only `exit`."""
        self.door = door
        """What the application decides about this session: its host, what it sees, and what it may do."""
        self.capabilities = lifecycle.CodeAssistant()
        """What the client can do, as it has declared in `initialize`."""
        self.dialect = dialect.Dialect.CURRENT
        """The revision of ECA that the client speaks, as far as it is known."""
        self._message_limit: int | None = None  # the longest message in bytes that the client can read; None: no limit
        self.wire_ids: MutableMapping[str, ChatId] = {} if wire_ids is None else wire_ids
        """The chats that the client has prompted in or opened: the host's id, and the id that the client uses."""
        self.opened = asyncio.Event()
        """Not set while `initialize` is answered. Other requests wait for it."""
        self.opened.set()
        self.choices: dict[str, Choice] = {}
        """What the client has selected for a chat, such as a model, by the host's id. The key "" is for new chats."""
        self.client_tools: tuple[Tool, ...] = ()
        """The tools that the client offers to the chats in which it prompts."""
        self.agent = ""
        """The agent whose tools the client shows."""
        self._link = link
        self.peer = Peer(link, self._answer, self._handle_notification)
        """Sends requests and notifications over the link, and receives those of the client."""
        self.cursor_help = CursorHelp(self)
        """The rewrites and completions for this client."""
        self.prompted_chats: set[str] | None = set() if quiet else None
        """The chats in which a prompt of this client is being answered. None unless the session is `quiet`."""
        self._working: set[asyncio.Task[None]] = set()  # the tasks that are cancelled when the session ends
        self._host: Host | None = None  # None until the client has sent `initialize`
        self._has_joined = False  # whether this session has joined the subscribers of the host
        # The params of `initialize`, until the first prompt: together they show the revision that the client speaks.
        self._initialize_params: lifecycle.InitializeParams | None = None
        # What waits to be sent to the client, and how much may wait.
        self._waiting_items: list[Item] = []
        self._send_limit = SendLimit[Item](get_data)
        self._close_reason = ""  # why this end closes the link; "" when the client leaves
        self.known_digests: set[str] = set()
        """The digests of the untrusted settings about which the user was already asked or informed: see `trust.py`."""
        self.last_shown: dict[str, int] = {}
        """For each chat, the number of the last event that was sent to the client."""
        self.sending = asyncio.Lock()
        """Held while events or a replay are sent, so that no other event is sent in between."""
        self._replaying = False  # whether past events are being sent
        self._wake = asyncio.Event()  # set when items wait to be sent

    async def run(self) -> None:
        """Serve the client until it leaves or sends `exit`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                showing = tasks.create_task(self._run_sender())
                serving = tasks.create_task(self.peer.run())
                ending = tasks.create_task(self.ended.wait())
                await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
                for task in (showing, serving, ending, *self._working):
                    task.cancel()
        finally:
            if self._host is not None:
                self._host.toolbox.remove_client_tools(self)
            if self._host is not None and self._has_joined:
                self._host.disconnect(self)
            await self._link.close(self._close_reason)

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task. The task is cancelled when the session ends."""
        task = self._tasks.create_task(work)
        self._working.add(task)
        task.add_done_callback(self._working.discard)
        return task

    def get_choice(self, chat: str) -> Choice:
        """Return what the client has selected for a chat, by the host's id; "" for new chats."""
        return self.choices.get(chat, NO_CHOICE).fill_from(self.choices.get("", NO_CHOICE))

    def recalls_choices(self, notebook: str | None) -> bool:
        """Return whether new chats of this client begin with remembered choices (see `choices`). `notebook` is the path
        that the client has sent, "" for no notebook, or None if it has sent nothing."""
        if self.dialect is not dialect.Dialect.OWN or self.capabilities.unattended:
            return False
        return notebook is not None or not self.door.sees_all_chats

    # -- what a sign-in of the user needs

    @property
    def browser(self) -> Browser:
        """Opens pages in the browser of the client's user."""
        return self.door.browser

    def say(self, type: lifecycle.MessageType, message: str) -> None:
        """Show a message to this client alone. Other clients have not asked for anything, and code in a kernel must not
        read it."""
        self.tell(Notice("$/showMessage", lifecycle.ShowMessageParams(type=type, message=message)))

    # -- the subscriber: the host calls these methods, which `host/subscribers.py` describes

    def sees(self, chat: str) -> bool:
        """Return whether the client may know about a chat.

        It sees a subagent's chat if it sees the parent's chat and its revision has subagents. A client with the
        capability `"chat": false` sees only its own chats.
        """
        if parent := self._host.subagents.parents.get(chat) if self._host else None:
            return self.dialect in _NESTING and self.sees(parent)
        return (self.door.sees_all_chats and self.capabilities.chat is not False) or chat in self.wire_ids

    def approves(self, chat: str) -> bool:
        """Return whether a user can approve tool calls at this client."""
        return self.sees(chat) and self.door.access.may_approve and not self.capabilities.unattended

    def reviews(self, chat: str) -> bool:
        """Return whether a user can keep and undo changes at this client, after they were made."""
        return self.approves(chat) and self.capabilities.review

    @property
    def allows_later_review(self) -> bool:
        """Whether file changes by this client's prompts may be made first and reviewed afterwards. That is refused to a
        client that may not approve, because it would change files without an approval."""
        return self.door.access.may_approve and self.capabilities.review

    def answers(self, chat: str) -> bool:
        """Return whether a user can answer questions at this client."""
        return self.approves(chat) and self.capabilities.chat_capabilities.ask_question

    def _is_subscribed(self, chat: str) -> bool:
        """Return whether the client gets the events of a chat at the moment. See `quiet` in `__init__`."""
        if self.prompted_chats is None or chat in self.prompted_chats:
            return True
        parent = self.host.subagents.parents.get(chat)
        return parent is not None and self._is_subscribed(parent)

    def show(self, events: list[Event]) -> None:
        """Queue new events of a chat for the client."""
        self._waiting_items += [event for event in events if self._is_subscribed(event.chat)]
        if self.prompted_chats is not None:
            self.prompted_chats -= {event.chat for event in events if event.outcome}
        self._check_limit()
        self._wake.set()

    def tell(self, notice: Notice) -> None:
        """Queue a notice for the client."""
        if notice.method == "chat/deleted" and notice.chat is not None:
            self.choices.pop(notice.chat, None)
        if notice.chat is None or notice.method != "chat/toolCallProgress" or self._is_subscribed(notice.chat):
            add_notice(self._waiting_items, notice)
            self._check_limit()
            self._wake.set()

    def reload_chat(self, reload: ChatReload) -> None:
        """Queue the request of the host to send a chat again from its beginning."""
        self._waiting_items.append(reload)
        self._check_limit()
        self._wake.set()

    def _check_limit(self) -> None:
        """If too much waits for the client, join pieces of text. If there is still too much, end the session."""
        if self._close_reason:
            self._waiting_items.clear()  # the session ends, and nothing is sent any more
        elif len(self._waiting_items) > FEW_ITEMS and self._send_limit.should_join(self._waiting_items):
            # Do not join events during a replay: then a joined event could be partly in the replay, and that part would
            # be sent twice.
            if not self._replaying:
                self._waiting_items = join_events(item for item in self._waiting_items if not self._is_shown(item))
            if self._send_limit.must_disconnect(self._waiting_items):
                self._waiting_items.clear()
                self._close_reason = NOT_READING
                self.ended.set()

    def resume(self, chat: str) -> None:
        """Show a chat as if the client had opened it itself. The host calls this for a `/resume` of this client."""
        self.wire_ids.setdefault(chat, chat)
        self.start(self._resume(chat))

    async def _resume(self, chat: str) -> None:
        """Send a chat as the answer to `chat/open` does."""
        await load_handlers()["chat/open"](self, ChatOpenParams(chat_id=self.wire_id(chat)))

    async def ask(self, question: ChatAskQuestionParams) -> ChatAskQuestionResult:
        """Ask the client's user a question. Raises: RemoteError."""
        params = question.model_copy(update={"chat_id": self.wire_id(str(question.chat_id))})
        # Emacs writes the question into its tool call. Output of the call that came later would overwrite the question,
        # so it is sent before.
        await self.catch_up()
        answer = await self.peer.request("chat/askQuestion", params.as_json_object())
        try:
            return ChatAskQuestionResult.model_validate(answer or {})
        except ValidationError as error:
            raise RemoteError("the answer to the question is invalid") from error

    async def _run_sender(self) -> None:
        """Send the waiting items whenever there are any. For a client that reads slowly, pieces of one text are joined
        to longer pieces."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._send_waiting()

    async def _send_waiting(self) -> None:
        """Send the items that wait now."""
        async with self.sending:
            waiting_items, self._waiting_items = self._waiting_items, []
            if self._send_limit.has_counted:
                self._send_limit.reset()
            for run in group_events(waiting_items):
                # First drop the events that a replay has sent. Otherwise they would be joined with later events, and
                # sent again.
                for item in join_events([item for item in run if not self._is_shown(item)]):
                    await self._send(item)

    async def catch_up(self) -> None:
        """Send everything to the client that has happened so far."""
        await self.host.store.settle()
        await self._send_waiting()

    def _is_shown(self, item: Item) -> bool:
        """Return whether an item is an event that was already sent."""
        return isinstance(item, Event) and 0 < item.seq <= self.last_shown.get(item.chat, 0)

    @asynccontextmanager
    async def replaying(self) -> AsyncGenerator[None]:
        """Hold back new events while this context lasts. Events that are read within it can be passed to
        `send_past_events`."""
        async with self.sending:
            self._replaying = True
            try:
                yield
            finally:
                self._replaying = False

    async def _send(self, item: Item) -> None:
        """Send one item. Notices that depend on what the client may see are adapted to it."""
        match item:
            case Notice(method=method, params=JobsListResult(jobs=jobs)):
                await self.notify(method, await list_visible(self, jobs))
            case Notice(params=UntrustedSettingsParams(folders=folders)):
                await trust.announce(self, folders)
            case Notice(method=method, params=ToolServerUpdatedParams() as server):
                await self.notify(method, self.describe_server(server))
            case Notice(method=method, params=params, chat=chat):
                await self.notify(method, params, chat)
            case ChatReload(chat=chat):
                self._replaying = True
                try:
                    row = await self.host.chats.read_row(chat)
                    await self.send_past_events(
                        chat, row and row.title, await self.host.store.read_events(chat), clear_first=True
                    )
                finally:
                    self._replaying = False
            case Event(chat=chat, seq=seq):
                self.last_shown[chat] = max(seq, self.last_shown.get(chat, 0))
                await self._show_event(item)

    async def _show_event(self, event: Event, *, replayed: bool = False) -> None:
        """Send the notifications of an event. `replayed`: it is a past event, which is sent again."""
        if event.by is not None and not replayed and not self.door.sends_user_names:
            event = event.model_copy(update={"by": None})
        parent = self.host.subagents.parents.get(event.chat)
        parent_wire_id, wire_id = self.wire_id(parent) if parent else None, self.wire_id(event.chat)
        for method, params in project(
            event, wire_id, envelope=self.capabilities.envelope, replayed=replayed, parent=parent_wire_id
        ):
            await self.notify(method, params)

    async def send_past_events(
        self,
        chat: str,
        title: str | None,
        events: Sequence[Event],
        flags: Sequence[Event] = (),
        *,
        clear_first: bool,
        within: Span = (0, None),
    ) -> None:
        """Send past events of a chat. With `clear_first`, the client first removes what it shows of the chat.

        The caller must read the events within `replaying`. Then events that come meanwhile are neither lost nor sent
        twice. `title` is the title of the chat. `flags` are the flags of the whole chat. `within` is the part of the
        chat that is sent: the number of the event before it, and of its last event, or None for the end. The events of
        subagents in this part are sent too.
        """
        wire_id = self.wire_id(chat)
        if clear_first:
            for method, params in project_reset(wire_id, title):
                await self.notify(method, params)
        merged = merge_pieces(events)
        placed = merged if self.capabilities.envelope else place_flags(merged, flags)
        for event in merge_subagents(placed, await self._read_subagents(chat, within)):
            await self._show_event(event, replayed=True)
        self.last_shown[chat] = max(
            (event.seq for event in merged), default=0 if clear_first else self.last_shown.get(chat, 0)
        )
        status = self.host.chats.get_status(chat)
        # A chat that waits for an answer to `/login` is idle in this notification. Only results and lists have the
        # status `login`.
        status = ChatStatus.IDLE if status is ChatStatus.LOGIN else status
        await self.notify("chat/statusChanged", ChatStatusChangedParams(chat_id=wire_id, status=status))

    async def _read_subagents(self, chat: str, within: Span) -> list[Event]:
        """Return the events of the subagents that ran in a part of a chat. See `send_past_events` for `within`."""
        subagent_events = await self.host.subagents.read_events(chat, *within) if self.dialect in _NESTING else []
        for event in subagent_events:
            self.last_shown[event.chat] = max(event.seq, self.last_shown.get(event.chat, 0))
        return merge_pieces(subagent_events)

    async def notify(self, method: str, params: Model, chat: str | None = None) -> None:
        """Send a notification. `chat` is the host's id of the chat that it is about. It is sent as the client's own
        id."""
        if chat is not None:
            params = params.model_copy(update={"chat_id": self.wire_id(chat)})
        data, limit = params.as_json_object(), self._message_limit
        translated = data if self._is_ours else dialect.translate_notification(self.dialect, method, data)
        if translated is not None:
            await self.peer.notify(method, translated if limit is None else dialect.shorten(translated, limit))

    def describe_server(self, server: ToolServerUpdatedParams) -> ToolServerUpdatedParams:
        """Return a tool server in the form that this client may see."""
        return self.host.notices.describe_server(server, self.agent or self.default_agent, self.kernel)

    def wire_id(self, chat: str) -> ChatId:
        """Return the id that the client uses for a chat. `chat` is the host's id."""
        return self.wire_ids.get(chat, chat)

    @property
    def default_agent(self) -> str:
        """The agent that the client has selected for new chats; "" for the agent of the configuration."""
        return self.choices.get("", NO_CHOICE).agent

    # -- requests and notifications

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a request by the function of its method. Raises: RemoteError."""
        if self.is_shut_down:
            raise RemoteError("nothing but `exit` comes after `shutdown`", ErrorCode.INVALID_REQUEST)
        row = METHODS.get(method)
        handler = load_handlers().get(method)
        if row is None or row.sender is not Sender.CLIENT or row.result is None or handler is None:
            raise RemoteError(f"there is no request {method!r}", ErrorCode.METHOD_NOT_FOUND)
        self._update_dialect(method, params)
        if not self._is_allowed(method):
            raise RemoteError(self.door.access.reason, ErrorCode.REFUSED)
        try:
            if method not in BEFORE_INITIALIZE:
                await self.opened.wait()
                self._join(self.host)
            result = await handler(self, self._parse(row, params))
            if method in REPLY_LAST:
                await self.catch_up()
        except BusyError as error:
            raise RemoteError(str(error), ErrorCode.BUSY) from error
        except (LocalError, ToolError) as error:
            raise RemoteError(str(error), ErrorCode.REFUSED) from error
        data = None if result is None else result.as_json_object()
        return data if self._is_ours else dialect.translate_result(self.dialect, method, data)

    def _handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification. JSON-RPC and ECA require that unknown notifications are ignored."""
        row = METHODS.get(method)
        if self.is_shut_down and method != "exit":
            return
        if row is not None and row.sender is Sender.CLIENT and row.result is None:
            self._update_dialect(method, params)
            if self._host is not None:
                self._join(self._host)
            if not self._is_allowed(method):
                self.say(lifecycle.MessageType.WARNING, self.door.access.reason)
                return
            load_handlers()[method](self, self._parse(row, params))

    def _is_allowed(self, method: str) -> bool:
        """Return whether the client may send a method. A client that may only read is refused all others."""
        return self.door.access.may_ask or method in READING

    @property
    def _is_ours(self) -> bool:
        """Whether the client is one of ours, which speaks the newest revision: nothing is translated for it."""
        return self.dialect is dialect.Dialect.OWN

    def _update_dialect(self, method: str, params: Any) -> None:
        """Find out from a message which revision of ECA the client speaks. The first prompt shows it, or a method that
        only some revisions have."""
        if method == "chat/prompt" and self._initialize_params is not None:
            self.dialect, self._initialize_params = dialect.detect_dialect(self._initialize_params, params), None
        if not self._is_ours and (learned := dialect.correct_dialect(self.dialect, method)) is not self.dialect:
            self.dialect, self._initialize_params = learned, None

    def _parse(self, row: Method, params: Any) -> Model:
        """Parse the params of a message of the client. Raises: RemoteError that names the field that is wrong."""
        # Until `initialize` is read, nobody knows whether the client is one of ours, which need no translation.
        is_ours = self._is_ours and row.name != "initialize"
        try:
            return row.parse(params if is_ours else dialect.translate_incoming(self.dialect, row.name, params))
        except ValidationError as error:
            raise make_params_error(row.name, error) from error

    @property
    def is_initialized(self) -> bool:
        """Whether `initialize` has given the session its host."""
        return self._host is not None

    @property
    def host(self) -> Host:
        """The object that runs all chats. Raises: RemoteError before `initialize`."""
        if self._host is None:
            raise RemoteError("say `initialize` first", ErrorCode.NOT_INITIALIZED)
        return self._host

    def find_chat(self, id: ChatId) -> str:
        """Return the host's id of a chat that the client may see. Raises: RemoteError for any other chat."""
        known = self.host_id(id)
        if not self.sees(known):
            raise RemoteError("this client did not ask in that chat", ErrorCode.REFUSED)
        return known

    def host_id(self, id: ChatId) -> str:
        """Return the host's id of a chat.

        An id that is a number comes from a client that counts its chats itself. It names a chat of this session only:
        the first chat of every nvim is 1.
        """
        if isinstance(id, str):
            return id
        return next((host for host, wire in self.wire_ids.items() if wire == id), str(id))

    async def open(self, params: lifecycle.InitializeParams) -> Host:
        """Initialize the session, and return its host.

        Raises: RemoteError if the session is already initialized. ConfigError if there is no host; then the client may
        try again.
        """
        if self._host is not None:
            raise RemoteError("already initialized", ErrorCode.INVALID_REQUEST)
        self.capabilities = params.capabilities.code_assistant
        self.dialect, self._initialize_params = dialect.detect_dialect(params), params
        self._message_limit = dialect.get_message_limit(params)
        # What a client offers to the model could change an answer. So a client that may only read can offer nothing.
        may_offer = self.door.access.may_ask
        if may_offer and self.capabilities.kernel:
            self.kernel = LinkKernel(self.peer, self.door.interrupt_kernel, self.catch_up, self.door.kernel_id)
        if may_offer and self.capabilities.notebook:
            self.notebooks = LinkNotebooks(self.peer)
        if may_offer and any(self.capabilities.editor.model_dump().values()):
            self.editor = LinkEditor(
                self.peer, self.capabilities.editor, lambda: self.dialect, in_jupyter=self.capabilities.notebook
            )
        # A client may send requests before it gets the reply to `initialize`. They wait until `opened` is set.
        self.opened.clear()
        try:
            self._host = await self.door.get_host(params)
        finally:
            self.opened.set()
        return self._host

    def _join(self, host: Host) -> None:
        """Join the subscribers of the host. Called at the first message after `initialize`: then the client is ready to
        get events."""
        if not self._has_joined:
            self._has_joined = True
            host.connect(self)
