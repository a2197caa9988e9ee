"""Work that runs to its end, even if the task that waits for it is cancelled."""

from __future__ import annotations

import asyncio

import pytest

from jupyter_eca.workspace.shielded import run_to_end
from tests.support.timeouts import PATIENCE

pytestmark = pytest.mark.asyncio


async def test_a_cancelled_caller_waits_until_the_work_has_ended() -> None:
    begun, let_go, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await let_go.wait()
        ended.set()

    waiting = asyncio.create_task(run_to_end(work()))
    async with asyncio.timeout(PATIENCE):
        await begun.wait()
        waiting.cancel()
        let_go.set()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert ended.is_set()


async def test_results_and_errors_of_the_work_reach_the_caller() -> None:
    async def work(number: int) -> float:
        return 1 / number

    assert await run_to_end(work(2)) == 0.5
    with pytest.raises(ZeroDivisionError):
        await run_to_end(work(0))
