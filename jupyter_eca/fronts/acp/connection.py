"""Owns the connection to one client of the Agent Client Protocol (ACP): it receives the requests of the client, and
sends it the updates of its sessions in order.

It must not know how the client is connected: it gets a link. `sessions.py` answers the requests about sessions, and is
imported when the first of these requests comes.
"""

from __future__ import annotations

import asyncio
import importlib
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca._version import __version__
from jupyter_eca.errors import BusyError, LocalError, RemoteError, ToolError
from jupyter_eca.fronts.acp.outbox import Outbox
from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.fronts.guarded_work import GuardedWork
from jupyter_eca.protocol.acp import CANCELLATION, VERSION, requests
from jupyter_eca.protocol.acp.content import TextBlock
from jupyter_eca.protocol.acp.updates import MessageChunk, NoticeUpdate, SessionUpdateParams
from jupyter_eca.protocol.jsonrpc import ErrorCode
from jupyter_eca.transport.peer import Peer
from jupyter_eca.transport.send_limit import NOT_READING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine

    from jupyter_eca.fronts.acp.hosts import Hosts
    from jupyter_eca.fronts.acp.outbox import Item
    from jupyter_eca.fronts.acp.sessions import AcpSessions
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.protocol.acp.updates import SessionUpdate
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.transport.link import Link


CAPABILITIES: Final[dict[str, Any]] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "close": {}, "delete": {}},
}
"""What the client may use. Everything that is not listed is not supported."""

# The requests about sessions that a client may send if it may only read.
_READING: Final = frozenset({"session/close", "session/list", "session/load", "session/resume"})


class AcpConnection:
    """The connection to one client."""

    def __init__(self, link: Link, hosts: Hosts, *, access: ClientAccess = FULL_ACCESS) -> None:
        self.access = access
        """What the client may do."""
        self.capabilities = requests.AcpCapabilities()
        """What the client can do, as it has declared in `initialize`."""
        self._link = link
        self._hosts = hosts
        self._is_initialized = False  # whether the client has sent `initialize`
        self._sessions: AcpSessions | None = None  # made with the first request about a session
        self._peer = Peer(link, self._answer, self._handle_notification, CANCELLATION)
        self._outbox = Outbox(self._send)
        self._work = GuardedWork("Agent Client Protocol")

    async def run(self) -> None:
        """Serve the client until it leaves. Then its sessions are closed, and turns that it began are stopped."""
        try:
            async with asyncio.TaskGroup() as self._tasks:
                sending = self._tasks.create_task(self._outbox.run())
                serving = self._tasks.create_task(self._peer.run())
                watching = self._tasks.create_task(self._outbox.is_full.wait())
                await asyncio.wait((serving, watching), return_when=asyncio.FIRST_COMPLETED)
                self._work.cancel()
                for task in (sending, serving, watching):
                    task.cancel()
        finally:
            if self._sessions is not None:
                await self._sessions.close()
            await self._link.close(NOT_READING if self._outbox.is_full.is_set() else "")

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task, which is cancelled when the client leaves. An error in it is logged, and ends no other
        task."""
        return self._work.start(self._tasks, work)

    # -- what is sent to the client

    def queue(self, update: SessionUpdateParams) -> None:
        """Queue an update for the client."""
        self._outbox.add(update)

    def show(self, event: Event) -> None:
        """Queue an event of a session for the client."""
        self._outbox.add(event)

    async def request(self, method: str, params: Model) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        return await self._peer.request(method, params.as_json_object())

    def warn(self, message: str, session: str) -> None:
        """Show a warning to the user in a session. Clients that show no notices get it as a message."""
        title = " ".join(message.split())
        if not title:
            return
        if self.capabilities.shows_notices:
            update = NoticeUpdate(severity="warning", title=title)
        else:
            id = f"note-{uuid.uuid4().hex}"
            chunk = TextBlock(text=message)
            update = MessageChunk(session_update="agent_message_chunk", content=chunk, message_id=id)
        self.queue(SessionUpdateParams(session_id=session, update=update))

    @asynccontextmanager
    async def replaying(self, session: str) -> AsyncGenerator[Callable[[SessionUpdate], Awaitable[None]]]:
        """Hold back all queued updates while this context lasts. Yield a function that sends an update of the session
        immediately, so before the queued ones."""

        async def send(update: SessionUpdate) -> None:
            """Send an update immediately."""
            await self._send(SessionUpdateParams(session_id=session, update=update))

        async with self._outbox.holding():
            yield send

    async def _send(self, item: Item) -> None:
        """Send an update, or all updates of an event."""
        if isinstance(item, SessionUpdateParams):
            await self._peer.notify("session/update", item.as_json_object())
            return
        session = self._sessions.find_by_chat(item.chat) if self._sessions is not None else None
        if session is None:
            return
        try:
            for update in await session.project(item):
                params = SessionUpdateParams(session_id=session.id, update=update)
                await self._peer.notify("session/update", params.as_json_object())
        except Exception:
            session.continue_after(item)  # the prompt must be answered although an update is missing
            raise
        session.continue_after(item)

    # -- requests and notifications

    async def _answer(self, method: str, params: Any) -> Any:
        """Answer a request. All updates that the request has caused are sent before the result. Raises: RemoteError."""
        if not self._is_initialized and method != "initialize":
            raise RemoteError("send `initialize` first", ErrorCode.INVALID_REQUEST)
        if (model := requests.REQUESTS.get(method)) is None:
            raise RemoteError(f"there is no request {method[:80]!r}", ErrorCode.METHOD_NOT_FOUND)
        match _parse(method, model, params):
            case requests.InitializeRequest() as parsed:
                return self._initialize(parsed).as_json_object()
            case requests.AuthenticateRequest():
                # We list no ways to sign in, but some clients send this request without asking.
                return requests.DONE.as_json_object()
            case _ if not self.access.may_ask and method not in _READING:
                raise RemoteError(self.access.reason, ErrorCode.REFUSED)
            case parsed:
                sessions = self._sessions or await self._load_sessions()
        try:
            result = await sessions.answer(method, parsed)
        except BusyError as error:
            raise RemoteError(str(error), ErrorCode.BUSY) from error
        except (LocalError, ToolError) as error:
            raise RemoteError(str(error)) from error
        await self._outbox.flush()
        sessions.announce(parsed, result)
        return result.as_json_object()

    async def _load_sessions(self) -> AcpSessions:
        """Import what sessions need, in a thread, and make the object that has them."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.acp.sessions")
        from jupyter_eca.fronts.acp.sessions import AcpSessions

        if self._sessions is None:  # another request may have made it meanwhile
            self._sessions = AcpSessions(self, self._hosts)
        return self._sessions

    def _handle_notification(self, method: str, params: Any) -> None:
        """Handle a notification. JSON-RPC requires that unknown notifications are ignored."""
        if method != requests.CANCEL_PROMPT or self._sessions is None:
            return
        target = _parse(method, requests.SessionRequest, params)
        if isinstance(target, requests.SessionRequest):
            # Do not cancel immediately: the prompt may have arrived just before, and its task has not begun yet.
            asyncio.get_running_loop().call_soon(self._sessions.cancel, target.session_id)

    def _initialize(self, params: requests.InitializeRequest) -> requests.InitializeAnswer:
        """Answer with the version of the protocol that we speak, and with our capabilities."""
        if self._is_initialized:
            raise RemoteError("already initialized", ErrorCode.INVALID_REQUEST)
        self._is_initialized = True
        self.capabilities = params.client_capabilities
        about = requests.AcpImplementation(name="jupyter-eca", title="Jupyter ECA", version=__version__)
        return requests.InitializeAnswer(protocol_version=VERSION, agent_capabilities=CAPABILITIES, agent_info=about)


def _parse(method: str, model: type[Model], params: Any) -> Model:
    """Parse the params of a message. Raises: RemoteError that says what is wrong."""
    try:
        return model.model_validate(params if params is not None else {}, by_alias=True, by_name=False)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"])) or "params"
        raise RemoteError(f"{method}: {place}: {first['msg']}", ErrorCode.INVALID_PARAMS) from error
