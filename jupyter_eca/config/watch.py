"""Watches the configuration files, and reports the new configuration when a file has changed.

It must not read a configuration itself: its caller passes a function that does, which is `layers.read_config`. The
watch polls, as ECA does, because a few `stat` calls cost less than a library.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from jupyter_eca.config.schema import read_file_state
from jupyter_eca.errors import ConfigError, EcaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from jupyter_eca.config.schema import Config, State

# ECA's own interval (3.13).
EVERY_SECONDS = 3.0

# While the disk does not answer, each try leaves a thread behind that waits for it.
LONGEST_PAUSE = 3600.0


P = ParamSpec("P")
T = TypeVar("T")


class RunRead(Protocol):
    """Runs a function that reads files in a thread, and returns its result."""

    def __call__(self, read: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


async def watch(
    current: Config,
    read: Callable[[], Config],
    changed: Callable[[Config], Awaitable[None]],
    failed: Callable[[str], None],
    every: float = EVERY_SECONDS,
    run_read: RunRead = asyncio.to_thread,
) -> None:
    """Watch until cancelled. `run_read` runs the functions that read files, in a thread: `read` only when a file has
    changed. If `run_read` itself raises an error because the disk does not answer, `failed` is called once, and the
    watch tries again after longer and longer pauses.

    After an edit, `changed` is called with the new configuration. After an edit with an error, `failed` is called once
    with the message, and the old configuration stays valid. An edit that changes no setting is ignored. An edit between
    the reading of `current` and this call is noticed too.
    """
    now = seen = current.watched
    pause = every
    while True:
        await asyncio.sleep(pause)
        try:
            now = await run_read(_read_states, seen)
            fresh = None if now == seen else await run_read(read)
        except ConfigError as error:
            seen = now
            failed(str(error))
            continue
        except EcaError as error:
            if pause == every:
                failed(str(error))
            pause = min(pause * 10, LONGEST_PAUSE)
            continue
        pause = every
        if fresh is None:
            continue
        seen = fresh.watched
        before, current = current, fresh
        if not _has_same_settings(before, fresh):
            await changed(fresh)


def _read_states(paths: Iterable[str]) -> dict[str, State | None]:
    return {path: read_file_state(Path(path)) for path in paths}


def _has_same_settings(before: Config, after: Config) -> bool:
    return before == after.model_copy(update={"watched": before.watched})
