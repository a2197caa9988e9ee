"""One login by OAuth: the SDK does the protocol, this is where the browser comes back to and where tokens are."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config import McpServerConfig

_PAGE: Final = b"<!doctype html><title>Logged in</title><p>You are logged in. This page can be closed."
_PATH: Final = "/callback"


class Login:
    """The SDK's token storage, too. Raises: OSError when the port is taken."""

    def __init__(self, settings: McpServerConfig, show: Callable[[str], None]) -> None:
        self.tokens: OAuthToken | None = None
        self._show = show
        self._socket = socket.create_server(("127.0.0.1", settings.oauth_port or 0))
        self._listener: asyncio.Server | None = None
        self._came_back: asyncio.Future[AuthorizationCodeResult] | None = None
        back = AnyUrl(f"http://127.0.0.1:{self._socket.getsockname()[1]}{_PATH}")
        self._client = _registered(settings, back)
        self.provider = OAuthClientProvider(
            settings.url or "",
            OAuthClientMetadata(
                redirect_uris=[back], client_name=settings.client_name or "jupyter-eca", scope=settings.auth_scope
            ),
            self,
            redirect_handler=self._send,
            callback_handler=self._wait,
        )

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        self._socket.close()

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self._client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self._client = client_info

    async def _send(self, url: str) -> None:
        self._came_back = asyncio.get_running_loop().create_future()
        if self._listener is None:
            self._listener = await asyncio.start_server(self._answer, sock=self._socket)
        self._show(url)

    async def _wait(self) -> AuthorizationCodeResult:
        assert self._came_back is not None  # noqa: S101  # the SDK sends before it waits
        return await self._came_back

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One request of a browser; only the one that brings a code counts."""
        try:
            target = (await reader.readline()).decode("latin-1").split(" ")[1:2]
            query = parse_qs(urlsplit(target[0]).query) if target else {}
            found = {name: query[name][0] for name in ("code", "state", "iss") if name in query}
            good = bool(target) and urlsplit(target[0]).path == _PATH and "code" in found
            head = b"HTTP/1.1 200 OK" if good else b"HTTP/1.1 404 Not Found"
            body = _PAGE if good else b""
            length = str(len(body)).encode()
            writer.write(head + b"\r\nContent-Type: text/html\r\nContent-Length: " + length)
            writer.write(b"\r\nConnection: close\r\n\r\n" + body)
            await writer.drain()
            if good and self._came_back is not None and not self._came_back.done():
                self._came_back.set_result(AuthorizationCodeResult.model_validate(found))
        except (ConnectionError, ValueError):
            """A browser that left, or no browser at all."""
        finally:
            writer.close()


def _registered(settings: McpServerConfig, back: AnyUrl) -> OAuthClientInformationFull | None:
    """A client that was registered by hand."""
    if settings.client_id is None:
        return None
    secret = settings.client_secret.get_secret_value() if settings.client_secret else None
    return OAuthClientInformationFull(client_id=settings.client_id, client_secret=secret, redirect_uris=[back])
