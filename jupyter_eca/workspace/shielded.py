"""Runs short work to its end, even if the task that waits for it is cancelled. So a change is never left half made.

The module must not know what the work is. Its neighbour `files/atomic_write.py` replaces files as a whole.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. If the caller is cancelled meanwhile, this function waits until the work has
    ended, and then raises CancelledError. Use it only for work that takes milliseconds, and that would do harm if it
    were left half done."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _wait_for_end(task)
        raise


async def _wait_for_end(task: asyncio.Future[Any]) -> None:
    """Wait until a task has ended, however often this task is cancelled meanwhile."""
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            continue  # `run_to_end` raises it again once the work has ended
    if not task.cancelled():
        task.exception()  # marks the error as seen: no caller is left to raise it to
