"""Owns the front over streamable HTTP, as an ASGI application.

It must not check who may come in: Jupyter's authentication or `fronts/http/gate.py` has done that.
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
    """Stop the library that writes streams from looking for the end of uvicorn twice a second.

    There may be no uvicorn, nobody would end that task, and streams end with the application anyway.
    """
    state = sse._get_shutdown_state()  # pyright: ignore[reportPrivateUsage]  # there is no other way
    state.watcher_started = True


@asynccontextmanager
async def application(backend: Backend) -> AsyncGenerator[ASGIApp]:
    """Yield the application. Its sessions and calls end with the context."""
    front = McpFront(backend)
    manager = StreamableHTTPSessionManager(front.server)
    async with front.running(), manager.run():
        yield Application(manager)


class Application:
    """The ASGI application. A session belongs to the user (`user` of the scope) who began it, and to nobody else."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if name := scope.get("user"):
            # This is not a real token: Jupyter's door has checked the user.
            known = AccessToken(token="", client_id=str(name), scopes=[])
            scope = {**scope, "user": AuthenticatedUser(known)}
        await self._manager.handle_request(scope, receive, send)
