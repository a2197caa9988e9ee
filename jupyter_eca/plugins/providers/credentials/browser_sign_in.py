"""Gets a key by a sign-in with a browser, at providers that offer this: OpenRouter's "OAuth PKCE".

1. The user's browser is sent to `/auth` of the provider. The user signs in there.
2. The browser comes back to this process with a code.
3. The code is exchanged at the provider for a key, which is then stored as if the user had typed it in.

No client must be registered at the provider. The code is useless without the `verifier`, which only the provider gets.
The `state` proves that the browser comes back from this sign-in.

It must not store the key: `sign_in` does. `mcp_client.sign_in` has the page to which the browser comes back.
"""

from __future__ import annotations

import asyncio
import secrets
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable
from urllib.parse import urlencode, urlsplit

from jupyter_eca.config.policy.local_address import is_on_this_machine
from jupyter_eca.errors import LocalError
from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from jupyter_eca.mcp_client.sign_in import Browser, SignInAttempt

# The seconds to wait until the browser comes back. A port may be open meanwhile.
AWAY_SECONDS: Final = 600.0
# The seconds that the provider has to exchange the code for a key.
_EXCHANGE_SECONDS: Final = 15.0
# The characters of a provider's refusal that are shown.
_MAX_REASON_CHARS: Final = 200

# Why a sign-in did not work, for the user: the end of a sentence.
_LATE: Final = "nobody came back from the browser in time"
OVER: Final = "it was given up or begun anew"
_NO: Final = "{label} said no: {why}"
_REFUSED: Final = "{label} did not take the code that the browser came back with ({status})"
_NO_KEY: Final = "{label} answered with no key ({status})"
_UNREACHABLE: Final = "{label} cannot be reached at {url}"
_NO_PORT: Final = "The port for the sign-in cannot be had: {reason}. Enter an API key instead."


@runtime_checkable
class User(Protocol):
    """The client of the user who signs in."""

    @property
    def browser(self) -> Browser:
        """The user's browser."""
        ...

    def start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Start a task that belongs to the client. It is cancelled when the client disconnects."""
        ...

    def say(self, type: MessageType, message: str) -> None:
        """Show a message to this user only."""
        ...


@dataclass(frozen=True, slots=True)
class BrowserSignIn:
    """One sign-in with a browser."""

    label: str
    """The name of the provider for users."""
    url: str
    """The URL of the provider's API."""
    attempt: SignInAttempt
    """Waits for the browser to come back."""
    state: str = field(default_factory=secrets.token_urlsafe, repr=False)
    """A secret that proves that the browser comes back from this sign-in."""
    verifier: str = field(default_factory=lambda: secrets.token_urlsafe(48), repr=False)
    """A secret that is needed to exchange the code."""

    @property
    def address(self) -> str:
        """The URL where the user signs in.

        The state is sent twice: as OAuth does, and in the URL to come back to, because OpenRouter documents no state.
        OpenRouter allows any port of `localhost`, and its documentation does not mention 127.0.0.1. So a landing page
        of our own is named `localhost`. A page of Jupyter keeps its name, because the login cookie belongs to that
        name.
        """
        landing = self.attempt.landing  # the page to which the browser comes back
        back = landing.address
        if landing.needs_no_cookie:
            back = back.replace("://127.0.0.1:", "://localhost:", 1)
        challenge = urlsafe_b64encode(sha256(self.verifier.encode()).digest()).rstrip(b"=").decode()
        query = {
            "callback_url": f"{back}?{urlencode({'state': self.state})}",
            "code_challenge": challenge,
            "code_challenge_method": "S256",
            "state": self.state,
        }
        return urlsplit(self.url)._replace(path="/auth", query=urlencode(query), fragment="").geturl()

    async def run(self, user: User, keep: Callable[[str], Awaitable[str | None]]) -> None:
        """Run the sign-in to its end. `keep` stores the key, and returns a remark for the user; None for no remark."""
        why: str | None = OVER  # the reason if this task is cancelled
        try:
            remark = await keep(await self._get_key())
            user.say(MessageType.INFO, remark or f"You are signed in to {self.label}.")
            why = None
        except LocalError as error:
            why = str(error).removesuffix(".")
            user.say(MessageType.ERROR, f"The sign-in to {self.label} did not work: {why}.")
        finally:
            self.attempt.end(why)

    async def _get_key(self) -> str:
        """Wait for the browser, and exchange its code for a key. Raises: LocalError, whose message says why not."""
        try:
            query = await asyncio.wait_for(self.attempt.wait_for_return(), AWAY_SECONDS)
        except TimeoutError:
            raise LocalError(_LATE) from None
        if "error" in query or not query.get("code"):
            why = query.get("error_description") or query.get("error") or "it gave no code"
            raise LocalError(_NO.format(label=self.label, why=" ".join(why.split())[:_MAX_REASON_CHARS]))
        status, answer = await asyncio.to_thread(self._exchange, query["code"])
        if status != 200:
            raise LocalError(_REFUSED.format(label=self.label, status=status))
        match answer:
            case {"key": str(key)} if key:
                return key
            case _:
                raise LocalError(_NO_KEY.format(label=self.label, status=status))

    def _exchange(self, code: str) -> tuple[int, Any]:
        """Exchange the code for a key, and return the status and the JSON of the answer. Blocks.

        The answer is not written to an error or a log, because it may contain the code or the key.
        """
        import httpx2

        body = {"code": code, "code_verifier": self.verifier, "code_challenge_method": "S256"}
        url = f"{self.url.rstrip('/')}/auth/keys"
        try:
            answer = httpx2.post(url, json=body, timeout=_EXCHANGE_SECONDS, trust_env=not is_on_this_machine(url))
            return answer.status_code, answer.json() if answer.status_code == 200 else None
        except (httpx2.HTTPError, httpx2.InvalidURL):
            raise LocalError(_UNREACHABLE.format(label=self.label, url=self.url)) from None
        except ValueError:
            return 200, None


async def begin(label: str, url: str, user: User) -> BrowserSignIn:
    """Return a sign-in, and prepare the page to which the browser comes back. `label` and `url` are those of the
    provider. Raises: LocalError when the page cannot be prepared."""
    from jupyter_eca.mcp_client.sign_in import SignInAttempt

    try:
        landing = await user.browser.prepare_landing(None, ())
    except OSError as error:
        raise LocalError(_NO_PORT.format(reason=error.strerror)) from error
    sign_in = BrowserSignIn(label, url, SignInAttempt(label, landing, user.say, kind=""))
    sign_in.attempt.expect(sign_in.state)
    return sign_in
