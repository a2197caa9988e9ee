"""Owns the requests to the HTTP API of OpenCode, another coding agent. A request returns the JSON of its response, or
raises an error that says what the caller can do.

It must not know what a request is for: the tools in `offers/` do.
"""

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

# The defaults of the environment variables. The URL is OpenCode's own default.
DEFAULT_URL: Final = "http://localhost:4096"
# Milliseconds that OpenCode may take for an answer. They are many, because a model works on it.
DEFAULT_TIMEOUT_MS: Final = "120000"
DEFAULT_USER: Final = "opencode"


class OpenCodeApi:
    """The HTTP API of one OpenCode server."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read the address, the timeout and the password from environment variables. Raises: ConfigError if one of them
        has an impossible value."""
        self.url = environment.get("OPENCODE_SERVER_URL", DEFAULT_URL).rstrip("/")
        timeout = environment.get("OPENCODE_TIMEOUT", DEFAULT_TIMEOUT_MS)
        if not (timeout.isascii() and timeout.isdecimal() and int(timeout)):
            raise ConfigError(f"OPENCODE_TIMEOUT is {timeout!r}; it is a number of milliseconds.")
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"OPENCODE_SERVER_URL is {self.url!r}; it looks like {DEFAULT_URL}.")
        password = environment.get("OPENCODE_SERVER_PASSWORD", "")
        auth = (environment.get("OPENCODE_SERVER_USERNAME", DEFAULT_USER), password) if password else None
        self.timeout_seconds = int(timeout) / 1000
        """Seconds that the server may take for an answer."""
        self._client = httpx2.AsyncClient(base_url=self.url, auth=auth, timeout=self.timeout_seconds)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, path: str, /, **parameters: object) -> Any:
        """Send a GET request. Raises: RefusedCall."""
        return await self._request("GET", path, parameters)

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, without_timeout: bool = False, **parameters: object
    ) -> Any:
        """Send a POST request. With `without_timeout`, wait for the response as long as it takes. Raises:
        RefusedCall."""
        return await self._request("POST", path, parameters, body or {}, without_timeout=without_timeout)

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine, so that we can read and write its files."""
        host = urlsplit(self.url).hostname or ""
        try:
            return host == "localhost" or ipaddress.ip_address(host).is_loopback
        except ValueError:
            return False

    async def _request(
        self,
        method: str,
        path: str,
        parameters: Mapping[str, object],
        body: Mapping[str, Any] | None = None,
        *,
        without_timeout: bool = False,
    ) -> Any:
        """Send one request, and return the JSON of its response; None if the response is empty. `parameters` go
        into the query; empty ones are left out. `without_timeout`: see `post`. Raises: RefusedCall."""
        options: dict[str, Any] = {"timeout": None} if without_timeout else {}
        params = {name: str(value) for name, value in parameters.items() if value not in {None, ""}}
        try:
            # The client's own timeout starts again with each piece of the response. With many small pieces, a request
            # could take for ever.
            async with asyncio.timeout(None if without_timeout else self.timeout_seconds):
                answer = await self._client.request(method, path, params=params, json=body, **options)
        except (httpx2.TimeoutException, TimeoutError):
            raise make_timeout_error(f"{method} {path}") from None
        except httpx2.HTTPError as error:
            raise RefusedCall(
                f"The OpenCode server at {self.url} cannot be reached: {error or type(error).__name__}.",
                "Start it: opencode serve --port 4096.",
                "Set OPENCODE_SERVER_URL to where it is.",
            ) from error
        if answer.is_success:
            return _parse_json(answer)
        raise _make_status_error(answer, f"{method} {path}")


def make_timeout_error(request: str) -> RefusedCall:
    """Return the error for a request that OpenCode did not answer in time. `request` says which one."""
    return RefusedCall(
        f"OpenCode did not answer {request} in time.",
        "Look at the session with opencode_session_list: it may still be working.",
        "Set OPENCODE_TIMEOUT higher (milliseconds).",
    )


def _parse_json(answer: httpx2.Response) -> Any:
    """Return the JSON of a response; None if the response is empty. Raises: RefusedCall if it is no JSON."""
    try:
        return answer.json() if answer.content else None
    except ValueError as error:
        raise RefusedCall(
            "The program at this address is not an OpenCode server.", "Check OPENCODE_SERVER_URL."
        ) from error


def _make_status_error(answer: httpx2.Response, request: str) -> RefusedCall:
    """Return the error for a response with an error status. `request` has its method and path."""
    if answer.status_code in {401, 403}:
        return RefusedCall("OpenCode refused the password.", "Set OPENCODE_SERVER_PASSWORD to the server's.")
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    message = _find_text(body, "data", "message") or _find_text(body, "message")
    return RefusedCall(
        f"OpenCode answered {answer.status_code} to {request}: {message or answer.reason_phrase}",
        "Correct the arguments and call it again.",
        "The log of the OpenCode server has the details.",
    )


def _find_text(value: Any, *keys: str) -> str:
    """Return the text that is found in a JSON value by these keys, one inside the other; "" if there is none."""
    for key in keys:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    return value if isinstance(value, str) else ""
