"""Owns the bridge from Jupyter's HTTP handlers, which belong to Tornado, to the ASGI applications of our fronts (the
protocols in which other programs are served). The applications have Jupyter's own protection: the same login, the same
authorizer, and the same rules for requests from other origins.

It must not know the applications: `fronts/mount.py` has them.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from jupyter_server.base.handlers import APIHandler
from tornado.http1connection import HTTP1Connection
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from jupyter_eca.apps.server.authorization import RESOURCE, find_access, invents_users
from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.client_access import make_access_entry
from jupyter_eca.fronts.mount import UnknownFront

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.fronts.mount import FrontMount

    Message = MutableMapping[str, Any]


# The error for a program that sends no valid token.
_NO_USER: Final = (
    "Jupyter does not know you. Send its token as `Authorization: token TOKEN`; `jupyter server list` shows it."
)

# The methods that change nothing.
_READING_METHODS: Final = frozenset({"GET", "HEAD"})


class AsgiHandler(APIHandler):
    """One HTTP request to an ASGI application.

    Each message that the application sends is written and flushed at once. When the client leaves, the application
    receives `http.disconnect`.
    """

    auth_resource = RESOURCE
    _access: ClientAccess  # set by `prepare`

    def initialize(self, fronts: FrontMount) -> None:
        """Called by Tornado with the arguments of the route."""
        self._fronts = fronts
        self._client_left = asyncio.Event()
        self._body: bytes | None = self.request.body  # None after the application has received it

    async def prepare(self) -> None:
        """Check that the user may read the chats, and find out what else the user may do."""
        await super().prepare()
        if self.request.method == "OPTIONS":
            return
        # Jupyter does not require a user by default: each handler must check that.
        if not self.current_user:
            raise HTTPError(403)
        access = await find_access(self)
        if access is None:
            raise HTTPError(403)
        self._access = access

    async def get(self, front: str, *_args: str, **_kwargs: str) -> None:
        """Run the application of a front for this request."""
        try:
            application = await self._fronts.application(front)
            if not await self._fronts.checks_access(front):
                self._check_method()
        except UnknownFront as error:
            raise HTTPError(404, str(error)) from error
        except ConfigError as error:
            # Tornado formats the message with `%`.
            raise HTTPError(503, str(error).replace("%", "%%")) from error
        await application(self._build_scope(front), self._receive, self._send)

    head = post = put = patch = delete = get  # the application distinguishes the methods

    def _check_method(self) -> None:
        """Refuse a request that may change something, if the user may only read."""
        if not self._access.may_ask and self.request.method not in _READING_METHODS:
            raise HTTPError(403, self._access.reason.replace("%", "%%"))  # Tornado formats the message

    def on_connection_close(self) -> None:
        """Remember that the client has left. Called by Tornado."""
        self._client_left.set()

    def compute_etag(self) -> str | None:
        """Return None: an ETag is computed from the whole body, and this body is streamed."""
        return None

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Write an error in the form of FastAPI, which clients of the chat API expect."""
        error = (kwargs.get("exc_info") or (None, None))[1]
        detail = error.log_message if isinstance(error, HTTPError) else None
        if status_code == 403 and self.current_user is None and self.check_host():
            detail = _NO_USER  # Jupyter's text says that `_xsrf` is missing, but a program needs a token instead
        self.finish(json.dumps({"detail": detail or self._reason}))

    # -- ASGI

    def _build_scope(self, front: str) -> Message:
        """Return the ASGI scope of the request."""
        request = self.request
        host, _, port = request.host.rpartition(":")
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": request.protocol,
            "path": unquote(request.path),
            "raw_path": request.path.encode("latin-1"),
            "root_path": f"{unquote(self.base_url)}eca/{front}",
            "query_string": request.query.encode("latin-1"),
            "headers": [
                (name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in request.headers.get_all()
            ],
            "client": (request.remote_ip or "", 0),
            "server": (host or request.host, int(port) if port.isdigit() else None),
            "user": self._user_name,
            **make_access_entry(self._access),
        }

    @property
    def _user_name(self) -> str:
        """The name of the user, by which an application distinguishes sessions.

        If a token is all that is needed to use the server, Jupyter invents a new user for each request. All of these
        users are the same "owner".
        """
        return "owner" if invents_users(self.identity_provider) else self.current_user.username

    async def _receive(self) -> Message:
        """Return the next message for the application: first the body, then that the client has left."""
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._client_left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        """Send a message of the application to the client."""
        if self._client_left.is_set():
            return
        if message["type"] == "http.response.start":
            self._start_response(message)
            return
        try:
            self.write(message.get("body", b""))  # pyright: ignore[reportUnknownMemberType]  # a bare dict in Tornado
            if message.get("more_body"):
                self._send_small_packets()
                await self.flush()
            else:
                # Without a type Jupyter would write JSON. A redirection has no type.
                await self.finish(set_content_type=self._headers.get("Content-Type", "text/plain"))
        except StreamClosedError:
            self._client_left.set()

    def _send_small_packets(self) -> None:
        """Let each part of a stream leave at once. Otherwise the system holds a small part back until the client has
        confirmed the one before it, which a client may delay by 40 ms. Tornado resets this after the response."""
        connection = self.request.connection
        if isinstance(connection, HTTP1Connection) and connection.stream is not None:  # None when the client has left
            connection.stream.set_nodelay(True)

    def _start_response(self, message: Message) -> None:
        """Set the status and the headers of the response."""
        self.set_status(message["status"])
        self.clear_header("Content-Type")
        seen: set[str] = set()
        for raw_name, raw_value in message["headers"]:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            (self.add_header if name in seen else self.set_header)(name, value)
            seen.add(name)
        if self.settings.get("compress_response") and "Content-Length" not in self._headers:
            # A stream must not be compressed, because that would delay it. Tornado does not compress a response that
            # has an encoding.
            self.set_header("Content-Encoding", "identity")
