"""Owns the authenticated WebSockets: ECA, and fronts whose clients hold a connection. A text frame is one message.

It must not know the protocols: `app.py` serves ECA, `fronts/mount.py` the fronts.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_eca.transport.websocket import WebSocketLink

if TYPE_CHECKING:
    from jupyter_server.auth.identity import IdentityProvider

    from jupyter_eca.apps.server.app import EcaServer


async def may_execute(handler: JupyterHandler) -> bool:
    """Return whether the authorizer lets the user do what the assistant can do."""
    from jupyter_core.utils import ensure_async

    return await ensure_async(
        handler.authorizer.is_authorized(handler, handler.current_user, "execute", EcaWebSocket.auth_resource)
    )


def may_approve(handler: JupyterHandler) -> bool:
    """Return whether the client may approve, and not only ask.

    A browser shows a cookie. A program shows a token, and the server's own token can be found by code in a kernel: in
    its environment (JupyterHub sets `JUPYTERHUB_API_TOKEN`), or in the file that Jupyter writes for `jupyter server
    list`. If a model wrote that code, it must not be able to approve itself. A token that only a person has, for
    example one that JupyterHub made for an editor, is as good as a cookie.
    """
    if not handler.token_authenticated or handler.settings["jupyter_eca_config"].approve_with_token:
        return True
    provider = handler.identity_provider
    return not is_own_token(provider, provider.get_token(handler))


def is_own_token(provider: IdentityProvider, token: str | None) -> bool:
    """Return whether a token is the server's own. A client may show it in a way that we do not know: then it counts as
    the server's own."""
    return token is None or token in {provider.token, *os.environ.values()}


# The order of bases is jupyter-server's own; its mixin is meant to override `check_origin`.
class EcaWebSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):  # pyright: ignore[reportIncompatibleMethodOverride]
    """`<base_url>eca/ws`. Jupyter checks the token or cookie, the origin of pages, and asks its authorizer."""

    auth_resource = "eca"

    def initialize(self, eca_server: EcaServer) -> None:
        self._eca_server = eca_server

    def set_default_headers(self) -> None:
        """Set no headers: those of the base class are for pages, and some do not belong to a WebSocket handshake."""

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        if not await self._may_execute():
            raise HTTPError(403)
        await super().get(*args, **kwargs)

    async def _may_execute(self) -> bool:
        return await may_execute(self)

    def open(self, *_args: str, **_kwargs: str) -> None:
        self._link = WebSocketLink(self._write, self.close)
        self._begin()

    def _begin(self) -> None:
        self._eca_server.start(self._link, origin=self._origin(), approves=may_approve(self))

    def _origin(self) -> str:
        """Return the address by which the user's browser reaches this server. A proxy may change the host that we see,
        but not the `Origin`."""
        for address in (self.request.headers.get("Origin", ""), self.request.full_url()):
            split = urlsplit(address)
            if split.scheme in {"http", "https"} and split.netloc:
                return f"{split.scheme}://{split.netloc}"
        raise HTTPError(400)

    async def _write(self, text: str) -> None:
        try:
            await self.write_message(text)
        except (WebSocketClosedError, StreamClosedError):
            self._link.end()

    def on_message(self, message: str | bytes) -> None:
        self._link.receive(message)

    def on_close(self) -> None:
        super().on_close()
        if hasattr(self, "_link"):
            self._link.end()


# One frame has to carry a file of 32 MiB in base64; Tornado ends a connection that sends more.
LARGEST_FRAME = 48 * 1024 * 1024


class FrontWebSocket(EcaWebSocket):  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
    """`<base_url>eca/NAME`: a front whose clients hold a WebSocket, through the same door."""

    @property
    def max_message_size(self) -> int:
        return LARGEST_FRAME

    def _begin(self) -> None:
        self._eca_server.start_child(
            self._eca_server.fronts.serve(self.path_args[0], self._link, approves=may_approve(self))
        )
