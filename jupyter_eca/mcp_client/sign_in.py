"""A user who signs in with a browser: from the address that they are sent to until the page that they see at the end.
It knows no OAuth; `loopback_browser` and the Jupyter server are the two ways back.

The port is `Browser`: where the browser comes back to, and who opens it, is the transport's to decide. Whoever listens
there hands over what came by `Arrivals.arrive`. Knows no transport and no SDK.
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

# What an authorization server adds to the address (RFC 6749, 4.1.2; RFC 9207).
FIELDS: Final = ("code", "state", "iss", "error", "error_description")

# Seconds that a browser waits for its page while the code is exchanged for tokens.
_EXCHANGE: Final = 30.0

_UNKNOWN: Final = (
    "No sign-in waits for this answer: it is over, was begun anew, or was answered already. Nothing was changed. "
    "Start it again where you began."
)
_SLOW: Final = "The sign-in is not finished yet. How it ends shows where you began."
_DONE: Final = "You are signed in to {where}.{lasts} This page can be closed."
_FOR_NOW: Final = (
    " There is no system keyring to keep that in: it is over when the program ends that you signed in from."
)
_FAILED: Final = "The sign-in to {where} did not work: {why}."


@dataclass(frozen=True, slots=True)
class SignInPage:
    """The page that the browser shows at the end."""

    status: int
    title: str
    words: str

    @property
    def html(self) -> str:
        title, words = escape(self.title), escape(self.words)
        return f"<!doctype html><meta charset=utf-8><title>{title}</title><h1>{title}</h1><p>{words}</p>\n"


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a browser comes back to. `open` opens the user's browser, where that is ours to do. `own`: no cookie logs
    the user in there, because it would be lost under another name of the same machine."""

    address: str
    arrivals: Arrivals
    open: Callable[[str], None] = lambda _: None
    close: Callable[[], None] = lambda: None
    own: bool = False


class Browser(Protocol):
    """A user's browser, as far as a sign-in needs it."""

    async def land(self, port: int | None, used: Sequence[str]) -> Landing:
        """Prepare the way back: at `port` if one is configured, or else, if possible, at an address that was `used`
        before, because the server knows us there. Raises: OSError."""
        ...


@dataclass(eq=False)
class Visit:
    """One attempt to sign in to the server `name`. `say` tells whoever asked for it. `kind` stands before the name on
    the page. `lasts`: the sign-in survives a restart."""

    name: str
    landing: Landing
    say: Say
    kind: str = "the MCP server "
    sent: bool = False
    lasts: bool = True
    held: Mapping[str, str] = field(default_factory=dict[str, str])
    _came: asyncio.Future[Mapping[str, str]] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    _outcome: asyncio.Future[str | None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())

    def send(self, url: str) -> None:
        self.expect(parse_qs(urlsplit(url).query)["state"][0])
        self.landing.open(url)
        self.say(MessageType.INFO, f"Sign in to the MCP server {self.name!r}: {url}")

    def expect(self, state: str) -> None:
        """Expect somebody whom the caller sends to the browser itself."""
        self.sent = True
        self.landing.arrivals.expect(state, self)

    @property
    def has_returned(self) -> bool:
        return self._came.done()

    async def back(self) -> Mapping[str, str]:
        """Wait for what the browser brings back."""
        return await asyncio.shield(self._came)  # whoever stops waiting must not look like a browser that came

    async def arrive(self, found: Mapping[str, str]) -> SignInPage:
        if not self._came.done():
            self._came.set_result(found)
        try:
            why = await asyncio.wait_for(asyncio.shield(self._outcome), _EXCHANGE)
        except TimeoutError:
            return SignInPage(202, "Not finished yet", _SLOW)
        if why is None:
            lasts = "" if self.lasts else _FOR_NOW
            return SignInPage(200, "Signed in", _DONE.format(where=self.kind + self.name, lasts=lasts))
        return SignInPage(400, "Not signed in", _FAILED.format(where=self.kind + self.name, why=why))

    def end(self, why: str | None) -> None:
        """End the visit; `why` says why it failed, None means that it worked. The first end counts."""
        self.landing.arrivals.forget(self)
        self.landing.close()
        if not self._outcome.done():
            self._outcome.set_result(why)


class Arrivals:
    """The sign-ins that are waited for, by the `state` that only their authorization server knows."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}

    def expect(self, state: str, visit: Visit) -> None:
        self._visits[state] = visit

    def forget(self, visit: Visit) -> None:
        self._visits = {state: other for state, other in self._visits.items() if other is not visit}

    def hold(self, found: Mapping[str, str]) -> str:
        """Keep what somebody brought who must first log in where they came back to, and return the `state` by which
        `arrive` knows it. The code must not stand in the address of a login page, which is logged."""
        state = found.get("state", "")
        if (visit := self._visits.get(state)) is not None:
            visit.held = found
        return state

    async def arrive(self, found: Mapping[str, str]) -> SignInPage:
        """Hand over what came back. Each `state` counts once."""
        visit = self._visits.pop(found.get("state", ""), None)
        if visit is None:
            return SignInPage(404, "Nothing to do", _UNKNOWN)
        return await visit.arrive(visit.held if set(found) == {"state"} else found)
