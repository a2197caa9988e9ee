"""Owns the polling of MCP resources that change without notice, such as a notebook that a user edits in a page. A
resource is data with a URI, to which clients can subscribe.

A resource is polled every two seconds, but only while a client is subscribed to it. This module must not know the
subscribers: `server.py` does.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

# Seconds between two polls of a resource.
POLL_SECONDS: Final = 2.0


class WatchedResources:
    """The resources to which clients are subscribed."""

    def __init__(
        self, fingerprint: Callable[[str], Awaitable[str | None]], notify: Callable[[str], Awaitable[None]]
    ) -> None:
        """Make an empty list of resources.

        `fingerprint` returns a value that is different after each change of a resource, or None for a resource whose
        changes are announced. `notify` is called with the URI of each resource that has changed.
        """
        self._fingerprint = fingerprint
        self._notify = notify
        self._subscriptions: Counter[str] = Counter()  # the number of subscriptions to each URI
        self._fingerprints: dict[str, str] = {}  # the last fingerprint of each URI
        self._wake = asyncio.Event()  # set when a subscription was added

    async def remember(self, uri: str) -> None:
        """Remember the current fingerprint of a resource. Called before the client gets the reply to its subscription,
        so that each change after the reply is noticed."""
        if uri not in self._fingerprints and (found := await self._fingerprint(uri)) is not None:
            self._fingerprints[uri] = found

    def add(self, uri: str) -> None:
        """Add a subscription."""
        self._subscriptions[uri] += 1
        self._wake.set()

    def remove(self, uri: str) -> None:
        """Remove a subscription."""
        self._subscriptions[uri] -= 1
        if self._subscriptions[uri] <= 0:
            del self._subscriptions[uri]
            self._fingerprints.pop(uri, None)

    @contextmanager
    def watching(self, uris: list[str]) -> Generator[None]:
        """Hold subscriptions to these resources while this context lasts."""
        for uri in uris:
            self.add(uri)
        try:
            yield
        finally:
            for uri in uris:
                self.remove(uri)

    async def run(self) -> None:
        """Poll the resources until this is cancelled."""
        while True:
            if not self._subscriptions:
                self._wake.clear()
                await self._wake.wait()
            for uri in list(self._subscriptions):
                before, found = self._fingerprints.get(uri), await self._fingerprint(uri)
                if found is not None and uri in self._subscriptions:
                    self._fingerprints[uri] = found
                    if before is not None and before != found:
                        await self._notify(uri)
            await asyncio.sleep(POLL_SECONDS)
