"""The front over streamable HTTP, as an ASGI application. Whoever serves it has checked who comes in."""

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


def end_of_streams_is_ours() -> None:
    """Streams end with the application. The library that writes them would look twice a second for the end of a uvicorn
    that is not there, in a task that nobody ends."""
    state = sse._get_shutdown_state()  # pyright: ignore[reportPrivateUsage]  # there is no other way
    state.watcher_started = True


@asynccontextmanager
async def application(backend: Backend) -> AsyncGenerator[ASGIApp]:
    """Sessions and calls end with it."""
    front = McpFront(backend)
    manager = StreamableHTTPSessionManager(front.server)
    async with front.running(), manager.run():
        yield Application(manager)


class Application:
    """A session belongs to whoever began it (`user` of the scope): to nobody else who may come in here as well."""

    def __init__(self, manager: StreamableHTTPSessionManager) -> None:
        self._manager = manager

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if name := scope.get("user"):
            # It is no token: whoever serves this has asked for one.
            known = AccessToken(token="", client_id=str(name), scopes=[])
            scope = {**scope, "user": AuthenticatedUser(known)}
        await self._manager.handle_request(scope, receive, send)
