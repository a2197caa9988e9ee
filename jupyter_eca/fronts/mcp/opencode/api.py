"""Owns requests to OpenCode's HTTP API: the answer as JSON, or an error that says what to do."""

from __future__ import annotations

import asyncio
import ipaddress
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import httpx2

from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.mcp.offers_base import RefusedCall

if TYPE_CHECKING:
    from collections.abc import Mapping

URL: Final = "http://localhost:4096"
# A timeout in milliseconds, as in the environment: a model may take that long to answer.
PATIENCE: Final = "120000"
USER: Final = "opencode"


class Api:
    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read the environment. Raises: ConfigError if it makes no sense."""
        self.url = environment.get("OPENCODE_SERVER_URL", URL).rstrip("/")
        patience = environment.get("OPENCODE_TIMEOUT", PATIENCE)
        if not (patience.isascii() and patience.isdecimal() and int(patience)):
            raise ConfigError(f"OPENCODE_TIMEOUT is {patience!r}; it is a number of milliseconds.")
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"OPENCODE_SERVER_URL is {self.url!r}; it looks like {URL}.")
        password = environment.get("OPENCODE_SERVER_PASSWORD", "")
        auth = (environment.get("OPENCODE_SERVER_USERNAME", USER), password) if password else None
        self.patience = int(patience) / 1000
        """Seconds that an answer may take."""
        self._client = httpx2.AsyncClient(base_url=self.url, auth=auth, timeout=self.patience)

    async def close(self) -> None:
        await self._client.aclose()

    async def get(self, path: str, /, **parameters: object) -> Any:
        return await self._ask("GET", path, parameters)

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, endless: bool = False, **parameters: object
    ) -> Any:
        """Send a request. An `endless` one waits for its answer as long as it takes."""
        return await self._ask("POST", path, parameters, body or {}, endless=endless)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that its files are ours too."""
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    async def _ask(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, object],
        body: Mapping[str, Any] | None = None,
        *,
        endless: bool = False,
    ) -> Any:
        """Send one request. Raises: RefusedCall."""
        more: dict[str, Any] = {"timeout": None} if endless else {}
        params = {name: str(value) for name, value in parameters.items() if value not in {None, ""}}
        try:
            # The client's own timeout is for each read: an answer that comes in drops would never end.
            async with asyncio.timeout(None if endless else self.patience):
                answer = await self._client.request(method, path, params=params, json=body, **more)
        except (httpx2.TimeoutException, TimeoutError):
            raise describe_timeout(f"{method} {path}") from None
        except httpx2.HTTPError as error:
            raise RefusedCall(
                f"The OpenCode server at {self.url} cannot be reached: {error or type(error).__name__}.",
                "Start it: opencode serve --port 4096.",
                "Set OPENCODE_SERVER_URL to where it is.",
            ) from error
        if answer.is_success:
            return _json(answer)
        raise _refusal(answer, f"{method} {path}")


def describe_timeout(request: str) -> RefusedCall:
    return RefusedCall(
        f"OpenCode did not answer {request} in time.",
        "Look at the session with opencode_session_list: it may still be working.",
        "Set OPENCODE_TIMEOUT higher (milliseconds).",
    )


def _json(answer: httpx2.Response) -> Any:
    try:
        return answer.json() if answer.content else None
    except ValueError as error:
        raise RefusedCall("What is there is no OpenCode server.", "Check OPENCODE_SERVER_URL.") from error


def _refusal(answer: httpx2.Response, request: str) -> RefusedCall:
    if answer.status_code in {401, 403}:
        return RefusedCall("OpenCode refused the password.", "Set OPENCODE_SERVER_PASSWORD to the server's.")
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    words = _word(body, "data", "message") or _word(body, "message")
    return RefusedCall(
        f"OpenCode answered {answer.status_code} to {request}: {words or answer.reason_phrase}",
        "Correct the arguments and call it again.",
        "The log of the OpenCode server has the details.",
    )


def _word(error: Any, *names: str) -> str:
    for name in names:
        error = cast("dict[str, Any]", error).get(name) if isinstance(error, dict) else None
    return error if isinstance(error, str) else ""
