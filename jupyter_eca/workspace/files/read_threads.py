"""Runs blocking reads of files in threads of their own, each for a limited time.

A read of a network disk that is gone does not return, and no thread can be cancelled. In the default executor of the
event loop such reads would take one thread after the other, until nothing that needs a thread goes on, and the process
could not end, because Python waits for the threads of executors. So reads have a few threads of their own. They are
daemons, for which nobody waits, and for a thread that does not come back in time another one is started.

It must not know what is read. Which files may be opened is decided in `config/disk/regular_file.py`.
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

# The largest notebook that is read has 200 MB, and its cells may have to be converted: seconds on a slow machine.
READ_SECONDS: Final = 30.0

# As many reads run at once. Disks are not faster with more.
THREADS: Final = 6
# So many threads may be stuck before reads are refused. Each of them costs some kilobytes.
MAX_STUCK: Final = 64


async def run_read(read: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run a function that reads files, and return its result.

    Raises: ToolError when it takes longer than READ_SECONDS; what the function raises.
    """
    job = _Job(lambda: read(*args, **kwargs))
    _READERS.add(job)
    limit = asyncio.timeout(READ_SECONDS)
    try:
        async with limit:
            return await asyncio.wrap_future(job.result)
    except TimeoutError as error:
        if limit.expired():
            raise ToolError(
                f"The disk did not answer within {READ_SECONDS:g} seconds; the read was given up.",
                "Go on without this file, or ask the user whether its disk is connected.",
            ) from error
        raise
    finally:
        _READERS.give_up(job)


@dataclass(eq=False)
class _Job:
    work: Callable[[], Any]
    result: Future[Any] = field(default_factory=Future[Any])
    began: bool = False
    ended: bool = False
    stuck: bool = False


class _Readers:
    """The threads. `_stuck` are those whose reads nobody waits for any more."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._waiting = 0
        self._idle = 0
        self._threads = 0
        self._stuck = 0

    def add(self, job: _Job) -> None:
        with self._lock:
            self._waiting += 1
            missing = self._waiting > self._idle and self._threads < THREADS + min(self._stuck, MAX_STUCK)
            self._threads += missing
        self._jobs.put(job)
        if missing:
            threading.Thread(target=self._serve, name="eca-read", daemon=True).start()

    def give_up(self, job: _Job) -> None:
        """Note that nobody waits for a job any more. If it still runs, its thread counts as stuck."""
        with self._lock:
            if job.began and not job.ended and not job.stuck:
                job.stuck = True
                self._stuck += 1

    def _serve(self) -> None:
        while True:
            with self._lock:
                if self._threads > THREADS + min(self._stuck, MAX_STUCK):
                    self._threads -= 1
                    return  # it was stuck, and has been replaced
                self._idle += 1
            job = self._jobs.get()
            with self._lock:
                self._idle -= 1
                self._waiting -= 1
                job.began = True
            _run(job)
            with self._lock:
                job.ended = True
                self._stuck -= job.stuck


def _run(job: _Job) -> None:
    if not job.result.set_running_or_notify_cancel():
        return
    try:
        found = job.work()
    except BaseException as error:  # noqa: BLE001  # whoever waits gets it, whatever it is
        job.result.set_exception(error)
    else:
        job.result.set_result(found)


_READERS: Final = _Readers()
