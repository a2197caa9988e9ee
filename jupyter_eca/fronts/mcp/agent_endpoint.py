"""Owns the access of outside agents to our tools: an address with a token for each session. The token opens the tools
for notebooks and kernels, for one chat, and ends with the session. An agent never gets a token of Jupyter.

It implements `host.outside.outside_agents.Endpoint`, and is an ASGI application. It must not know who serves it: a
Jupyter server does (`apps/server`), or a port of its own (`agent_port.py`).
"""

from __future__ import annotations

import asyncio
import hmac
import importlib
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

    from starlette.types import ASGIApp, Receive, Scope, Send

    from jupyter_eca.host.host import Host


@dataclass(eq=False)
class _Access:
    """The access of one session."""

    chat: str
    token: str
    application: asyncio.Future[ASGIApp] | None = None
    """The application that serves the session. It is opened with the first request."""
    closed: asyncio.Event = field(default_factory=asyncio.Event)


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
        self._accesses: dict[str, _Access] = {}

    def open(self, chat: str, capabilities: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the MCP server for the session of a chat. An earlier access of the chat ends. There is none for an
        agent that does not connect to addresses."""
        from jupyter_eca.host.outside.agent_turn import SERVER  # not before: each Jupyter server loads this module

        self.close(chat)
        url, found = self._find_url(), capabilities.get("mcpCapabilities")
        if not url or not (isinstance(found, dict) and found.get("http")):  # pyright: ignore[reportUnknownMemberType]  # JSON
            return []
        token = secrets.token_urlsafe(32)
        redaction.register_secret(token)
        self._accesses[chat] = _Access(chat, token)
        headers = [{"name": "Authorization", "value": f"Bearer {token}"}]
        return [{"type": "http", "name": SERVER, "url": url, "headers": headers}]

    def close(self, chat: str) -> None:
        """End the access of a chat's session."""
        if (access := self._accesses.pop(chat, None)) is not None:
            access.closed.set()

    def close_all(self) -> None:
        """End the access of all sessions."""
        for chat in list(self._accesses):
            self.close(chat)

    def find_access(self, authorization: str) -> _Access | None:
        """Return the access that a header opens; None for none."""
        scheme, _, token = authorization.partition(" ")
        given = token.strip().encode()
        found = [access for access in self._accesses.values() if hmac.compare_digest(access.token.encode(), given)]
        return found[0] if found and scheme.lower() == "bearer" else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request of an agent. Without a valid token it is refused."""
        headers = dict(scope["headers"])
        access = self.find_access(headers.get(b"authorization", b"").decode("latin-1"))
        if access is None:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-type", b"text/plain")]})
            await send({"type": "http.response.body", "body": b"The token is wrong, or its session has ended."})
            return
        application = await self._find_application(access)
        await application({**scope, "user": access.chat}, receive, send)

    async def _find_application(self, access: _Access) -> ASGIApp:
        """Return the application of a session. Open it if it is not open."""
        if access.application is None:
            access.application = asyncio.get_running_loop().create_future()
            self._start(self._keep_open(access, access.application))
        return await asyncio.shield(access.application)

    async def _keep_open(self, access: _Access, opened: asyncio.Future[ASGIApp]) -> None:
        """Serve a session until its access ends."""
        # The import of the SDK takes half a second.
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.http")
        from jupyter_eca.fronts.mcp.agent_backend import AgentBackend
        from jupyter_eca.fronts.mcp.http import application, skip_shutdown_watcher

        skip_shutdown_watcher()
        async with application(AgentBackend(self._host, access.chat)) as served:
            if not opened.done():
                opened.set_result(served)
            await access.closed.wait()
