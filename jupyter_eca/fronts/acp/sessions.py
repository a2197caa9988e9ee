"""Owns the sessions that a client of the Agent Client Protocol (ACP) has open, and answers the requests about them:
start, load, list and delete sessions, prompt, and choose the mode and options.

It must not know the link. `connection.py` receives the requests, and imports this module when the first of them comes.
This module imports the host, which takes a second, and an editor shows nothing to its user until `initialize` is
answered.
"""

from __future__ import annotations

import asyncio
import uuid
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_eca.errors import ConfigError, RemoteError
from jupyter_eca.fronts.acp import settings
from jupyter_eca.fronts.acp.client_servers import ClientServers
from jupyter_eca.fronts.acp.session import AcpSession
from jupyter_eca.fronts.acp.subscriber import AcpSubscriber
from jupyter_eca.fronts.eca.trust import describe_held_settings
from jupyter_eca.protocol.acp import AcpErrorCode, requests
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from contextlib import AbstractAsyncContextManager

    from jupyter_eca.fronts.acp.hosts import Hosts
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.protocol.acp.updates import SessionUpdate, SessionUpdateParams
    from jupyter_eca.protocol.base import Model
    from jupyter_eca.protocol.event import Event

# How many sessions are on a page of `session/list`.
PAGE_SIZE: Final = 50

# What the user is told about the settings that a folder brings and that have no effect yet.
_HOW_TO_TRUST: Final = "Start with `--trust-folder` if you trust it, or trust it in the chat panel of JupyterLab."
# What the user is told if a client that may not approve tool calls passes MCP servers to a session.
_SERVERS_NOT_STARTED: Final = (
    "The MCP servers of this session are not started: this connection may not approve tool calls."
)


class AcpClient(Protocol):
    """The client, as sessions and subscribers need it. `AcpConnection` implements it."""

    access: ClientAccess
    """What the client may do, for example approve tool calls and answer questions."""
    capabilities: requests.AcpCapabilities
    """What the client can do, as it has declared in `initialize`."""

    def queue(self, update: SessionUpdateParams) -> None:
        """Queue an update for the client."""
        ...

    def show(self, event: Event) -> None:
        """Queue an event of a session for the client."""
        ...

    def warn(self, message: str, session: str) -> None:
        """Show a warning to the user in a session."""
        ...

    async def request(self, method: str, params: Model) -> Any:
        """Send a request to the client, and return its result. Raises: RemoteError."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work in a task, which is cancelled when the client leaves."""
        ...

    def replaying(self, session: str) -> AbstractAsyncContextManager[Callable[[SessionUpdate], Awaitable[None]]]:
        """Hold back all queued updates while this context lasts. Yield a function that sends an update of the session
        immediately, so before the queued ones."""
        ...


class AcpSessions:
    """The sessions of one client."""

    def __init__(self, client: AcpClient, hosts: Hosts) -> None:
        self.open_sessions: dict[str, AcpSession] = {}
        """The open sessions by id, which is the id of the chat."""
        self._client = client
        self._hosts = hosts
        self._subscribers: dict[Host, AcpSubscriber] = {}  # by the host that each of them has joined
        self._announced: set[Host] = set()  # the hosts whose untrusted settings the client was informed about
        # The warnings that follow the answer to the request that is opening a session, by the id of the session.
        self._warnings: dict[str, list[str]] = {}

    async def close(self) -> None:
        """Close all sessions, and leave the subscribers of the hosts. Called when the client has left."""
        await asyncio.gather(*(session.close() for session in self.open_sessions.values()), return_exceptions=True)
        for host, subscriber in self._subscribers.items():
            host.disconnect(subscriber)

    async def answer(self, method: str, params: Any) -> Model:
        """Answer a request of `HANDLERS`. `params` is its model."""
        return await HANDLERS[method](self, params)

    def announce(self, params: Model, result: Model) -> None:
        """Send what follows the answer to a request that has opened a session: its commands, warnings, and the
        questions about calls that wait. They must not come before the answer, because until then the client does not
        know a new session. `params` and `result` are those of the request. After any other request, do nothing."""
        if isinstance(result, requests.OpenedSession):
            id = result.session_id if isinstance(result, requests.NewSession) else ""
            id = params.session_id if isinstance(params, requests.OpenSessionRequest) else id
            if (session := self.open_sessions.get(id)) is not None:
                for warning in self._warnings.pop(id, ()):
                    self._client.warn(warning, id)
                self._client.start(session.announce_commands())
                self._client.start(session.ask_again())

    def cancel(self, session: str) -> None:
        """Cancel the prompts of a session. An unknown session is ignored."""
        if session in self.open_sessions:
            self.open_sessions[session].cancel()

    def find_by_chat(self, chat: str) -> AcpSession | None:
        """Return the open session that a chat belongs to, None if there is none."""
        return next((session for session in self.open_sessions.values() if session.sees(chat)), None)

    # -- requests

    async def open_new(self, params: requests.NewSessionRequest) -> requests.NewSession:
        """Start a session. Its chat is stored with the first prompt."""
        host, folder = await self._find_host(params.cwd)
        session = AcpSession(self._client, host, uuid.uuid4().hex, folder)
        opened = await self._open(session, params)
        return requests.NewSession(session_id=session.id, modes=opened.modes, config_options=opened.config_options)

    async def load(self, params: requests.OpenSessionRequest) -> requests.OpenedSession:
        """Open a session again, and send its history."""
        return await self._reopen(params, replay=True)

    async def resume(self, params: requests.OpenSessionRequest) -> requests.OpenedSession:
        """Open a session again, without its history."""
        return await self._reopen(params, replay=False)

    async def list_sessions(self, params: requests.ListSessionsRequest) -> requests.ListedSessions:
        """List the stored sessions, the last used first."""
        if params.cwd is None:
            hosts, folder = await self._hosts.list_all(), None
        else:
            host, folder = await self._find_host(params.cwd)
            hosts = [host]
        # Each session with the time of its last change, in milliseconds since the epoch.
        entries: list[tuple[int, requests.SessionEntry]] = []
        for host in hosts:
            await host.store.settle()  # so that the list has the newest events
            for row in await host.chats.list_rows():
                entry = _describe_row(host, row)
                if folder is None or entry.cwd == str(folder):
                    entries.append((row.updated, entry))
        entries.sort(key=lambda dated_entry: dated_entry[0], reverse=True)
        sessions = [entry for _, entry in entries]
        start = 0
        if params.cursor is not None:
            ids = [entry.session_id for entry in sessions]
            if params.cursor not in ids:
                raise RemoteError("this cursor is not known any more", ErrorCode.INVALID_PARAMS)
            start = ids.index(params.cursor) + 1
        page = tuple(sessions[start : start + PAGE_SIZE])
        has_more = start + PAGE_SIZE < len(sessions)
        return requests.ListedSessions(sessions=page, next_cursor=page[-1].session_id if has_more and page else None)

    async def close_session(self, params: requests.SessionRequest) -> Model:
        """End the turn and the MCP servers of a session. The chat stays."""
        session = self._get_session(params.session_id)
        await session.end_prompts()
        await self._forget(session)
        return requests.DONE

    async def delete(self, params: requests.SessionRequest) -> Model:
        """Delete a session and its chat. Succeeds also for a session that does not exist."""
        session = self.open_sessions.get(params.session_id)
        if session is not None:
            await session.end_prompts()
        hosts = [session.host] if session is not None else await self._hosts.list_all()
        # Every host can read the rows of all workspaces, because they are in the same database file.
        row = await hosts[0].chats.read_row(params.session_id) if hosts else None
        if row is not None:
            # A chat is deleted by the host of its own workspace.
            owner = next((host for host in hosts if host.store.workspace == row.workspace), None)
            owner = owner or await self._hosts.open(Path(row.workspace))
            await owner.chat_operations.delete(params.session_id)
        if session is not None:
            await self._forget(session)
        return requests.DONE

    async def prompt(self, params: requests.PromptRequest) -> requests.EndedTurn:
        """Answer a prompt when its turn has ended."""
        return await self._get_session(params.session_id).prompt(params.prompt)

    async def set_mode(self, params: requests.SetModeRequest) -> Model:
        """Choose another agent."""
        session = self._get_session(params.session_id)
        _, options = await session.choose(settings.choose_mode(session.host, session.choice, params.mode_id))
        session.queue(options)
        return requests.DONE

    async def set_option(self, params: requests.SetOptionRequest) -> requests.ChangedOptions:
        """Choose the value of an option."""
        session = self._get_session(params.session_id)
        choice = await settings.choose_option(session.host, session.choice, session.id, params.config_id, params.value)
        is_other_mode = choice.agent != session.choice.agent
        await session.choose(choice)
        opened = await session.describe()
        if is_other_mode:
            session.queue_mode(opened)
        return requests.ChangedOptions(config_options=opened.config_options)

    # -- helpers

    async def _find_host(self, cwd: str) -> tuple[Host, Path]:
        """Return the host for a working directory, and the real path of the directory. Raises: RemoteError."""
        path = Path(cwd)
        if "\0" in cwd or not path.is_absolute():
            raise RemoteError("cwd must be an absolute path", ErrorCode.INVALID_PARAMS)
        try:
            real = await asyncio.to_thread(path.resolve)
            is_folder = await asyncio.to_thread(real.is_dir)
        except (OSError, RuntimeError, ValueError) as error:
            raise RemoteError(f"cwd is not a usable path: {error}", ErrorCode.INVALID_PARAMS) from error
        if not is_folder:
            raise RemoteError(f"cwd is not a folder: {cwd}", ErrorCode.INVALID_PARAMS)
        try:
            host = await self._hosts.open(real)
        except ConfigError as error:
            raise RemoteError(str(error)) from error
        if host not in self._subscribers:
            subscriber = self._subscribers[host] = AcpSubscriber(host, self._client, self.open_sessions)
            host.connect(subscriber)
        return host, real

    async def _open(self, session: AcpSession, params: requests.NewSessionRequest) -> requests.OpenedSession:
        """Add a session, start its MCP servers, and return what the client can choose."""
        opened = await session.describe()
        self.open_sessions[session.id] = session
        warnings = self._warnings.setdefault(session.id, [])
        if params.mcp_servers and not self._client.access.may_approve:
            warnings.append(_SERVERS_NOT_STARTED)
        elif params.mcp_servers:
            warn = partial(self._client.warn, session=session.id)
            session.use_servers(ClientServers(session.host, session.id, session.folder, params.mcp_servers, warn))
        if session.host not in self._announced:
            self._announced.add(session.host)
            warnings += [f"{describe_held_settings(held)} {_HOW_TO_TRUST}" for held in session.host.config.held_back]
        return opened

    async def _reopen(self, params: requests.OpenSessionRequest, *, replay: bool) -> requests.OpenedSession:
        """Open a session that exists. With `replay`, send its history before the answer."""
        host, folder = await self._find_host(params.cwd)
        earlier = self.open_sessions.get(params.session_id)
        session = AcpSession(self._client, host, params.session_id, folder)
        if earlier is None or await host.chats.read_row(params.session_id) is not None:
            await session.load_chat()
        elif earlier.host is host:
            session.choice = earlier.choice  # there was no prompt in the session, so its chat is not stored
        else:
            raise RemoteError(
                f"there is no session {params.session_id[:80]!r} in {folder}", AcpErrorCode.RESOURCE_NOT_FOUND
            )
        if earlier is not None:
            await earlier.end_prompts()
            await self._forget(earlier)
        async with self._client.replaying(session.id) as send:
            self.open_sessions[session.id] = session
            for update in await session.read_past(replay=replay):
                await send(update)
        return await self._open(session, params)

    async def _forget(self, session: AcpSession) -> None:
        """Close a session, unless it was closed already."""
        if self.open_sessions.get(session.id) is session:
            del self.open_sessions[session.id]
            await session.close()
            session.restart_timers()

    def _get_session(self, id: str) -> AcpSession:
        """Return an open session. Raises: RemoteError."""
        if id not in self.open_sessions:
            raise RemoteError(f"there is no open session {id[:80]!r}", AcpErrorCode.RESOURCE_NOT_FOUND)
        return self.open_sessions[id]


def _describe_row(host: Host, row: ChatRow) -> requests.SessionEntry:
    """Describe a stored chat as a session."""
    updated = datetime.fromtimestamp(row.updated / 1000, UTC).isoformat(timespec="seconds")
    cwd = row.folder or str(host.workspace.files.start)
    return requests.SessionEntry(session_id=row.id, cwd=cwd, title=row.title, updated_at=updated)


HANDLERS: Final[Mapping[str, Callable[[AcpSessions, Any], Awaitable[Model]]]] = {
    "session/new": AcpSessions.open_new,
    "session/load": AcpSessions.load,
    "session/resume": AcpSessions.resume,
    "session/list": AcpSessions.list_sessions,
    "session/close": AcpSessions.close_session,
    "session/delete": AcpSessions.delete,
    "session/prompt": AcpSessions.prompt,
    "session/set_mode": AcpSessions.set_mode,
    "session/set_config_option": AcpSessions.set_option,
}
"""The functions that answer the requests about sessions, by method."""
