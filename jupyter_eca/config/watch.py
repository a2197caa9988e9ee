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

    from jupyter_eca.config.schema import Config, FileState

# The time between two looks at the files. ECA uses the same interval.
EVERY_SECONDS = 3.0

# The longest pause while the disk does not answer: each try leaves a thread behind that waits for the disk.
LONGEST_PAUSE_SECONDS = 3600.0

P = ParamSpec("P")
T = TypeVar("T")


class RunRead(Protocol):
    """Runs in a thread a function that reads files, and returns its result."""

    def __call__(self, read: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Awaitable[T]: ...


async def watch(
    current: Config,
    read: Callable[[], Config],
    on_change: Callable[[Config], Awaitable[None]],
    on_failure: Callable[[str], None],
    every: float = EVERY_SECONDS,
    run_read: RunRead = asyncio.to_thread,
) -> None:
    """Watch until cancelled.

    `current` is the configuration as it was read last. `read` reads it again, and is called only when a file has
    changed. `every` is the time between two looks at the files, in seconds. `run_read` runs the functions that read
    files, in a thread.

    After an edit, `on_change` is called with the new configuration. After an edit with an error, `on_failure` is called
    once with the message, and the old configuration stays valid. An edit that changes no setting is ignored. An edit
    between the reading of `current` and this call is noticed too. `run_read` may give up when the disk does not answer,
    and raise an error (`asyncio.to_thread` never does). Then `on_failure` is called once, and the watch tries again
    after longer and longer pauses.
    """
    # The states of the files at the last look, and those for which the configuration or its error was last read.
    states = seen_states = current.watched
    pause = every
    while True:
        await asyncio.sleep(pause)
        try:
            states = await run_read(_read_states, seen_states)
            new_config = None if states == seen_states else await run_read(read)
        except ConfigError as error:
            seen_states = states
            on_failure(str(error))
            continue
        except EcaError as error:
            if pause == every:
                on_failure(str(error))
            pause = min(pause * 10, LONGEST_PAUSE_SECONDS)
            continue
        pause = every
        if new_config is None:
            continue
        seen_states = new_config.watched
        before, current = current, new_config
        if not _has_same_settings(before, new_config):
            await on_change(new_config)


def _read_states(paths: Iterable[str]) -> dict[str, FileState | None]:
    """Return the state of each file; None for a file that does not exist."""
    return {path: read_file_state(Path(path)) for path in paths}


def _has_same_settings(before: Config, after: Config) -> bool:
    """Return whether two configurations differ at most in the states of their files."""
    return before == after.model_copy(update={"watched": before.watched})
