"""Owns the notice of changes to resources that nobody announces: a user edits a notebook, or runs a cell, in a page.

A resource is looked at every two seconds while a client is subscribed to it, and not otherwise. It must not know who is
subscribed (`server.py`).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

# Seconds between two looks at a resource.
PERIOD: Final = 2.0


class WatchedResources:
    """`fingerprint` returns a value that changes with a resource, or None for one that announces its changes itself.
    `notify` is called with the URI of each resource that changed."""

    def __init__(
        self, fingerprint: Callable[[str], Awaitable[str | None]], notify: Callable[[str], Awaitable[None]]
    ) -> None:
        self._fingerprint = fingerprint
        self._notify = notify
        self._watched: Counter[str] = Counter()
        self._seen: dict[str, str] = {}
        self._wake = asyncio.Event()

    async def look(self, uri: str) -> None:
        """Remember how a resource is now, before its client is told that it is subscribed."""
        if uri not in self._seen and (found := await self._fingerprint(uri)) is not None:
            self._seen[uri] = found

    def add(self, uri: str) -> None:
        self._watched[uri] += 1
        self._wake.set()

    def remove(self, uri: str) -> None:
        self._watched[uri] -= 1
        if self._watched[uri] <= 0:
            del self._watched[uri]
            self._seen.pop(uri, None)

    @contextmanager
    def watching(self, uris: list[str]) -> Generator[None]:
        for uri in uris:
            self.add(uri)
        try:
            yield
        finally:
            for uri in uris:
                self.remove(uri)

    async def run(self) -> None:
        """Look at the resources until cancelled."""
        while True:
            if not self._watched:
                self._wake.clear()
                await self._wake.wait()
            for uri in list(self._watched):
                before, found = self._seen.get(uri), await self._fingerprint(uri)
                if found is not None and uri in self._watched:
                    self._seen[uri] = found
                    if before is not None and before != found:
                        await self._notify(uri)
            await asyncio.sleep(PERIOD)
