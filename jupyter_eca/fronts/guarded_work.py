"""Runs work for the clients of a front in tasks. An error in one of them ends no other task.

This module must not know what the work is. Each front has a task group, so its tasks end when the front ends.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Coroutine

_log = logging.getLogger(__name__)


class GuardedWork:
    """The tasks of one front, or of one client."""

    def __init__(self, protocol: str) -> None:
        """`protocol` is the name of the front's protocol, for the log."""
        self._protocol = protocol
        self._tasks: set[asyncio.Task[None]] = set()  # those that have not ended

    def start(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, Any]) -> asyncio.Task[None]:
        """Run work in a task of a group. An error in it is logged."""

        async def run_guarded() -> None:
            """Do the work, and log its error."""
            try:
                await work
            except Exception:  # noqa: BLE001  # the boundary to clients: a bug ends one piece of work, and no other
                _log.exception("work for a client of the %s failed", self._protocol)

        def forget(task: asyncio.Task[None]) -> None:
            """Forget a task that has ended."""
            self._tasks.discard(task)
            work.close()  # the task may have been cancelled before it began

        task = group.create_task(run_guarded())
        self._tasks.add(task)
        task.add_done_callback(forget)
        return task

    def cancel(self) -> None:
        """Cancel all tasks that have not ended."""
        for task in self._tasks:
            task.cancel()
