"""Runs blocking reads of files in a few threads of their own, each read for a limited time.

A read from a network disk that is gone does not return, and Python cannot cancel a thread. The default executor of the
event loop is not used, for two reasons. Such reads would occupy one of its threads after the other, until no other work
gets a thread. And the process could not end, because Python waits for the threads of executors. The threads here are
daemons, so Python does not wait for them. If a read takes too long, its thread counts as stuck, and another thread is
started in its place.

The module must not know what is read. `config/disk/regular_file.py` decides which files may be opened.
"""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable

P = ParamSpec("P")
T = TypeVar("T")

# Seconds that a read has. The largest notebook that is read has 200 MB, and its cells may have to be converted. That
# takes seconds on a slow machine.
READ_SECONDS: Final = 30.0

# The number of reads that run at once. Disks are not faster with more.
THREADS: Final = 6
# The number of stuck threads that are replaced by new ones. Each of them costs some kilobytes.
MAX_STUCK: Final = 64


async def run_read(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that reads files, and return its result.

    Raises: ToolError when it takes longer than READ_SECONDS, and whatever the function raises.
    """
    pending = _PendingRead(lambda: read(*args, **kwargs))
    _READERS.add(pending)
    limit = asyncio.timeout(READ_SECONDS)
    try:
        async with limit:
            return await asyncio.wrap_future(pending.result)
    except TimeoutError as error:
        if limit.expired():
            raise ToolError(
                f"The disk did not answer within {READ_SECONDS:g} seconds; the read was given up.",
                "Go on without this file, or ask the user whether its disk is connected.",
            ) from error
        raise
    finally:
        _READERS.give_up(pending)


@dataclass(eq=False)
class _PendingRead:
    """One call of `run_read`."""

    work: Callable[[], Any]
    """The function that reads, with its arguments."""
    result: Future[Any] = field(default_factory=Future[Any])
    """The result of the function, or its error."""
    began: bool = False
    """Whether a thread has begun the work."""
    ended: bool = False
    """Whether the thread has ended the work."""
    stuck: bool = False
    """Whether its thread was counted as stuck."""


class _Readers:
    """Owns the threads, and starts one when it is needed."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._queue: SimpleQueue[_PendingRead] = SimpleQueue()
        # The number of reads that wait for a thread.
        self._waiting = 0
        # The number of threads that wait for a read.
        self._idle = 0
        # The number of all threads.
        self._threads = 0
        # The number of threads that still run a read although its caller has given up.
        self._stuck = 0

    def add(self, pending: _PendingRead) -> None:
        """Queue a read, and start a thread for it if no idle thread can take it and the limit allows another one."""
        with self._lock:
            self._waiting += 1
            needs_thread = self._waiting > self._idle and self._threads < THREADS + min(self._stuck, MAX_STUCK)
            self._threads += needs_thread
        self._queue.put(pending)
        if needs_thread:
            threading.Thread(target=self._serve, name="eca-read", daemon=True).start()

    def give_up(self, pending: _PendingRead) -> None:
        """Note that nobody waits for this read any more. If it still runs, its thread counts as stuck."""
        with self._lock:
            if pending.began and not pending.ended and not pending.stuck:
                pending.stuck = True
                self._stuck += 1

    def _serve(self) -> None:
        """Run one read after the other. This is what each thread runs."""
        while True:
            with self._lock:
                if self._threads > THREADS + min(self._stuck, MAX_STUCK):
                    self._threads -= 1
                    return  # this thread was stuck, and another one has replaced it
                self._idle += 1
            pending = self._queue.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
                pending.began = True
            _run(pending)
            with self._lock:
                pending.ended = True
                self._stuck -= pending.stuck


def _run(pending: _PendingRead) -> None:
    """Run a read in this thread, unless its caller has given up. The result or the error goes to the caller."""
    if not pending.result.set_running_or_notify_cancel():
        return
    try:
        found = pending.work()
    except BaseException as error:  # noqa: BLE001  # the caller of `run_read` gets it, whatever it is
        pending.result.set_exception(error)
    else:
        pending.result.set_result(found)


# The threads of this process.
_READERS: Final = _Readers()
