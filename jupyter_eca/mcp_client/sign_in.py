"""Owns the steps of a sign-in that happen in the user's browser. First the browser is sent to an authorization server.
Then it comes back to us with a code (it lands). At the end it shows a page of ours.

The interface `Browser` decides at which address the browser lands, and who opens it. There are two implementations:
`loopback_browser.py`, and the Jupyter server (`apps/server`). When the browser lands, they call
`WaitingSignIns.arrive`. The module must not know OAuth or the SDK: `oauth.py` does. `sign_ins.py` keeps the sign-ins to
all servers.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import parse_qs, urlsplit

from jupyter_eca.protocol.lifecycle import MessageType

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Say = Callable[[MessageType, str], None]
    """Shows a message to the user who signs in."""

# The parameters that an authorization server adds to the address of the landing (RFC 6749, 4.1.2; RFC 9207).
LANDING_PARAMETERS: Final = ("code", "state", "iss", "error", "error_description")

# Seconds that the browser waits for its page while we exchange the code for tokens.
_EXCHANGE_SECONDS: Final = 30.0

# The texts of the page that the browser shows at the end.
_UNKNOWN: Final = (
    "No sign-in waits for this answer: it has ended, was started again, or was answered already. Nothing was changed. "
    "Start the sign-in again where you started it."
)
_SLOW: Final = "The sign-in is not finished yet. You will see the result where you started it."
_DONE: Final = "You are signed in to {where}.{duration} This page can be closed."
_FOR_NOW: Final = " There is no system keyring to store it in, so it ends with the program that you signed in from."
_FAILED: Final = "The sign-in to {where} did not work: {why}."


@dataclass(frozen=True, slots=True)
class SignInPage:
    """The page that the browser shows at the end."""

    status: int
    """The HTTP status."""
    title: str
    """The heading of the page: what happened, in a few words."""
    text: str
    """The sentences below the heading, without HTML."""

    @property
    def html(self) -> str:
        """The page as HTML."""
        title, text = escape(self.title), escape(self.text)
        return f"<!doctype html><meta charset=utf-8><title>{title}</title><h1>{title}</h1><p>{text}</p>\n"


@dataclass(frozen=True, slots=True)
class Landing:
    """The address that the browser comes back to, and what belongs to it."""

    address: str
    """The redirect URI."""
    waiting_sign_ins: WaitingSignIns
    """The sign-ins that wait for a browser at this address."""
    open: Callable[[str], None] = lambda _: None
    """Opens the user's browser. It does nothing where the client of the user opens it."""
    close: Callable[[], None] = lambda: None
    """Stops listening at the address."""
    needs_no_cookie: bool = False
    """Whether the address needs no cookie of Jupyter. Only such an address may be replaced by another name of the same
    machine, such as `localhost`: under that name a cookie would be missing."""


class Browser(Protocol):
    """The browser of a user who signs in."""

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:
        """Prepare the address that the browser comes back to. `port` is the configured port; None for any. `used` are
        addresses of earlier sign-ins. If possible one of them is taken, because we are registered with it.

        Raises: OSError when the port is not free.
        """
        ...


@dataclass(eq=False)
class SignInAttempt:
    """One attempt of a user to sign in."""

    name: str
    """The name of the server, for the user."""
    landing: Landing
    """The address that the browser comes back to."""
    say: Say
    """Shows a message to the user."""
    kind: str = "the MCP server "
    """The words before the name on the page. A sign-in to a provider has none."""
    sent: bool = False
    """Whether the browser was sent to the authorization server."""
    survives_restart: bool = True
    """Whether the sign-in survives a restart of our program."""
    held_parameters: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the browser brought, while the user must first log in to Jupyter. See `WaitingSignIns.hold`."""
    _returned: asyncio.Future[Mapping[str, str]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )
    """The parameters that the browser brought."""
    _outcome: asyncio.Future[str | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Why the sign-in failed; None when it worked."""

    def send(self, url: str) -> None:
        """Send the browser to an authorization server."""
        self.expect(parse_qs(urlsplit(url).query)["state"][0])
        self.landing.open(url)
        self.say(MessageType.INFO, f"Sign in to the MCP server {self.name!r}: {url}")

    def expect(self, state: str) -> None:
        """Register this attempt for the browser that brings this `state`, a random value (see `WaitingSignIns`). `send`
        calls this method. Call it directly if the caller itself sends the browser."""
        self.sent = True
        self.landing.waiting_sign_ins.expect(state, self)

    @property
    def has_returned(self) -> bool:
        """Whether the browser has come back."""
        return self._returned.done()

    async def wait_for_return(self) -> Mapping[str, str]:
        """Wait until the browser comes back, and return the parameters that it brings."""
        return await asyncio.shield(self._returned)  # a cancelled caller must not cancel the future

    async def arrive(self, parameters: Mapping[str, str]) -> SignInPage:
        """Take the parameters that the browser brought, wait for the end of the sign-in, and return the page to
        show."""
        if not self._returned.done():
            self._returned.set_result(parameters)
        try:
            why = await asyncio.wait_for(asyncio.shield(self._outcome), _EXCHANGE_SECONDS)
        except TimeoutError:
            return SignInPage(202, "Not finished yet", _SLOW)
        if why is None:
            duration = "" if self.survives_restart else _FOR_NOW
            return SignInPage(200, "Signed in", _DONE.format(where=self.kind + self.name, duration=duration))
        return SignInPage(400, "Not signed in", _FAILED.format(where=self.kind + self.name, why=why))

    def end(self, why: str | None) -> None:
        """End the attempt. `why` says why it failed, and None means that it worked. Further calls have no effect."""
        self.landing.waiting_sign_ins.forget(self)
        self.landing.close()
        if not self._outcome.done():
            self._outcome.set_result(why)


class WaitingSignIns:
    """The sign-ins that wait for a browser, by their `state`. This is a random value that we send to the authorization
    server. It sends the value back with the browser, and nobody else knows it."""

    def __init__(self) -> None:
        self._attempts: dict[str, SignInAttempt] = {}

    def expect(self, state: str, attempt: SignInAttempt) -> None:
        """Register an attempt for the browser that brings this `state`."""
        self._attempts[state] = attempt

    def forget(self, attempt: SignInAttempt) -> None:
        """Stop waiting for the browser of an attempt."""
        self._attempts = {state: other for state, other in self._attempts.items() if other is not attempt}

    def hold(self, parameters: Mapping[str, str]) -> str:
        """Keep the parameters of a browser whose user must first log in to Jupyter. Return the `state`, with which the
        browser comes again after the login. The code itself must not be part of the address of a login page, because
        such addresses are logged."""
        state = parameters.get("state", "")
        if (attempt := self._attempts.get(state)) is not None:
            attempt.held_parameters = parameters
        return state

    async def arrive(self, parameters: Mapping[str, str]) -> SignInPage:
        """Pass the parameters of a browser to its sign-in, and return the page to show. Each `state` is accepted
        once."""
        attempt = self._attempts.pop(parameters.get("state", ""), None)
        if attempt is None:
            return SignInPage(404, "Nothing to do", _UNKNOWN)
        # After a login to Jupyter, the browser brings only its `state`. See `hold`.
        return await attempt.arrive(attempt.held_parameters if set(parameters) == {"state"} else parameters)
