"""Owns the authenticated WebSockets: for ECA (the protocol of the panel and of editors), and for the fronts of other
protocols whose clients use a WebSocket. A text frame is one message.

It must not know the protocols: `eca_server.py` serves ECA, `fronts/mount.py` serves the fronts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from jupyter_server.auth.decorator import ws_authenticated
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.base.websocket import WebSocketMixin
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from jupyter_eca.apps.server.authorization import RESOURCE, find_access
from jupyter_eca.transport.websocket import WebSocketLink

if TYPE_CHECKING:
    from jupyter_eca.apps.server.eca_server import EcaServer


# The largest frame that is accepted, in characters. A frame may carry a file of 32 MiB in base64, in which a character
# is a byte.
LARGEST_FRAME = 48 * 1024 * 1024

# The largest number of clients that may be connected at the same time. Each open page and each editor is a client.
# There are more only if a program opens connections and closes none.
MAX_CONNECTIONS = 1_000

# Seconds between two pings. A client that has not answered one before the next is disconnected. A laptop that has moved
# to another network, or a router that has forgotten a connection, closes nothing: without pings such a client would
# count as present for ever, and calls would wait for its approval. Proxies end connections that are silent for 60 s.
PING_SECONDS = 30

# The connections that are open now.
_OPEN: set[WebSocketHandler] = set()


# The order of bases is jupyter-server's own; its mixin is meant to override `check_origin`.
class EcaWebSocket(WebSocketMixin, WebSocketHandler, JupyterHandler):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Handles `<base_url>eca/ws`. Jupyter checks the token or cookie, and the origin of pages. Then its authorizer
    decides."""

    auth_resource = RESOURCE

    def initialize(self, eca_server: EcaServer) -> None:
        """Called by Tornado with the arguments of the route."""
        self._eca_server = eca_server

    def set_default_headers(self) -> None:
        """Set no headers. The headers of the base class are for pages, and some must not be in a WebSocket
        handshake."""

    @ws_authenticated
    async def get(self, *args: Any, **kwargs: Any) -> None:
        """Answer the handshake, if the user may read the chats. What else the user may do is decided here too."""
        access = await find_access(self)
        if access is None:
            raise HTTPError(403)
        self._access = access
        await super().get(*args, **kwargs)

    def open(self, *_args: str, **_kwargs: str) -> None:
        """Start the session. Called by Tornado when the connection is open."""
        if len(_OPEN) >= MAX_CONNECTIONS:
            self.close(1013, f"{MAX_CONNECTIONS} clients are connected, and no more can be. Close one of them.")
            return
        _OPEN.add(self)
        # Without this, the system holds a small message back until the client has confirmed the one before it, which a
        # client may delay by 40 ms (Nagle's algorithm and delayed acknowledgements).
        self.set_nodelay(True)
        self._link = WebSocketLink(self._write, self._close)
        self._start_session()

    def _start_session(self) -> None:
        """Serve the link. A subclass may serve another protocol."""
        session = self._eca_server.serve(self._link, origin=self._find_origin(), access=self._access)
        self._eca_server.start_child(session)

    def _find_origin(self) -> str:
        """Return the scheme, host and port by which the user's browser reaches this server. The header `Origin` is read
        first, because a proxy may change the host of the request, but not this header."""
        for address in (self.request.headers.get("Origin", ""), self.request.full_url()):
            split = urlsplit(address)
            if split.scheme in {"http", "https"} and split.netloc:
                return f"{split.scheme}://{split.netloc}"
        raise HTTPError(400)

    async def _write(self, text: str) -> None:
        """Send a message. If the client has left, end the link."""
        try:
            await self.write_message(text)
        except (WebSocketClosedError, StreamClosedError):
            self._link.end()

    def _close(self, reason: str) -> None:
        """Close the connection. If there is a reason, tell it to the client, and log it."""
        if not reason:
            self.close()
            return
        self.log.warning("A client of %s was disconnected: %s", self.request.path, reason)
        self.close(1013, reason)  # 1013: try again later

    # Tornado reads these two properties, in seconds, and pings. Those of Jupyter's mixin are in milliseconds: with them
    # Tornado would ping every eight hours. The mixin's own pings begin in its `open`, which we do not call.

    @property
    def ping_interval(self) -> float:
        """The seconds between two pings: those that the administrator has set for all WebSockets, or our own."""
        return self.settings.get("websocket_ping_interval") or PING_SECONDS

    @property
    def ping_timeout(self) -> float:
        """The seconds in which a client must answer a ping; Tornado allows no more than the interval."""
        return min(self.settings.get("websocket_ping_timeout") or self.ping_interval, self.ping_interval)

    @property
    def max_message_size(self) -> int:
        """The largest message that Tornado reads. If a message is larger, Tornado resets the connection, and the client
        does not learn why. So this is more than we accept, and `on_message` closes the connection with a reason.
        """
        return 2 * LARGEST_FRAME

    def on_message(self, message: str | bytes) -> None:
        """Pass a message to the session. Close the connection if it is too large."""
        if self not in _OPEN:
            return
        if len(message) > LARGEST_FRAME:
            self._link.end()
            self.close(1009, f"The message is larger than {LARGEST_FRAME} characters. Send a smaller one.")
            return
        self._link.receive(message)

    def on_close(self) -> None:
        """End the link, and with it the session."""
        super().on_close()
        _OPEN.discard(self)
        if hasattr(self, "_link"):
            self._link.end()


class FrontWebSocket(EcaWebSocket):  # pyright: ignore[reportIncompatibleMethodOverride]  # as above
    """Handles `<base_url>eca/NAME`, for a front whose clients use a WebSocket. The checks are those of
    `EcaWebSocket`."""

    def _start_session(self) -> None:
        """Serve the link with the front that the path names."""
        self._eca_server.start_child(self._eca_server.fronts.serve(self.path_args[0], self._link, access=self._access))
