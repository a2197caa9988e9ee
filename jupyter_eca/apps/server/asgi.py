"""Owns ASGI applications behind Jupyter's own door: same login, same authorizer, same rules for other origins.

It must not know the applications: `fronts/mount.py` does.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from jupyter_core.utils import ensure_async
from jupyter_server.auth.identity import IdentityProvider
from jupyter_server.base.handlers import APIHandler
from tornado.iostream import StreamClosedError
from tornado.web import HTTPError

from jupyter_eca.apps.server.handlers import may_approve
from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.mount import UnknownFront

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from jupyter_eca.fronts.mount import FrontMount

    Message = MutableMapping[str, Any]


_NO_USER: Final = (
    "Jupyter does not know you. Send its token as `Authorization: token TOKEN`; `jupyter server list` shows it."
)


class AsgiHandler(APIHandler):
    """One HTTP request. A message of the application is one write and one flush; a client that leaves is
    `http.disconnect`.
    """

    auth_resource = "eca"

    def initialize(self, fronts: FrontMount) -> None:
        self._fronts = fronts
        self._left = asyncio.Event()
        self._body: bytes | None = self.request.body

    async def prepare(self) -> None:
        await super().prepare()
        if self.request.method == "OPTIONS":
            return
        # Jupyter leaves this to each handler, unless it is configured otherwise.
        if not self.current_user:
            raise HTTPError(403)
        # As for the WebSocket: a user who may chat can run tools.
        if not await ensure_async(
            self.authorizer.is_authorized(self, self.current_user, "execute", self.auth_resource)
        ):
            raise HTTPError(403)

    async def get(self, front: str, *_args: str, **_kwargs: str) -> None:
        try:
            application = await self._fronts.application(front)
        except UnknownFront as error:
            raise HTTPError(404, str(error)) from error
        except ConfigError as error:
            raise HTTPError(503, str(error).replace("%", "%%")) from error
        await application(self._scope(front), self._receive, self._send)

    head = post = put = patch = delete = get

    def on_connection_close(self) -> None:
        self._left.set()

    def compute_etag(self) -> str | None:
        """Write no ETag: it would be computed of a body that streams."""
        return None

    def write_error(self, status_code: int, **kwargs: Any) -> None:
        """Write an error as FastAPI does, which clients of the chat contract know."""
        error = (kwargs.get("exc_info") or (None, None))[1]
        detail = error.log_message if isinstance(error, HTTPError) else None
        if status_code == 403 and self.current_user is None and self.check_host():
            detail = _NO_USER  # Jupyter would say that `_xsrf` is missing, which such a client does not need
        self.finish(json.dumps({"detail": detail or self._reason}))

    # -- ASGI

    def _scope(self, front: str) -> Message:
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
            "approves": may_approve(self),
        }

    @property
    def _user_name(self) -> str:
        """The user, by whom an application tells one session from another.

        If everybody with the token may use the server, Jupyter makes up a new user for each request: they all count as
        the owner.
        """
        provider = type(self.identity_provider)
        made_up = provider.get_user is IdentityProvider.get_user and _user_hook(provider) is _user_hook(
            IdentityProvider
        )
        return "owner" if made_up else self.current_user.username

    async def _receive(self) -> Message:
        if self._body is not None:
            body, self._body = self._body, None
            return {"type": "http.request", "body": body, "more_body": False}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self._left.is_set():
            return
        if message["type"] == "http.response.start":
            self._start(message)
            return
        try:
            self.write(message.get("body", b""))  # pyright: ignore[reportUnknownMemberType]  # a bare dict in Tornado
            if message.get("more_body"):
                await self.flush()
            else:
                # Jupyter would set the type to JSON; a redirection has none.
                await self.finish(set_content_type=self._headers.get("Content-Type", "text/plain"))
        except StreamClosedError:
            self._left.set()

    def _start(self, message: Message) -> None:
        self.set_status(message["status"])
        self.clear_header("Content-Type")
        seen: set[str] = set()
        for raw_name, raw_value in message["headers"]:
            name, value = raw_name.decode("latin-1"), raw_value.decode("latin-1")
            (self.add_header if name in seen else self.set_header)(name, value)
            seen.add(name)
        if self.settings.get("compress_response") and "Content-Length" not in self._headers:
            # A stream must not be compressed; Tornado does not compress what has an encoding.
            self.set_header("Content-Encoding", "identity")


def _user_hook(provider: type[IdentityProvider]) -> object:
    """Return the method by which a Hub finds the user, private or not."""
    return provider._get_user  # pyright: ignore[reportPrivateUsage]
