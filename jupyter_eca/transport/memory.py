"""Owns a link between two ends in the same process. The engine inside a kernel uses it, and so do tests.

It must not know what the messages mean. `link` is its neighbour: it has the inbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from jupyter_eca.protocol.jsonrpc import Message


class MemoryLink(Inbox):
    """One of the two ends. Make both with `pair`."""

    other: MemoryLink
    """The end that receives what this end sends."""

    async def send(self, message: Message) -> None:
        if not self.other.closed:
            self.other.push(message)

    async def close(self) -> None:
        self.end()
        self.other.end()


def pair() -> tuple[MemoryLink, MemoryLink]:
    """Make two links, each of which sends to the other."""
    first, two = MemoryLink(), MemoryLink()
    first.other, two.other = two, first
    return first, two
