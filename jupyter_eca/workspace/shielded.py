"""Runs short work to its end even if the task that waits for it is cancelled, so that a change is made as a whole or
not at all.

It must not know what the work is. Files are replaced as a whole in `files/atomic_write.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


async def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work. If the caller is cancelled meanwhile, it waits until the work has ended, and is
    cancelled then. Use it for work of milliseconds that would do harm if it were left half done."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await _wait_for_end(task)
        raise


async def _wait_for_end(task: asyncio.Future[Any]) -> None:
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError:
            continue  # the caller raises it again once the work has ended
    if not task.cancelled():
        task.exception()  # marks the error as seen: no caller is left to raise it to
