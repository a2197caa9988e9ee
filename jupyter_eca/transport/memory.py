"""Owns the link between two ends in the same process. A host inside a kernel uses it, and so do tests.

It must not know what the messages mean. `link` is its neighbour: it has the inbox.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from jupyter_eca.protocol.jsonrpc import Message


class MemoryLink(Inbox):
    """One of the two ends. `make_link_pair` makes both."""

    other: MemoryLink
    """The end that receives what this end sends."""

    async def send(self, message: Message) -> None:
        """Push a message to the other end."""
        if not self.other.closed:
            self.other.push(message)

    async def close(self, reason: str = "") -> None:  # noqa: ARG002  # no message tells the other end
        """Close both ends."""
        self.end()
        self.other.end()


def make_link_pair() -> tuple[MemoryLink, MemoryLink]:
    """Return two links, each of which sends to the other."""
    first, second = MemoryLink(), MemoryLink()
    first.other, second.other = second, first
    return first, second
