"""Changes that are made whole or not at all, whatever happens to whoever asked for them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Coroutine

T = TypeVar("T")


async def whole(work: Coroutine[Any, Any, T]) -> T:
    """Its result. Who is cancelled in the middle of it stays until it has ended, and is cancelled then: for work of
    milliseconds, which left half done would do harm."""
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
            continue  # it is raised again where the work has ended
    if not task.cancelled():
        task.exception()  # nobody is left to be told
