"""Watches the configuration files, and reports the new configuration when a file has changed.

It must not read a configuration itself: its caller passes a function that does, which is `layers.read_config`. The
watch polls, as ECA does, because a few `stat` calls cost less than a library.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.config.schema import read_file_state
from jupyter_eca.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from jupyter_eca.config.schema import Config, State

# ECA's own interval (3.13).
EVERY_SECONDS = 3.0


async def watch(
    current: Config,
    read: Callable[[], Config],
    changed: Callable[[Config], Awaitable[None]],
    failed: Callable[[str], None],
    every: float = EVERY_SECONDS,
) -> None:
    """Watch until cancelled. `read` runs in a thread, every `every` seconds in which a file has changed.

    After an edit, `changed` is called with the new configuration. After an edit with an error, `failed` is called once
    with the message, and the old configuration stays valid. An edit that changes no setting is ignored. An edit between
    the reading of `current` and this call is noticed too.
    """
    seen = current.watched
    while True:
        await asyncio.sleep(every)
        now = await asyncio.to_thread(_read_states, seen)
        if now == seen:
            continue
        try:
            fresh = await asyncio.to_thread(read)
        except ConfigError as error:
            seen = now
            failed(str(error))
            continue
        seen = fresh.watched
        before, current = current, fresh
        if not _has_same_settings(before, fresh):
            await changed(fresh)


def _read_states(paths: Iterable[str]) -> dict[str, State | None]:
    return {path: read_file_state(Path(path)) for path in paths}


def _has_same_settings(before: Config, after: Config) -> bool:
    return before == after.model_copy(update={"watched": before.watched})
