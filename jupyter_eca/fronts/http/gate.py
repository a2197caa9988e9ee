"""Owns the check of requests to a front where no Jupyter server checks them: host name, origin and token.

A refusal has the form of the REST contract, `{"detail": "..."}`. This module must not know the front. `server.py`
listens on the port.
"""

from __future__ import annotations

import hmac
import ipaddress
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

# The host names of this machine.
_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# These paths need no token. They show only that the server runs, and which operations it has.
_PUBLIC_PATHS: Final = frozenset({"/health", "/openapi.json", "/docs", "/"})


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules that a request must meet."""

    host: str = "127.0.0.1"
    """The address that the server listens on."""

    origins: tuple[str, ...] = ()
    """The origins of web pages that may send requests, such as `http://localhost:3000`."""

    token: str = ""
    """The token that each request must have; "" for none. Only a server on a loopback address may have no token."""

    def __post_init__(self) -> None:
        """Check the rules. Raises: ConfigError if they would allow requests of anybody."""
        if not (self.token or self.is_local):
            raise ConfigError(
                f"{self.host} can be reached by others: anybody could chat and run tools as you. Give a token "
                "(JUPYTER_ECA_REST_TOKEN in the environment), or listen on 127.0.0.1."
            )
        for origin in self.origins:
            parts = urlsplit(origin)
            if f"{parts.scheme}://{parts.netloc}" != origin or not parts.netloc or "*" in origin:
                raise ConfigError(
                    f"{origin!r} is not an origin. One looks like http://localhost:3000; `*` would let anybody in."
                )

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can reach the server."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def add_gate(app: ASGIApp, gate: Gate) -> ASGIApp:
    """Put the gate in front of an application. The CORS middleware is the outermost, so that a web page can read why it
    was refused."""
    return CORSMiddleware(
        GateMiddleware(app, gate),
        allow_origins=gate.origins,
        allow_credentials=True,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["x-chat-id"],  # the header in which the REST front sends the id of a chat
    )


class GateMiddleware:
    """An ASGI middleware that refuses requests which do not meet the rules."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it to the application."""
        if scope["type"] == "http" and (refusal := self._find_refusal(Headers(scope=scope), scope["path"])):
            status, detail = refusal
            headers = {"www-authenticate": "Bearer"} if status == 401 else None
            await JSONResponse({"detail": detail}, status, headers)(scope, receive, send)
            return
        with suppress(ClientDisconnect):  # nobody is left who could be answered
            await self._app(scope, receive, send)

    def _find_refusal(self, headers: Headers, path: str) -> tuple[int, str] | None:
        """Return the HTTP status and the reason of a refusal; None if the request is allowed.

        An unknown host name is refused, because an attacker can make a name of their own point to this machine (DNS
        rebinding). The origin is checked, because a browser sends some requests of a page to any server without asking
        it first.
        """
        host = headers.get("host", "")
        if self._gate.is_local and _strip_port(host) not in _LOOPBACK | {self._gate.host}:
            return 403, f"This server is not {host!r}."
        origin = headers.get("origin")
        if origin is not None and origin not in {*self._gate.origins, f"http://{host}"}:
            return 403, f"Pages of {origin} may not come here; --cors-origin allows it."
        token = headers.get("authorization", "").partition(" ")[2].strip()
        if (
            self._gate.token
            and path not in _PUBLIC_PATHS
            and not hmac.compare_digest(token.encode(), self._gate.token.encode())
        ):
            return 401, "The token is wrong or missing: send `Authorization: Bearer TOKEN`."
        return None


def _strip_port(host: str) -> str:
    """Return the host name of a `Host` header, without the port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def normalize_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Return the origins in the form in which browsers send them."""
    return tuple(origin.rstrip("/").lower() for origin in origins)
