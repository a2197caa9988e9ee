"""The updates that wait for a client."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.fronts.acp.outbox import Item, Outbox
from jupyter_eca.protocol.acp.updates import InfoUpdate, SessionUpdateParams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.asyncio

ITEMS = [SessionUpdateParams(session_id=session, update=InfoUpdate(title=session)) for session in "abc"]


class Reader:
    """A client that reads only while `reads` is set, and breaks off at one item."""

    def __init__(self, breaks: str = "") -> None:
        self.got: list[Item] = []
        self.asked = asyncio.Event()
        self.reads = asyncio.Event()
        self.outbox = Outbox(self._receive)
        self._breaks = breaks

    async def _receive(self, item: Item) -> None:
        self.asked.set()
        await self.reads.wait()
        if isinstance(item, SessionUpdateParams) and item.session_id == self._breaks:
            raise ValueError(self._breaks)
        self.got.append(item)


@asynccontextmanager
async def reading(breaks: str = "") -> AsyncGenerator[Reader]:
    reader = Reader(breaks)
    running = asyncio.ensure_future(reader.outbox.run())
    try:
        await asyncio.sleep(0)  # now it waits for the first item
        yield reader
    finally:
        running.cancel()


async def test_a_request_that_is_cancelled_while_it_waits_loses_no_update() -> None:
    async with reading() as reader:
        waiting = asyncio.ensure_future(reader.outbox.flush())
        for item in ITEMS:
            reader.outbox.add(item)
        await reader.asked.wait()
        waiting.cancel()
        await asyncio.wait([waiting])
        reader.reads.set()
        await reader.outbox.flush()
        assert reader.got == ITEMS


async def test_an_update_that_cannot_be_sent_loses_no_other() -> None:
    async with reading(breaks="b") as reader:
        reader.reads.set()
        for item in ITEMS:
            reader.outbox.add(item)
        await reader.outbox.flush()
        assert reader.got == [ITEMS[0], ITEMS[2]]


async def test_nothing_that_waits_is_sent_while_it_is_held_back() -> None:
    async with reading() as reader:
        reader.reads.set()
        async with reader.outbox.holding():
            for item in ITEMS:
                reader.outbox.add(item)
            waiting = asyncio.ensure_future(reader.outbox.flush())
            done, _ = await asyncio.wait([waiting], timeout=0)
            assert (done, reader.got) == (set(), [])
        await waiting
        assert reader.got == ITEMS
