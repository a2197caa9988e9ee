"""ECA over any link: one session per connection. Almost the identity, since the engine speaks in ECA's contents."""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from pydantic import ValidationError

from jupyter_eca.errors import BusyError, LocalError, RemoteError, ToolError, UnknownChat
from jupyter_eca.fronts.project import opened_chat, project
from jupyter_eca.host import Prompt
from jupyter_eca.links.peer import Peer
from jupyter_eca.protocol import chat, lifecycle, notebook
from jupyter_eca.protocol.event import merged
from jupyter_eca.protocol.jsonrpc import Code
from jupyter_eca.protocol.methods import METHODS, Sender

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.host import Host
    from jupyter_eca.links.base import Link
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.workspace.base import Kernel

# Today's name of the default agent, and what the two seed revisions call it.
AGENTS: Final = ("agent", "plan")
_AGENT_NAMES: Final = {"code": "agent", "build": "agent"}

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


class EcaSession:
    """An audience of the host. `kernel` is set for a client that runs code for its own chats."""

    def __init__(self, link: Link, door: Door) -> None:
        self.kernel: Kernel | None = None
        self.ended = asyncio.Event()
        self._link = link
        self._door = door
        self._peer = Peer(link, self._answer, self._heed)
        self._host: Host | None = None
        self._opened = asyncio.Event()
        self._opened.set()
        self._can = lifecycle.CodeAssistant()
        self._own: dict[str, chat.ChatId] = {}
        self._model: dict[str, str] = {}
        self._agent: dict[str, str] = {}
        self._behind: list[Event] = []
        self._shown: dict[str, int] = {}
        self._sending = asyncio.Lock()
        self._wake = asyncio.Event()

    async def run(self) -> None:
        """Until the client leaves or says `exit`."""
        try:
            async with asyncio.TaskGroup() as tasks:
                self._tasks = tasks
                showing = tasks.create_task(self._show())
                serving = tasks.create_task(self._peer.run())
                ending = tasks.create_task(self.ended.wait())
                await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
                for task in (showing, serving, ending):
                    task.cancel()
        finally:
            if self._host is not None:
                self._host.leave(self)
            await self._link.close()

    # -- the audience

    def sees(self, chat: str) -> bool:
        return self._door.sees_all or chat in self._own

    def approves(self, chat: str) -> bool:
        return self.sees(chat) and not self._can.unattended

    def show(self, events: list[Event]) -> None:
        self._behind += events
        if len(self._behind) > MAX_BEHIND:
            self._behind = merged(self._behind)
        if len(self._behind) > MAX_BEHIND:
            self.ended.set()
        self._wake.set()

    async def _show(self) -> None:
        """A client that reads slowly is given longer pieces, not more of them."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            async with self._sending:
                events, self._behind = merged(self._behind), []
                for event in events:
                    await self._send_event(event)

    async def _send_event(self, event: Event) -> None:
        """Each event once, also when it is both in a replay and among what has just happened."""
        if event.seq:
            if event.seq <= self._shown.get(event.chat, 0):
                return
            self._shown[event.chat] = event.seq
        wire_id = self._own.get(event.chat, event.chat)
        for method, params in project(event, wire_id, envelope=self._can.envelope):
            await self._peer.notify(method, params.wire())

    # -- requests and notifications

    async def _answer(self, method: str, params: Any) -> Any:
        row = METHODS.get(method)
        handler = REQUESTS.get(method)
        if row is None or row.sender is not Sender.CLIENT or handler is None:
            raise RemoteError(f"there is no request {method!r}", Code.METHOD_NOT_FOUND)
        try:
            if method != "initialize":
                await self._opened.wait()
            result = await handler(self, _parsed(method, params))
        except BusyError as error:
            raise RemoteError(str(error), Code.BUSY) from error
        except (LocalError, UnknownChat) as error:
            raise RemoteError(str(error), Code.REFUSED) from error
        return None if result is None else result.wire()

    def _heed(self, method: str, params: Any) -> None:
        """Unknown notifications are ignored, as JSON-RPC and ECA want it."""
        if (handler := NOTIFICATIONS.get(method)) is not None:
            handler(self, _parsed(method, params))

    @property
    def host(self) -> Host:
        if self._host is None:
            raise RemoteError("say `initialize` first", Code.NOT_INITIALIZED)
        return self._host

    def known(self, id: chat.ChatId) -> str:
        """The host's id of a chat the client may speak about. Raises: RemoteError."""
        if not self.sees(str(id)):
            raise RemoteError("this client did not ask in that chat", Code.REFUSED)
        return str(id)

    async def initialize(self, params: lifecycle.InitializeParams) -> lifecycle.InitializeResult:
        if self._host is not None:
            raise RemoteError("already initialized", Code.INVALID_REQUEST)
        self._can = params.capabilities.code_assistant
        if self._can.kernel:
            self.kernel = LinkKernel(self._peer, self._door.interrupt)
        # A client may send its first requests without waiting for this reply: they wait in its stead.
        self._opened.clear()
        try:
            self._host = await self._door.host(params)
            self._host.join(self)
        finally:
            self._opened.set()
        config = self._host.config
        return lifecycle.InitializeResult(
            chat_default_model=config.default_model or "",
            chat_behaviors=AGENTS,
            chat_default_behavior=config.default_agent,
            chat_welcome_message=config.welcome_message,
        )

    def initialized(self, _params: Model) -> None:
        self._tasks.create_task(self._announce())

    async def _announce(self) -> None:
        """The set-up of this server, once the client is ready for it. Looking for models may take half a second."""
        host = self.host
        await self._progress("start")
        tools = host.offered(host.config.default_agent, self.kernel or host.workspace.kernel)
        shown = tuple(
            lifecycle.ServerTool(name=t.spec.name, description=t.spec.description, parameters=t.spec.parameters)
            for t in tools
        )
        await self._peer.notify("tool/serverUpdated", lifecycle.NativeServerUpdatedParams(tools=shown).wire())
        models = await host.catalog.models()
        default = await host.catalog.default()
        config = lifecycle.ChatConfig(
            models=models if not default or default in models else (default, *models),
            agents=AGENTS,
            behaviors=AGENTS,
            select_model=default or None,
            select_agent=host.config.default_agent,
            select_behavior=host.config.default_agent,
            welcome_message=host.config.welcome_message,
        )
        await self._peer.notify("config/updated", lifecycle.ConfigUpdatedParams(chat=config).wire())
        await self._progress("finish")

    async def _progress(self, type: str) -> None:
        params = lifecycle.ProgressParams.model_validate(
            {"type": type, "taskId": "models", "title": "Looking for models"}
        )
        await self._peer.notify("$/progress", params.wire())

    async def shutdown(self, _params: Model) -> None:
        """`exit` follows; what is running goes on until then."""

    def exit(self, _params: Model) -> None:
        self.ended.set()

    async def prompt(self, params: chat.ChatPromptParams) -> chat.ChatPromptResult:
        wire_id = uuid.uuid4().hex if params.chat_id is None else params.chat_id
        id = str(wire_id)
        if not self._door.sees_all and id not in self._own and await self.host.chat(id):
            raise RemoteError("this client did not ask in that chat", Code.REFUSED)
        self._own[id] = wire_id
        asked = params.agent or params.behavior or self._agent.get(id) or self._agent.get("") or ""
        agent = _AGENT_NAMES.get(asked, asked)
        model = params.model or self._model.get(id) or self._model.get("") or ""
        prompt = Prompt(id, params.message, model, agent if agent in AGENTS else "", params.contexts)
        model = await self.host.prompt(prompt, self.kernel)
        return chat.ChatPromptResult(chat_id=wire_id, model=model)

    def stop(self, params: chat.ChatPromptStopParams) -> None:
        self.host.stop(self.known(params.chat_id))

    def approve(self, params: chat.ChatToolCallApproveParams) -> None:
        self.host.approve(self.known(params.chat_id), params.tool_call_id, remember=params.save == "session")

    def reject(self, params: chat.ChatToolCallRejectParams) -> None:
        self.host.reject(self.known(params.chat_id), params.tool_call_id, params.reason)

    async def open(self, params: chat.ChatOpenParams) -> chat.ChatOpenResult:
        """Everything that had been shown, in order; with `after`, what came after that sequence number."""
        id = self.known(params.chat_id)
        try:
            events = await self.host.replay(id, params.after)
        except UnknownChat:
            return chat.ChatOpenResult(found=False)
        row = await self.host.chat(id)
        title = row.title if row else None
        async with self._sending:
            self._shown[id] = params.after
            if not params.after:
                for method, model in opened_chat(params.chat_id, title):
                    await self._peer.notify(method, model.wire())
            for event in merged(events):
                await self._send_event(event)
        return chat.ChatOpenResult(found=True, chat_id=params.chat_id, title=title)

    async def list(self, params: chat.ChatListParams) -> chat.ChatListResult:
        rows = [row for row in await self.host.chats() if self.sees(row.id)]
        return chat.ChatListResult(
            chats=tuple(
                chat.ChatSummary(
                    id=self._own.get(row.id, row.id),
                    title=row.title,
                    status=chat.ChatStatus.RUNNING if self.host.running(row.id) else chat.ChatStatus.IDLE,
                    created_at=row.created,
                    updated_at=row.updated,
                    model=row.model,
                    message_count=row.prompts,
                )
                for row in rows[: params.limit]
            )
        )

    def select_model(self, params: chat.ChatSelectedModelChangedParams) -> None:
        self._model[_scope(params.chat_id)] = params.model

    def select_agent(self, params: chat.ChatSelectedAgentChangedParams) -> None:
        self._agent[_scope(params.chat_id)] = params.agent

    def select_behavior(self, params: chat.ChatSelectedBehaviorChangedParams) -> None:
        self._agent[_scope(params.chat_id)] = params.behavior

    async def doctor(self, _params: Model) -> lifecycle.DoctorResult:
        return lifecycle.DoctorResult(text=await self._door.doctor(self.host))


REQUESTS: Final[dict[str, Callable[[EcaSession, Any], Awaitable[Model | None]]]] = {
    "initialize": EcaSession.initialize,
    "shutdown": EcaSession.shutdown,
    "chat/prompt": EcaSession.prompt,
    "chat/open": EcaSession.open,
    "chat/list": EcaSession.list,
    "workspace/doctor": EcaSession.doctor,
}

NOTIFICATIONS: Final[dict[str, Callable[[EcaSession, Any], None]]] = {
    "initialized": EcaSession.initialized,
    "exit": EcaSession.exit,
    "chat/promptStop": EcaSession.stop,
    "chat/toolCallApprove": EcaSession.approve,
    "chat/toolCallReject": EcaSession.reject,
    "chat/selectedModelChanged": EcaSession.select_model,
    "chat/selectedAgentChanged": EcaSession.select_agent,
    "chat/selectedBehaviorChanged": EcaSession.select_behavior,
}


class LinkKernel:
    """The kernel at the other end of a link: its waiting cell's own coroutine runs what it is sent."""

    description = (
        "The user's live IPython kernel is at your side: `run_code` runs in it, `variables` looks at what it holds. "
        "The question came from one of its cells."
    )

    def __init__(self, peer: Peer, interrupt: Callable[[], Awaitable[None]]) -> None:
        self._peer = peer
        self._interrupt = interrupt

    async def execute(self, chat: str, code: str) -> notebook.KernelExecuteResult:
        params = notebook.KernelExecuteParams(chat_id=chat, code=code)
        try:
            return await self._ask("kernel/execute", params, notebook.KernelExecuteResult)
        except asyncio.CancelledError:
            await self._interrupt()
            raise

    async def variables(self, chat: str, names: tuple[str, ...]) -> notebook.KernelVariablesResult:
        params = notebook.KernelVariablesParams(chat_id=chat, names=names)
        return await self._ask("kernel/variables", params, notebook.KernelVariablesResult)

    async def _ask(self, method: str, params: Model, result: type[T]) -> T:
        try:
            return result.model_validate(await self._peer.request(method, params.wire()))
        except RemoteError as error:
            raise ToolError(
                f"The kernel did not answer: {error}.", "It may have died; its variables are gone then."
            ) from error
        except ValidationError as error:
            raise ToolError(f"The kernel's answer to {method} makes no sense.") from error


T = TypeVar("T", bound="Model")


def _parsed(method: str, params: Any) -> Model:
    try:
        return METHODS[method].parse(params)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", Code.INVALID_PARAMS) from error


def _scope(id: chat.ChatId | None) -> str:
    return "" if id is None else str(id)
