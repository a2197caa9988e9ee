"""Owns the methods of ECA on MCP servers: add, change, remove, start and stop a server, sign in to it and out of it,
read its log, find its files. MCP is the Model Context Protocol, and its servers are programs that offer tools. All
clients are notified of a changed server by `tool/serverUpdated`.

It must not know how a server runs: `mcp_client/` does.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.editing import ConfigFiles
from jupyter_eca.errors import LocalError, McpRefusal, RemoteError
from jupyter_eca.fronts.eca.config_rights import (
    check_may_change_config,
    check_may_handle_servers,
    find_config_sources,
)
from jupyter_eca.protocol import mcp
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.protocol.base import Model

    Handler = Callable[[EcaSession, mcp.McpServerParams], None]

_log = logging.getLogger(__name__)


async def add(session: EcaSession, params: mcp.McpAddServerParams) -> mcp.McpAddServerResult:
    """Add a server to the configuration, and start it. If that is impossible, the result says why."""
    check_may_change_config(session)
    try:
        return mcp.McpAddServerResult(server=session.describe_server(await session.host.mcp.add(params)))
    except LocalError as error:
        return mcp.McpAddServerResult(error=_make_error(error))


async def update(session: EcaSession, params: mcp.McpUpdateServerParams) -> Done:
    """Change a server in the configuration."""
    check_may_change_config(session)
    await session.host.mcp.update(params)
    return Done()


async def remove(session: EcaSession, params: mcp.McpServerParams) -> mcp.McpRemoveServerResult:
    """Remove a server from the configuration. If that is impossible, the result says why."""
    check_may_change_config(session)
    try:
        await session.host.mcp.remove(params.name)
    except LocalError as error:
        return mcp.McpRemoveServerResult(name=params.name, error=_make_error(error))
    return mcp.McpRemoveServerResult(name=params.name, removed=True)


def start(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Start a server."""
    _call_and_log_error(lambda: session.host.mcp.start(params.name))


def stop(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Stop a server."""
    _call_and_log_error(lambda: session.host.mcp.stop(params.name))


def logout(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Sign out of a server."""
    session.start(_await_and_log_error(session.host.mcp.logout(params.name)))


def connect(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Sign in to a server in the user's browser, and connect to it. Show an error to this client."""

    async def try_to_connect() -> None:
        """Connect to the server, and show an error."""
        try:
            await session.host.mcp.connect(params.name, session.browser, session.say)
        except LocalError as error:
            session.say(MessageType.ERROR, str(error))

    session.start(try_to_connect())


def enable(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Enable a server in the configuration, and start it."""
    session.start(_await_and_log_error(session.host.mcp.enable(params.name)))


def disable(session: EcaSession, params: mcp.McpServerParams) -> None:
    """Disable a server in the configuration, and stop it."""
    session.start(_await_and_log_error(session.host.mcp.enable(params.name, enabled=False)))


async def read_log(session: EcaSession, params: mcp.McpServerParams) -> mcp.McpServerLogResult:
    """Return the last lines that a server has written to its log."""
    return mcp.McpServerLogResult(lines=session.host.mcp.read_log(params.name))


async def find_files(session: EcaSession, _params: Model) -> mcp.McpServerFilesResult:
    """Return the files that define the servers."""
    sources = find_config_sources(session.host)
    names = [server.name for server in session.host.mcp.list_servers()]

    def find() -> tuple[mcp.McpServerFiles, ...]:
        """Look for each server in all files. This reads the disk, so it runs in a thread."""
        to_name = ConfigFiles(sources).get_display_name
        return tuple(
            mcp.McpServerFiles(name=name, files=tuple(map(to_name, sources.find_defining_files(name))))
            for name in names
        )

    return mcp.McpServerFilesResult(servers=await asyncio.to_thread(find))


def _require_rights(handle: Handler) -> Handler:
    """Return the handler of a notification that only a client may send which may handle servers. Another client is
    told so, because a notification has no reply that could contain the error."""

    def handle_if_allowed(session: EcaSession, params: mcp.McpServerParams) -> None:
        """Handle the notification, or tell the client why not."""
        try:
            check_may_handle_servers(session)
        except RemoteError as error:
            session.say(MessageType.WARNING, str(error))
        else:
            handle(session, params)

    return handle_if_allowed


def _call_and_log_error(action: Callable[[], None]) -> None:
    """Call a function, and log an error. A notification has no reply that could contain the error."""
    try:
        action()
    except LocalError as error:
        _log.warning("%s", error)


async def _await_and_log_error(work: Awaitable[None]) -> None:
    """Wait for work, and log an error. See `_call_and_log_error`."""
    try:
        await work
    except LocalError as error:
        _log.warning("%s", error)


def _make_error(error: LocalError) -> mcp.McpError:
    """Return an error in the form that results contain."""
    return mcp.McpError(code=error.code if isinstance(error, McpRefusal) else "failed", message=str(error))


HANDLERS: Final = {
    "mcp/addServer": add,
    "mcp/updateServer": update,
    "mcp/removeServer": remove,
    "mcp/startServer": _require_rights(start),
    "mcp/stopServer": _require_rights(stop),
    "mcp/connectServer": _require_rights(connect),
    "mcp/logoutServer": _require_rights(logout),
    "mcp/enableServer": _require_rights(enable),
    "mcp/disableServer": _require_rights(disable),
    "mcp/serverLog": read_log,
    "mcp/serverFiles": find_files,
}
