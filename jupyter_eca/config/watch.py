"""Tells when the configuration has changed on disk. Polls, as ECA does: a few `stat` calls cost less than a library."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from jupyter_eca.config.keys import Config

# ECA's own interval (3.13).
EVERY_SECONDS = 3.0

_Print = tuple[tuple[int, int, int] | None, ...]


async def watch(
    current: Config,
    read: Callable[[], Config],
    changed: Callable[[Config], Awaitable[None]],
    failed: Callable[[str], None],
    every: float = EVERY_SECONDS,
) -> None:
    """Until cancelled. `read` runs in a thread. After a bad edit `failed` is told once and `current` stays in force;
    a file that was only touched changes nothing."""
    seen = await asyncio.to_thread(_print, current.watched)
    while True:
        await asyncio.sleep(every)
        now = await asyncio.to_thread(_print, current.watched)
        if now == seen:
            continue
        try:
            fresh = await asyncio.to_thread(read)
        except ConfigError as error:
            seen = now
            failed(str(error))
            continue
        # What it is made of may have changed too: a new `${file:...}`.
        seen = now if fresh.watched == current.watched else await asyncio.to_thread(_print, fresh.watched)
        before, current = current, fresh
        if fresh != before:
            await changed(fresh)


def _print(paths: tuple[str, ...]) -> _Print:
    return tuple(_stat(Path(path)) for path in paths)


def _stat(path: Path) -> tuple[int, int, int] | None:
    """Size and inode too: an editor may replace a file within one tick of the clock."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
