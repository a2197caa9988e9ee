"""Owns the Unix socket over which outside agents reach our tools without a port. Only this user can open it. An outside
agent is another program that answers in our chats, such as Codex.

An agent starts its MCP servers itself, and talks to them over stdin and stdout. So we let it start the small program
`agent_pipe.py`, which passes the bytes on to the socket. The first line on a connection is the token of the
session, and each line after it is a message of MCP.

This module must not check tokens: `agent_endpoint.py` does. On Windows, asyncio has no Unix sockets, so outside agents
cannot use our tools in this way.
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.fronts.mcp import agent_pipe
from jupyter_eca.workspace.jobs.process_folder import make_process_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

_log = logging.getLogger(__name__)

# The seconds in which a new connection must send its token.
_TOKEN_SECONDS: Final = 10.0
# The longest message of an agent. Arguments of a tool may contain whole files.
_MAX_MESSAGE_BYTES: Final = 64 * 1024 * 1024


class AgentSocket:
    """A Unix socket that is opened when a session needs it for the first time."""

    def __init__(
        self,
        start: Callable[[Coroutine[Any, Any, None]], object],
        serve: Callable[[str, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    ) -> None:
        """`start` runs a coroutine as a task that ends with the program. `serve` serves one connection; it gets the
        token, which it has to check."""
        self._start = start
        self._serve = serve
        self._folder: Path | None = None  # the folder with the socket; None until it is opened
        self._closed = asyncio.Event()  # set when no more connections are accepted

    def provide_server(self, name: str, token: str) -> dict[str, Any] | None:
        """Open the socket if it is not open, and return the MCP server that an agent starts for its session, in the
        form of the Agent Client Protocol. Return None if there can be no socket."""
        if self._folder is None:
            if not hasattr(socket, "AF_UNIX"):
                return None
            try:
                self._folder, listening = _listen()
            except OSError as error:
                _log.warning("Outside agents cannot reach the notebook: there is no socket for them (%s).", error)
                return None
            self._start(self._accept(self._folder, listening))
        variables = {
            agent_pipe.SOCKET_VARIABLE: str(_get_socket_path(self._folder)),
            agent_pipe.TOKEN_VARIABLE: token,
        }
        return {
            "name": name,
            "command": sys.executable,
            # `-P`: the agent starts the program in the user's folder, where a module could have the name of ours.
            "args": ["-P", "-m", agent_pipe.__name__],
            "env": [{"name": variable, "value": value} for variable, value in variables.items()],
        }

    async def _accept(self, folder: Path, listening: socket.socket) -> None:
        """Accept connections until `close` is called, and then remove the socket."""
        server = await asyncio.start_unix_server(self._serve_connection, sock=listening, limit=_MAX_MESSAGE_BYTES)
        try:
            await self._closed.wait()
        finally:
            server.close()
            shutil.rmtree(folder, ignore_errors=True)

    async def _serve_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it ends or its session ends. If no token comes, close the connection."""
        try:
            async with asyncio.timeout(_TOKEN_SECONDS):
                token = await reader.readline()
            await self._serve(token.decode(errors="replace").strip(), reader, writer)
        except (TimeoutError, ValueError, ConnectionError) as error:
            _log.info("A connection of an outside agent has ended: %s", error or type(error).__name__)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    def close(self) -> None:
        """Accept no more connections, and remove the socket. This does not end the connections."""
        self._closed.set()


def _listen() -> tuple[Path, socket.socket]:
    """Return a new folder that only this user can enter, and the socket in it. Raises: OSError, for example when the
    path is too long for a socket."""
    try:
        return _listen_in(Path(tempfile.mkdtemp(dir=make_process_folder())))
    except OSError:
        # Systems allow paths of 104 or 108 characters. This path is shorter, but if our process is killed, nobody
        # removes this folder.
        return _listen_in(Path(tempfile.mkdtemp(prefix="eca-")))


def _listen_in(folder: Path) -> tuple[Path, socket.socket]:
    """Return a folder and the socket in it. Raises: OSError; then the folder is deleted."""
    listening = socket.socket(socket.AF_UNIX)
    try:
        listening.bind(str(_get_socket_path(folder)))
        listening.listen()
    except OSError:
        listening.close()
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder, listening


def _get_socket_path(folder: Path) -> Path:
    """Return the path of the socket in its folder."""
    return folder / "agents"
