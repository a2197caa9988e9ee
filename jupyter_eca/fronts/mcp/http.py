"""Owns the transport of MCP over HTTP (its "streamable HTTP": requests whose responses may be streams), as an ASGI
application.

It must not check whether a request is allowed: Jupyter or `fronts/http/gate.py` has done this before. `server.py` has
the methods.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette import sse

from jupyter_eca.fronts.mcp.server import McpFront

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from jupyter_eca.fronts.mcp.offers_base import Backend


def skip_shutdown_watcher() -> None:
    """Keep `sse_starlette`, which writes streams, from checking twice a second whether uvicorn is ending.

    In a Jupyter server there is no uvicorn, and nothing would end the task that checks. Our streams end with the
    application in any case.
    """
    state = sse._get_shutdown_state()  # pyright: ignore[reportPrivateUsage]  # there is no other way
    state.watcher_started = True


@asynccontextmanager
async def open_application(backend: Backend) -> AsyncGenerator[ASGIApp]:
    """Yield the application that serves a backend. Its sessions and calls end with the context."""
    front = McpFront(backend)
    manager = StreamableHTTPSessionManager(front.server)
    async with front.running(), manager.run():
        yield Application(manager)


class Application:
    """The ASGI application. A session can be used only by the user who began it. The scope has the user's name as
    `user`."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request to the SDK, with the name of the user."""
        if name := scope.get("user"):
            # This is not a real token, because Jupyter has already authenticated the user. The SDK compares it only, to
            # keep the sessions of different users apart.
            token = AccessToken(token="", client_id=str(name), scopes=[])
            scope = {**scope, "user": AuthenticatedUser(token)}
        await self._manager.handle_request(scope, receive, send)
