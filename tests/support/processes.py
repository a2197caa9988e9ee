"""Whether the processes that a test has started, or had started, have ended.

A process that was killed is gone a moment later, and on a busy machine much later: its killer does not wait for it,
unless it is its parent, and whoever inherits it may take time to bury it.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import psutil

from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path


def is_alive(pid: int) -> bool:
    """A dead process that is not buried yet is not alive."""
    try:
        return psutil.Process(pid).status() not in {psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}
    except psutil.NoSuchProcess:
        return False


def have_ended(*pids: int) -> bool:
    """Whether all end without any more help: the event loop of the test stands still until they have."""
    deadline = time.monotonic() + PATIENCE
    while any(is_alive(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def find_processes(data: Path) -> set[int]:
    """All processes that have this folder of data in their environment, as each has that our programs start there."""
    found: set[int] = set()
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if process.environ().get("JUPYTER_DATA_DIR") == str(data) and is_alive(process.pid):
                found.add(process.pid)
    return found
