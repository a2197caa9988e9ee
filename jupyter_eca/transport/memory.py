"""Two ends in one process: the engine inside a kernel, and tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from jupyter_eca.protocol.jsonrpc import Message


class MemoryLink(Inbox):
    """One end; `other` is where `send` goes."""

    other: MemoryLink

    async def send(self, message: Message) -> None:
        if not self.other.closed:
            self.other.push(message)

    async def close(self) -> None:
        self.end()
        self.other.end()


def pair() -> tuple[MemoryLink, MemoryLink]:
    one, two = MemoryLink(), MemoryLink()
    one.other, two.other = two, one
    return one, two
