"""Owns which requests may reach a front where no Jupyter server checks them. It refuses in the contract's form. It must
not know the front. `server.py` listens.
"""

from __future__ import annotations

import hmac
import ipaddress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.types import ASGIApp, Receive, Scope, Send

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})
# These paths need no token: they show only that the server is up.
_OPEN: Final = frozenset({"/health", "/openapi.json", "/docs", "/"})


@dataclass(frozen=True, slots=True)
class Gate:
    """The rules for who may come in: `origins` of pages, each by its host name, and the token."""

    host: str = "127.0.0.1"
    origins: tuple[str, ...] = ()
    token: str = ""

    def __post_init__(self) -> None:
        """Check the rules. Raises: ConfigError if they would let anybody in."""
        if not (self.token or self.local):
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
    def local(self) -> bool:
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False


def add_gate(app: ASGIApp, gate: Gate) -> ASGIApp:
    """Put the gate before an application. CORS is outermost, so that a page can read why it was refused."""
    return CORSMiddleware(
        GateMiddleware(app, gate),
        allow_origins=gate.origins,
        allow_credentials=True,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["x-chat-id"],
    )


class GateMiddleware:
    """Refuses requests that may not come in."""

    def __init__(self, app: ASGIApp, gate: Gate) -> None:
        self._app = app
        self._gate = gate

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (refusal := self._refusal(Headers(scope=scope), scope["path"])):
            status, detail = refusal
            headers = {"www-authenticate": "Bearer"} if status == 401 else None
            await JSONResponse({"detail": detail}, status, headers)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _refusal(self, headers: Headers, path: str) -> tuple[int, str] | None:
        """Return status and reason, or None.

        An unknown host name is refused, because somebody else's name may have been made to point here (DNS rebinding).
        The origin is checked, because a page may send some requests to any origin without asking.
        """
        host = headers.get("host", "")
        if self._gate.local and _name(host) not in _LOOPBACK | {self._gate.host}:
            return 403, f"This server is not {host!r}."
        origin = headers.get("origin")
        if origin is not None and origin not in {*self._gate.origins, f"http://{host}"}:
            return 403, f"Pages of {origin} may not come here; --cors-origin allows it."
        token = headers.get("authorization", "").partition(" ")[2].strip()
        if (
            self._gate.token
            and path not in _OPEN
            and not hmac.compare_digest(token.encode(), self._gate.token.encode())
        ):
            return 401, "The token is wrong or missing: send `Authorization: Bearer TOKEN`."
        return None


def _name(host: str) -> str:
    """Return a host without its port."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def normalize_origins(origins: Sequence[str]) -> tuple[str, ...]:
    """Write origins as browsers do."""
    return tuple(origin.rstrip("/").lower() for origin in origins)
