"""Requests that are taken back: by whoever asked, over a link, and what the other side makes of it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import CANCEL, Code, Failure, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, pair
from jupyter_eca.transport.peer import Peer
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

pytestmark = pytest.mark.asyncio


@dataclass
class Desk:
    """A peer whose work goes on until it is let go, and the other end of its link."""

    link: MemoryLink
    peer: Peer = field(init=False)
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    let_go: asyncio.Event = field(default_factory=asyncio.Event)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, method: str, _params: Any) -> str:
        self.begun.set()
        try:
            if method != "quick":
                await self.let_go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        return "done"


@asynccontextmanager
async def desk() -> AsyncGenerator[Desk]:
    ours, theirs = pair()
    made = Desk(ours)
    made.peer = Peer(theirs, made.work, lambda _method, _params: None)
    async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as tasks:
        tasks.create_task(made.peer.run())
        try:
            yield made
        finally:
            await ours.close()


async def heard(link: MemoryLink) -> Any:
    async for message in link:
        return message
    raise AssertionError("the link has ended")


async def test_a_request_taken_back_is_cancelled_on_the_other_side() -> None:
    async with desk() as one:
        asking = asyncio.create_task(one.peer.request("ask", {}))
        asked = await heard(one.link)
        asking.cancel()
        assert await heard(one.link) == Notification(CANCEL, {"id": asked.id})
        with pytest.raises(asyncio.CancelledError):
            await asking


async def test_work_for_a_request_that_is_taken_back_is_cancelled_and_answered_so() -> None:
    async with desk() as one:
        await one.link.send(Request(7, "slow", {}))
        await one.begun.wait()
        await one.link.send(Notification(CANCEL, {"id": 7}))
        answer = await heard(one.link)
        assert (answer.id, answer.code) == (7, Code.CANCELLED) == (7, -32800)
        assert one.cancelled.is_set()


async def test_a_request_that_is_taken_back_at_once_is_answered_too() -> None:
    async with desk() as one:
        await one.link.send(Request("a", "slow", {}))
        await one.link.send(Notification(CANCEL, {"id": "a"}))
        answer = await heard(one.link)
        assert isinstance(answer, Failure)
        assert answer.code == Code.CANCELLED


@pytest.mark.parametrize("params", [{"id": 1}, {"id": "never"}, {"id": None}, {"id": [1]}, {}, None, [], "x"])
async def test_taking_back_what_is_answered_or_was_never_asked_does_nothing(params: Any) -> None:
    async with desk() as one:
        await one.link.send(Request(1, "quick", {}))
        assert await heard(one.link) == Result(1, "done")
        await one.link.send(Notification(CANCEL, params))
        await one.link.send(Request(2, "quick", {}))
        assert await heard(one.link) == Result(2, "done")


async def test_an_answered_request_is_not_taken_back() -> None:
    async with desk() as one:
        asking = asyncio.create_task(one.peer.request("ask", {}))
        asked = await heard(one.link)
        await one.link.send(Result(asked.id, "yes"))
        assert await asking == "yes"
        asking = asyncio.create_task(one.peer.request("again", {}))
        assert (await heard(one.link)).method == "again"
        asking.cancel()
        await asyncio.wait((asking,))


async def test_a_peer_that_is_ended_in_mid_work_answers_nothing() -> None:
    ours, theirs = pair()
    one = Desk(ours)
    one.peer = Peer(theirs, one.work, lambda _method, _params: None)
    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(one.peer.run())
        await ours.send(Request(1, "slow", {}))
        await one.begun.wait()
        asking = asyncio.create_task(one.peer.request("ask", {}))
        assert isinstance(await heard(ours), Request)
        running.cancel()
        await asyncio.wait((running,))
        asking.cancel()
        await asyncio.wait((asking,))
        await theirs.close()
        assert [message async for message in ours] == []
    assert one.cancelled.is_set()
