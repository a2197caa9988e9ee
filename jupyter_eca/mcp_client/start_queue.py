"""Holds back servers that start together, so that fifty of them do not delay the first prompt of the user.

All of them need the SDK, whose import takes a second: it is imported once, in one thread. And only a few programs start
at the same time, because together they would take all cores for seconds. `server.py` starts each server.
"""

from __future__ import annotations

import asyncio
import importlib
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from jupyter_eca import redaction

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

# A program that has been starting for so many seconds waits for something else than a core, such as a download. Then
# the next one may start.
_SLOW_SECONDS: Final = 2.0


class StartQueue:
    """What all servers of one manager share when they start."""

    def __init__(self) -> None:
        # Held while the SDK is imported.
        self._import_lock = asyncio.Lock()
        self._is_sdk_imported = False
        # How many programs may start at the same time: one for each core, and at least two.
        self._free_slots = asyncio.Semaphore(max(2, os.cpu_count() or 1))

    async def import_sdk(self) -> None:
        """Import the SDK, if it is not imported yet.

        The import must not take more than one thread: asyncio has few, and a prompt needs them.
        """
        async with self._import_lock:
            if not self._is_sdk_imported:
                await asyncio.to_thread(_import_sdk)
                self._is_sdk_imported = True

    @asynccontextmanager
    async def wait_for_slot(self) -> AsyncGenerator[Callable[[], None]]:
        """Wait until a program may start. Its slot is free again when the returned function is called, when the block
        ends, and when the start is slow."""
        await self._free_slots.acquire()
        is_held = True

        def release() -> None:
            """Free the slot. Only the first call has an effect."""
            nonlocal is_held
            if is_held:
                is_held = False
                self._free_slots.release()

        timer = asyncio.get_running_loop().call_later(_SLOW_SECONDS, release)
        try:
            yield release
        finally:
            timer.cancel()
            release()


def _import_sdk() -> None:
    """Import the modules that import the SDK. Its loggers exist then, so our filter for secrets is added to them."""
    importlib.import_module("jupyter_eca.mcp_client.session_run")
    importlib.import_module("jupyter_eca.mcp_client.results")
    redaction.install_log_filter()
