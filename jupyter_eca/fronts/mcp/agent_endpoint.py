"""Owns the access of outside agents, such as Codex, to our tools. Each session has a token. The token gives access to
the tools for notebooks and kernels, for one chat, until the session ends. An agent never gets a token of Jupyter.

An agent that can connect to a URL uses `AgentEndpoint` as an ASGI application, which a Jupyter server serves
(`apps/server`). All other agents, and all agents outside of Jupyter, use a Unix socket (`agent_socket.py`).
`AgentEndpoint` implements `host.outside.outside_agents.ToolEndpoint`.
"""

from __future__ import annotations

import asyncio
import hmac
import importlib
import secrets
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction
from jupyter_eca.fronts.mcp.agent_socket import AgentSocket

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from jupyter_eca.host.host import Host


@asynccontextmanager
async def open_agent_endpoint(host: Host, tasks: asyncio.TaskGroup) -> AsyncGenerator[AgentEndpoint]:
    """Give the outside agents of a host access to its tools where there is no Jupyter server, while this context lasts.
    The connections of the agents run as tasks of `tasks`."""
    endpoint = AgentEndpoint(host, lambda: "", tasks.create_task)
    host.outside_agents.endpoint = endpoint
    try:
        yield endpoint
    finally:
        host.outside_agents.endpoint = None
        endpoint.close_all()


@dataclass(eq=False)
class _SessionAccess:
    """The access of one session."""

    chat: str
    """The chat of the session."""
    token: str
    """The token that each request of the agent must have."""
    application: asyncio.Future[ASGIApp] | None = None
    """The application that serves the session. It is opened with the first request."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when the session has ended."""


class AgentEndpoint:
    """The access of all sessions of one host."""

    def __init__(
        self, host: Host, find_url: Callable[[], str], start: Callable[[Coroutine[Any, Any, None]], object]
    ) -> None:
        """`find_url` returns the address of this application for programs on this machine, "" for none. `start` runs a
        coroutine as a task that ends with the program."""
        self._host = host
        self._find_url = find_url
        self._start = start
        self._accesses: dict[str, _SessionAccess] = {}  # by the id of the chat
        self._socket = AgentSocket(start, self._serve_connection)

    def open(self, chat: str, capabilities: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the MCP server for the session of a chat, in the form in which ACP describes it, as the only item of a
        list. An earlier access of the chat ends. The list is empty if the agent can use neither a URL nor a socket.
        `capabilities` are those that the agent has declared."""
        from jupyter_eca.host.outside.agent_turn import SERVER  # imported late: each Jupyter server loads this module

        self.close(chat)
        token = secrets.token_urlsafe(32)
        redaction.register_secret(token)
        url, transports = self._find_url(), capabilities.get("mcpCapabilities")
        if url and isinstance(transports, dict) and transports.get("http"):  # pyright: ignore[reportUnknownMemberType]  # JSON
            headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
            server = {"type": "http", "name": SERVER, "url": url, "headers": headers}
        else:
            server = self._socket.provide_server(SERVER, token)
        if server is None:
            return []
        self._accesses[chat] = _SessionAccess(chat, token)
        return [server]

    def close(self, chat: str) -> None:
        """End the access of a chat's session."""
        if (access := self._accesses.pop(chat, None)) is not None:
            access.closed.set()

    def close_all(self) -> None:
        """End the access of all sessions, and accept no new ones over the socket."""
        for chat in list(self._accesses):
            self.close(chat)
        self._socket.close()

    def _find_access(self, token: str) -> _SessionAccess | None:
        """Return the access of the session that has this token; None if there is none."""
        given = token.encode()
        found = [access for access in self._accesses.values() if hmac.compare_digest(access.token.encode(), given)]
        return found[0] if found else None

    async def _serve_connection(self, token: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a connection over the socket until its session ends. Return immediately if the token is not valid."""
        if (access := self._find_access(token)) is None:
            return
        # The import of the SDK takes half a second.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.line_streams")
        from jupyter_eca.fronts.mcp.agent_backend import AgentBackend
        from jupyter_eca.fronts.mcp.line_streams import serve_lines

        await serve_lines(AgentBackend(self._host, access.chat), reader, writer, access.closed)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of an agent. Without a valid token it is refused."""
        headers = dict(scope["headers"])
        scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
        access = self._find_access(token.strip()) if scheme.lower() == "bearer" else None
        if access is None:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"The token is wrong, or its session has ended."})
            return
        application = await self._find_application(access)
        # `user` is the owner of the MCP session, see `http.Application`. Here the chat takes the place of a user.
        await application({**scope, "user": access.chat}, receive, send)

    async def _find_application(self, access: _SessionAccess) -> ASGIApp:
        """Return the application of a session. Open it if it is not open."""
        if access.application is None:
            access.application = asyncio.get_running_loop().create_future()
            self._start(self._keep_open(access, access.application))
        return await asyncio.shield(access.application)

    async def _keep_open(self, access: _SessionAccess, opened: asyncio.Future[ASGIApp]) -> None:
        """Serve a session until its access ends. The result of `opened` becomes the application that serves it."""
        # The import of the SDK takes half a second.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.http")
        from jupyter_eca.fronts.mcp.agent_backend import AgentBackend
        from jupyter_eca.fronts.mcp.http import open_application, skip_shutdown_watcher

        skip_shutdown_watcher()
        async with open_application(AgentBackend(self._host, access.chat)) as application:
            if not opened.done():
                opened.set_result(application)
            await access.closed.wait()
