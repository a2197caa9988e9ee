"""A key by signing in with a browser, at providers that give keys to third parties so: OpenRouter's "OAuth PKCE".

The user is sent to `/auth` of the provider and comes back with a code, which is exchanged there for a key that is from
then on as if it had been typed in. Nobody registers anywhere. The code is worth nothing without the `verifier`, which
never leaves this process but to the provider; the `state` says that it is the answer to what was asked here.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit

from jupyter_eca.errors import LocalError
from jupyter_eca.plugins.providers.messages.local_address import is_here
from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.mcp_client.sign_in import Browser, Visit

# Whoever has not come back until then has gone elsewhere, and a port may be open for them.
AWAY_SECONDS: Final = 600.0
_EXCHANGE_SECONDS: Final = 15.0
# Characters of what a provider says of its refusal.
_REASON: Final = 200

_LATE: Final = "nobody came back from the browser in time"
OVER: Final = "it was given up or begun anew"
_NO: Final = "{label} said no: {why}"
_REFUSED: Final = "{label} did not take the code that the browser came back with ({status})"
_NO_KEY: Final = "{label} answered with no key ({status})"
_UNREACHABLE: Final = "{label} cannot be reached at {url}"
_NO_PORT: Final = "The port for the sign-in cannot be had: {reason}. Enter an API key instead."


@runtime_checkable
class User(Protocol):
    """The user who signs in. What must still be done when they have left is a child task of theirs."""

    @property
    def browser(self) -> Browser: ...

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]: ...

    def say(self, type: MessageType, message: str) -> None:
        """Tell the user alone: others did not ask."""
        ...


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sign-in, at the provider whose API is at `url`."""

    label: str
    url: str
    visit: Visit
    state: str = field(default_factory=secrets.token_urlsafe, repr=False)
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)

    @property
    def address(self) -> str:
        """Return the address where the user signs in. The state is sent twice: as OAuth has it, and in the address to
        come back to, since OpenRouter documents no state of its own. OpenRouter promises any port of `localhost`, and
        says nothing of 127.0.0.1, where a Jupyter may be: there its own name must stay, or its user is no longer logged
        in."""
        landing = self.visit.landing
        back = landing.address.replace("://127.0.0.1:", "://localhost:", 1) if landing.own else landing.address
        challenge = urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "callback_url": f"{back}?{urlencode({'state': self.state})}",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": self.state,
        }
        return urlsplit(self.url)._replace(path="/auth", query=urlencode(query), fragment="").geturl()

    async def run(self, user: User, keep: Callable[[str], Awaitable[str | None]]) -> None:
        """Run the sign-in to its end. `keep` stores the key, and returns what to say about it."""
        why: str | None = OVER
        try:
            said = await keep(await self._key())
            user.say(MessageType.INFO, said or f"You are signed in to {self.label}.")
            why = None
        except LocalError as error:
            why = str(error).removesuffix(".")
            user.say(MessageType.ERROR, f"The sign-in to {self.label} did not work: {why}.")
        finally:
            self.visit.end(why)

    async def _key(self) -> str:
        try:
            found = await asyncio.wait_for(self.visit.wait_for_return(), AWAY_SECONDS)
        except TimeoutError:
            raise LocalError(_LATE) from None
        if "error" in found or not found.get("code"):
            why = found.get("error_description") or found.get("error") or "it gave no code"
            raise LocalError(_NO.format(label=self.label, why=" ".join(why.split())[:_REASON]))
        status, said = await asyncio.to_thread(self._exchange, found["code"])
        if status != 200:
            raise LocalError(_REFUSED.format(label=self.label, status=status))
        match said:
            case {"key": str(key)} if key:
                return key
            case _:
                raise LocalError(_NO_KEY.format(label=self.label, status=status))

    def _exchange(self, code: str) -> tuple[int, Any]:
        """Exchange the code for a key. It blocks. The server's words go into no error and no log: they may contain the
        code or the key."""
        import httpx2

        body = {"code": code, "code_verifier": self.verifier, "code_challenge_method": "S256"}
        url = f"{self.url.rstrip('/')}/auth/keys"
        try:
            answer = httpx2.post(url, json=body, timeout=_EXCHANGE_SECONDS, trust_env=not is_here(url))
            return answer.status_code, answer.json() if answer.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise LocalError(_UNREACHABLE.format(label=self.label, url=self.url)) from None
        except ValueError:
            return 200, None


async def begin(label: str, url: str, user: User) -> Attempt:
    """Prepare the way back. Raises: LocalError when a browser cannot come back."""
    from jupyter_eca.mcp_client.sign_in import Visit

    try:
        landing = await user.browser.prepare_landing(None, ())
    except OSError as error:
        raise LocalError(_NO_PORT.format(reason=error.strerror)) from error
    attempt = Attempt(label, url, Visit(label, landing, user.say, kind=""))
    attempt.visit.expect(attempt.state)
    return attempt
