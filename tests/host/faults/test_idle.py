"""A host at rest: ECA 6.1, class 28."""

from __future__ import annotations

import asyncio
import selectors
from typing import TYPE_CHECKING, Any

from tests.support.host_and_client import answer, desk

if TYPE_CHECKING:
    from pathlib import Path

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "Hello"}]}]
# Long enough that anything which looks again and again is seen, and short enough to wait for.
REST_SECONDS = 0.5


async def rest() -> None:
    rested = asyncio.Event()
    asyncio.get_running_loop().call_later(REST_SECONDS, rested.set)
    await rested.wait()


class Counting(selectors.DefaultSelector):
    """Counts how often the event loop woke up."""

    def __init__(self) -> None:
        super().__init__()
        self.woken = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.woken += 1
        return super().select(timeout)


def test_a_host_at_rest_after_a_turn_does_nothing(tmp_path: Path) -> None:
    selector = Counting()

    async def turns() -> tuple[int, list[int]]:
        tasks: list[int] = []
        async with desk(tmp_path, RULES) as table:
            client = await table.client()
            for _ in range(3):
                await answer(client, "you")
                await rest()  # what ends with the turn is over then
                tasks.append(len(asyncio.all_tasks()))
            before = selector.woken
            await rest()
            return selector.woken - before, tasks

    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        woken, tasks = runner.run(turns())
    assert woken < 10
    assert len(set(tasks[1:])) == 1
