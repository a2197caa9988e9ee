"""Owns the requests to the HTTP API of OpenCode, another coding agent. A request returns the response as JSON, or
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
URL: Final = "http://localhost:4096"
# Milliseconds that OpenCode may take for an answer, because a model works on it.
PATIENCE: Final = "120000"
USER: Final = "opencode"


class Api:
    """The HTTP API of one OpenCode server."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        """Read address, timeout and password from environment variables. Raises: ConfigError if one has an impossible
        value."""
        self.url = environment.get("OPENCODE_SERVER_URL", URL).rstrip("/")
        patience = environment.get("OPENCODE_TIMEOUT", PATIENCE)
        if not (patience.isascii() and patience.isdecimal() and int(patience)):
            raise ConfigError(f"OPENCODE_TIMEOUT is {patience!r}; it is a number of milliseconds.")
        if not self.url.startswith(("http://", "https://")):
            raise ConfigError(f"OPENCODE_SERVER_URL is {self.url!r}; it looks like {URL}.")
        password = environment.get("OPENCODE_SERVER_PASSWORD", "")
        auth = (environment.get("OPENCODE_SERVER_USERNAME", USER), password) if password else None
        self.patience = int(patience) / 1000
        """Seconds that the server may take for an answer."""
        self._client = httpx2.AsyncClient(base_url=self.url, auth=auth, timeout=self.patience)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def get(self, path: str, /, **parameters: object) -> Any:
        """Send a GET request. Raises: RefusedCall."""
        return await self._request("GET", path, parameters)

    async def post(
        self, path: str, body: Mapping[str, Any] | None = None, *, endless: bool = False, **parameters: object
    ) -> Any:
        """Send a POST request. With `endless`, wait for the response without a limit of time. Raises: RefusedCall."""
        return await self._request("POST", path, parameters, body or {}, endless=endless)

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
        endless: bool = False,
    ) -> Any:
        """Send one request, and return the response as JSON; None if it is empty. `parameters` are those of the query;
        empty ones are left out. Raises: RefusedCall."""
        more: dict[str, Any] = {"timeout": None} if endless else {}
        params = {name: str(value) for name, value in parameters.items() if value not in {None, ""}}
        try:
            # The client's own timeout applies to each read alone. A response that comes in small pieces would never
            # end.
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
            return _parse_json(answer)
        raise _make_refusal(answer, f"{method} {path}")


def describe_timeout(request: str) -> RefusedCall:
    """Make the error for a request without an answer in time."""
    return RefusedCall(
        f"OpenCode did not answer {request} in time.",
        "Look at the session with opencode_session_list: it may still be working.",
        "Set OPENCODE_TIMEOUT higher (milliseconds).",
    )


def _parse_json(answer: httpx2.Response) -> Any:
    """Return the JSON of a response; None if it is empty. Raises: RefusedCall."""
    try:
        return answer.json() if answer.content else None
    except ValueError as error:
        raise RefusedCall(
            "The program at this address is not an OpenCode server.", "Check OPENCODE_SERVER_URL."
        ) from error


def _make_refusal(answer: httpx2.Response, request: str) -> RefusedCall:
    """Make the error for a response with an error status."""
    if answer.status_code in {401, 403}:
        return RefusedCall("OpenCode refused the password.", "Set OPENCODE_SERVER_PASSWORD to the server's.")
    try:
        body: Any = answer.json()
    except ValueError:
        body = None
    words = _find_text(body, "data", "message") or _find_text(body, "message")
    return RefusedCall(
        f"OpenCode answered {answer.status_code} to {request}: {words or answer.reason_phrase}",
        "Correct the arguments and call it again.",
        "The log of the OpenCode server has the details.",
    )


def _find_text(error: Any, *names: str) -> str:
    """Return the text to which these keys lead in a JSON value; "" if there is none."""
    for name in names:
        error = cast("dict[str, Any]", error).get(name) if isinstance(error, dict) else None
    return error if isinstance(error, str) else ""
