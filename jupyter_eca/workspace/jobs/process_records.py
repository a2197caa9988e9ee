"""Keeps a record of each process that we start. If our program is killed, its processes may continue to run. They are
called orphans, and the next start of our program ends them.

A record is a file that exists while the process runs. The program that started the process holds a lock on the file.
The operating system releases the lock when that program ends, even if it is killed. So a record without a lock belongs
to an orphan. This test needs no clock. It also needs no process id, which the system may have given to another process.

The processes of a record are found in two ways. First, all processes that a process starts inherit the variable `MARK`
in their environment. Second, they are in its session, unless they leave it. The second way is needed because macOS does
not show the environment of every program.

The module must not know what the processes do. `shell.py`, `process_folder.py`, `kernels/local.py`,
`acp_client/process.py` and `mcp_client/transports.py` open records. Windows has no sessions, so nothing is recorded
there.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import json
import logging
import os
import secrets
import shutil
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.workspace.paths import get_process_records_folder

if TYPE_CHECKING:
    import psutil

_log = logging.getLogger(__name__)

MARK: Final = "JUPYTER_ECA_COMMAND"
"""The environment variable that all processes of a record inherit, even those that leave the group and the session."""

# How often all processes are searched at most. A process can start another one while we search, and the second round
# finds it. More rounds are for processes that start others again and again.
ROUNDS: Final = 5

# Seconds by which the start time of a process may seem to change when the clock is set.
_CLOCK_TOLERANCE: Final = 2.0

# The end of the name of a record.
_SUFFIX: Final = ".process"


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process that still ran after the program that started it was killed. We have ended it."""

    name: str
    """The command of the process, for the user."""
    chat: str
    """The chat whose turn started the process; "" for none."""


@dataclass(eq=False)
class ProcessRecord:
    """The record of one process that this program has started or is about to start."""

    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    """The value of `MARK` in the environment of the process."""
    path: Path = Path()
    """The path of the record."""
    _descriptor: int = -1
    """The open file that holds the lock; -1 when there is none."""

    @classmethod
    def open(cls, name: str, chat: str = "", folder: Path | None = None) -> ProcessRecord:
        """Write a record before the process is started. `name` is the command for the user, `chat` the id of the chat
        that starts it ("" for none), and `folder` the folder of the records; None for the usual one. If the record
        cannot be written, for example because the disk is full, the process is started without one."""
        record = cls()
        folder = folder or get_process_records_folder()
        record.path = folder / f"{record.mark}{_SUFFIX}"
        if sys.platform == "win32":
            return record
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # The file gets its final name only when it is locked. Without a lock, another program would take it for
            # the record of an orphan.
            hidden = record.path.with_suffix(".new")
            record._descriptor = os.open(hidden, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
            _lock(record._descriptor)
            record._write({"name": name, "chat": chat, "system": _identify_system()})
            hidden.rename(record.path)
        except OSError as error:
            _log.warning("if this program is killed, nothing will end %r: %s", name, error)
            record.close()
        return record

    def note_process(self, pid: int) -> None:
        """Write the id and the start time of the process into the record. The process leads its own session."""
        import psutil

        with contextlib.suppress(OSError, psutil.Error):
            self._write({"pid": pid, "start": psutil.Process(pid).create_time()})

    def note_folder(self, folder: Path) -> None:
        """Write the path of a folder that is deleted if this program is killed. Its name ends with the mark."""
        with contextlib.suppress(OSError):
            self._write({"folder": str(folder)})

    @property
    def attachment(self) -> Path:
        """The path of one more file that the caller may write for the process. It is deleted together with the
        record."""
        return self.path.with_suffix(".json")

    def close(self) -> None:
        """Delete the record, because the process and all processes that it started have ended."""
        with contextlib.suppress(OSError):
            self.attachment.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Release the lock and leave the file, as the operating system does when this program is killed. Besides
        `close`, only tests call it, to make an orphan."""
        # Two threads may end a process at the same time. Each takes the descriptor before it closes it, so that only
        # one of them closes it.
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)

    def _write(self, entry: dict[str, Any]) -> None:
        """Append an entry, which is one line of JSON."""
        if self._descriptor >= 0:
            os.write(self._descriptor, json.dumps(entry).encode() + b"\n")


async def import_psutil() -> None:
    """Import psutil in a thread, because this takes 30 ms. It is done before a process is started: most servers never
    start one."""
    if "psutil" not in sys.modules:
        await asyncio.to_thread(importlib.import_module, "psutil")


def end_orphans(folder: Path | None = None) -> list[Orphan]:
    """End the orphans, and delete their records. `folder` is the folder of the records; None for the usual one. Return
    the orphans that were ended."""
    folder = folder or get_process_records_folder()
    found = [_end_orphan(path) for path in sorted(folder.glob(f"*{_SUFFIX}"))] if sys.platform != "win32" else []
    return [orphan for orphan in found if orphan is not None]


def _end_orphan(path: Path) -> Orphan | None:
    """End the processes of one record, unless the program that started them still runs. Return None if no process
    ran."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        _lock(descriptor)
        record = _read(path)
        mark = path.stem
        is_same_system = record.get("system") == _identify_system()
        killed = kill_processes(mark, record.get("pid") if is_same_system else None, record.get("start"))
        path.with_suffix(".json").unlink(missing_ok=True)
        if (folder := Path(str(record.get("folder", "")))).name.endswith(mark):
            shutil.rmtree(folder, ignore_errors=True)
        path.unlink(missing_ok=True)
        return Orphan(str(record.get("name", "")), str(record.get("chat", ""))) if killed else None
    except OSError:
        return None  # the program still runs, or the record belongs to another user
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    """Return the entries of a record, merged: `name`, `chat`, `system`, `pid`, `start` and `folder`. The last entry
    may be incomplete, because the program was killed while it wrote."""
    record: dict[str, Any] = {}
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            record.update(json.loads(line))
    return record


def kill_processes(mark: str, leader: int | None, start: float | None = None) -> int:
    """Kill all processes that have the mark or are in the session of the leader. Return how many were killed. See
    `signal_processes` for the arguments."""
    killed_count = 0
    for _ in range(ROUNDS):
        killed = signal_processes(mark, leader, "kill", start)
        killed_count += killed
        if not killed:
            break
    return killed_count


def signal_processes(mark: str, leader: int | None, method: str, start: float | None = None) -> int:
    """Call a method of psutil, such as `kill`, on each process that has the mark or is in the session of the leader, or
    of another leader with the mark. Return how many processes there were. It takes 10 ms for 200 processes.

    `leader` is the process id of the session's leader, and `start` its start time in seconds since 1970; None when they
    are unknown. If the process with this id has no mark and was started at another time, the system has given the id
    to another process. It does so only when the whole session has ended. So then only the mark counts. The mark is
    compared first, because all start times change when the clock is set.
    """
    import psutil

    if leader is not None and start is not None:
        with contextlib.suppress(psutil.Error, OSError):
            found = psutil.Process(leader)
            is_ours = found.environ().get(MARK) == mark or abs(found.create_time() - start) <= _CLOCK_TOLERANCE
            leader = leader if is_ours else None
    # If this program was killed before it noted the leader, the leader is found by its mark.
    sessions = set[int]() if leader is None else {leader}
    seen: list[tuple[psutil.Process, bool, int]] = []
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):  # the process ended meanwhile, or belongs to another user
            process, session = psutil.Process(pid), os.getsid(pid) if hasattr(os, "getsid") else 0
            has_mark = session not in sessions and process.environ().get(MARK) == mark
            sessions |= {session} if has_mark and session == pid else set()
            seen.append((process, has_mark, session))
    sent = 0
    for process, has_mark, session in seen:
        with contextlib.suppress(psutil.Error, OSError):
            if (has_mark or session in sessions) and process.status() != psutil.STATUS_ZOMBIE:
                getattr(process, method)()
                sent += 1
    return sent


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed. Raises: OSError when another program holds it."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _identify_system() -> str:
    """Return a text that is different for each machine, each boot of a machine, and each container. A process id has a
    meaning only within one of these."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # this link does not lead to a file
    except OSError:
        import psutil

        boot = str(round(psutil.boot_time(), -2))
    return f"{socket.gethostname()} {boot}"
