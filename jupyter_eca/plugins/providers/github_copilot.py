"""The provider of GitHub Copilot, which speaks Chat Completions.

It owns the sign-in with a code ("device flow", RFC 8628) and the two tokens, as in ECA:

1. The user types a code at github.com. Then GitHub returns a token of the user, which is stored like a key.
2. This token is exchanged for a token of Copilot, which is valid for less than half an hour. It is kept only in memory.

GitHub has not documented these requests for other programs. They are those of ECA, and GitHub may change them.

It must not store a token: `credentials.sign_in` does. `openai` has the connection.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca import redaction
from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.errors import FailureKind, LocalError, ProviderError
from jupyter_eca.plugins.providers.base import DeviceAuthorization
from jupyter_eca.plugins.providers.connection import failures
from jupyter_eca.plugins.providers.openai import OpenAIProvider
from jupyter_eca.plugins.providers.openai_chat import CHAT_COMPLETIONS
from jupyter_eca.plugins.providers.presets import COPILOT, COPILOT_EDITOR

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.config import ProviderConfig
    from jupyter_eca.plugins.providers.connection.failures import RequestTarget

# The client id of GitHub's own Copilot plugin for editors. ECA sends it too: GitHub gives none to other programs.
_CLIENT_ID: Final = "Iv1.b507a08c87ecfe98"
# The name of a sign-in with a code in RFC 8628.
_GRANT_TYPE: Final = "urn:ietf:params:oauth:grant-type:device_code"

# Seconds that GitHub has to answer a request.
_REQUEST_SECONDS: Final = 15.0
# How long before its end a token is replaced. Clocks differ, and an answer takes a while to begin.
_EARLY_SECONDS: Final = 120.0
# What RFC 8628 adds to the interval when GitHub answers `slow_down`.
_SLOWER_SECONDS: Final = 5.0

# The errors that users read.
_UNREACHABLE: Final = "GitHub cannot be reached at {url}. Check the network, VPN and proxy, then try again."
_NO_CODE: Final = "GitHub gave no code to sign in with ({status})."
# Errors of RFC 8628 in words.
_NOT_ALLOWED: Final = {
    "expired_token": "the code was not typed in time",
    "access_denied": "it was refused at GitHub",
}
_REFUSED: Final = "GitHub did not complete the sign-in ({reason})"
_NO_COPILOT: Final = (
    "This account may not use GitHub Copilot (status {status}). Enable it at "
    "https://github.com/settings/copilot/features, or sign in again with `/login github-copilot`."
)


@dataclass(frozen=True, slots=True)
class CopilotProvider(OpenAIProvider):
    """The provider plug `github-copilot`. It sends requests as `OpenAIProvider` does, with a token of Copilot, and lets
    users sign in with a code (`base.SignsInByDevice`)."""

    github_url: str = "https://github.com"
    """Where users sign in."""
    exchange_url: str = "https://api.github.com"
    """Where the token of a user is exchanged for a token of Copilot."""

    async def check(self, settings: ProviderConfig) -> None:
        """Check that GitHub exchanges the user's token for one of Copilot. Raises: ProviderError when it does not."""
        await _CopilotToken(self.exchange_url, settings.read_key()).fetch()

    async def authorize_device(self) -> DeviceAuthorization:
        """Request a code for the user to type. Raises: LocalError when GitHub gives none."""
        body = {"client_id": _CLIENT_ID, "scope": "read:user"}
        status, answer = await asyncio.to_thread(_send, "POST", f"{self.github_url}/login/device/code", body)
        match answer:
            case {"device_code": str(device_code), "user_code": str(user_code), "verification_uri": str(uri), **times}:
                interval, expires_in = float(times.get("interval", 5)), float(times.get("expires_in", 900))
                return DeviceAuthorization(user_code, uri, device_code, interval, expires_in)
            case _:
                raise LocalError(_NO_CODE.format(status=status))

    async def await_token(self, authorization: DeviceAuthorization) -> str:
        """Ask GitHub again and again until the user has typed the code, and return the user's token. Raises:
        LocalError."""
        body = {"client_id": _CLIENT_ID, "device_code": authorization.device_code, "grant_type": _GRANT_TYPE}
        interval, until = authorization.interval, time.monotonic() + authorization.expires_in
        while time.monotonic() < until:
            await asyncio.sleep(interval)
            _, answer = await asyncio.to_thread(_send, "POST", f"{self.github_url}/login/oauth/access_token", body)
            match answer:
                case {"access_token": str(token)} if token:
                    return token
                case {"error": "authorization_pending"}:
                    pass
                case {"error": "slow_down"}:
                    interval += _SLOWER_SECONDS
                case {"error": str(reason)}:
                    # Only an unknown reason is shown itself: a code that may be long.
                    raise LocalError(_NOT_ALLOWED.get(reason) or _REFUSED.format(reason=reason[:100]))
                case _:
                    raise LocalError(_REFUSED.format(reason="an answer without a token"))
        raise LocalError(_NOT_ALLOWED["expired_token"])

    def make_api_key(self, target: RequestTarget) -> str | Callable[[], Awaitable[str]]:
        """Return a function that returns the token of Copilot. The SDK calls it for each request."""
        return _CopilotToken(self.exchange_url, target.key).fetch


@dataclass(slots=True)
class _CopilotToken:
    """The token of Copilot for a user. It is replaced before it ends."""

    url: str
    """Where the user's token is exchanged."""
    user_token: str = field(repr=False)
    """The token of the user, which GitHub has issued."""
    _token: str = field(default="", repr=False)
    """The token of Copilot, "" before the first exchange."""
    _until: float = 0.0
    """When the token ends, in seconds since 1970."""
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while the token is fetched, so that requests at the same time cause only one exchange."""

    async def fetch(self) -> str:
        """Return the token. Raises: ProviderError when GitHub gives none."""
        async with self._lock:
            if time.time() >= self._until - _EARLY_SECONDS:
                await self._exchange()
            return self._token

    async def _exchange(self) -> None:
        """Exchange the user's token for a new one of Copilot. Raises: ProviderError when GitHub gives none."""
        url, headers = f"{self.url}/copilot_internal/v2/token", {"Authorization": f"token {self.user_token}"}
        try:
            status, answer = await asyncio.to_thread(_send, "GET", url, None, headers)
        except LocalError as error:
            raise ProviderError(str(error), kind=FailureKind.NETWORK, retryable=True) from None
        match answer:
            case {"token": str(token), "expires_at": int(until)} if token:
                redaction.register_secret(token)
                self._token, self._until = token, until
            case _:
                kind, retryable = failures.classify_status(status)
                kind = FailureKind.AUTH if kind is FailureKind.OTHER else kind
                text = _NO_COPILOT.format(status=status)
                raise ProviderError(text, status=status, kind=kind, retryable=retryable)


def _send(method: str, url: str, body: dict[str, str] | None, headers: dict[str, str] | None = None) -> tuple[int, Any]:
    """Send a request, and return the status of the answer and its JSON; None if it is not JSON. Blocks.

    Raises: LocalError without a connection. The answer is not written to an error or a log: it contains tokens.
    """
    import httpx2

    sent = {"Accept": "application/json", **COPILOT_EDITOR, **(headers or {})}
    try:
        answer = httpx2.request(
            method, url, json=body, headers=sent, timeout=_REQUEST_SECONDS, trust_env=not is_on_this_machine(url)
        )
    except (httpx2.HTTPError, httpx2.InvalidURL):
        raise LocalError(_UNREACHABLE.format(url=url)) from None
    try:
        return answer.status_code, answer.json()
    except ValueError:
        return answer.status_code, None


PROVIDER = CopilotProvider(
    "github-copilot", CHAT_COMPLETIONS, COPILOT, rank=26, label="GitHub Copilot", key_variable="GITHUB_COPILOT_API_KEY"
)
