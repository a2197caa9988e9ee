"""Cancelled requests: the sender cancels over the link, and the other side stops its work and answers."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import CANCEL, ErrorCode, ErrorResponse, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, make_link_pair
from jupyter_eca.transport.peer import Peer
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.asyncio


@dataclass
class BusyPeer:
    """A peer whose answers wait until the test releases them, and the other end of its link."""

    link: MemoryLink
    peer: Peer = field(init=False)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    released: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, method: str, _params: Any) -> str:
        self.begun.set()
        try:
            if method != "quick":
                await self.released.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"


@asynccontextmanager
async def run_busy_peer() -> AsyncGenerator[BusyPeer]:
    ours, theirs = make_link_pair()
    made = BusyPeer(ours)
    made.peer = Peer(theirs, made.work, lambda _method, _params: None)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(made.peer.run())
        try:
            yield made
        finally:
            await ours.close()


async def receive(link: MemoryLink) -> Any:
    async for message in link:
        return message
    raise AssertionError("the link has ended")


async def test_a_cancelled_request_is_cancelled_on_the_other_side() -> None:
    async with run_busy_peer() as one:
        asking = asyncio.create_task(one.peer.request("ask", {}))
        request = await receive(one.link)
        asking.cancel()
        assert await receive(one.link) == Notification(CANCEL, {"id": request.id})
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_work_for_a_cancelled_request_is_cancelled_and_answered_with_that_error() -> None:
    async with run_busy_peer() as one:
        await one.link.send(Request(7, "slow", {}))
        await one.begun.wait()
        await one.link.send(Notification(CANCEL, {"id": 7}))
        answer = await receive(one.link)
        assert (answer.id, answer.code) == (7, ErrorCode.CANCELLED) == (7, -32800)
        assert one.cancelled.is_set()


async def test_a_request_that_is_cancelled_at_once_is_answered_too() -> None:
    async with run_busy_peer() as one:
        await one.link.send(Request("a", "slow", {}))
        await one.link.send(Notification(CANCEL, {"id": "a"}))
        answer = await receive(one.link)
        assert isinstance(answer, ErrorResponse)
        assert answer.code == ErrorCode.CANCELLED


@pytest.mark.parametrize("params", [{"id": 1}, {"id": "never"}, {"id": None}, {"id": [1]}, {}, None, [], "x"])
async def test_cancelling_an_answered_or_unknown_request_does_nothing(params: Any) -> None:
    async with run_busy_peer() as one:
        await one.link.send(Request(1, "quick", {}))
        assert await receive(one.link) == Result(1, "done")
        await one.link.send(Notification(CANCEL, params))
        await one.link.send(Request(2, "quick", {}))
        assert await receive(one.link) == Result(2, "done")


async def test_an_answered_request_is_not_cancelled() -> None:
    async with run_busy_peer() as one:
        asking = asyncio.create_task(one.peer.request("ask", {}))
        request = await receive(one.link)
        await one.link.send(Result(request.id, "yes"))
        assert await asking == "yes"
        asking = asyncio.create_task(one.peer.request("again", {}))
        assert (await receive(one.link)).method == "again"
        asking.cancel()
        await asyncio.wait((asking,))


async def test_a_peer_that_ends_while_it_works_answers_nothing() -> None:
    ours, theirs = make_link_pair()
    one = BusyPeer(ours)
    one.peer = Peer(theirs, one.work, lambda _method, _params: None)
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(one.peer.run())
        await ours.send(Request(1, "slow", {}))
        await one.begun.wait()
        asking = asyncio.create_task(one.peer.request("ask", {}))
        assert isinstance(await receive(ours), Request)
        running.cancel()
        await asyncio.wait((running,))
        asking.cancel()
        await asyncio.wait((asking,))
        await theirs.close()
        assert [message async for message in ours] == []
    assert one.cancelled.is_set()
