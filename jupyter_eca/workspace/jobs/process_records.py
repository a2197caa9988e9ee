"""The records of processes that run: when this program is killed, the next one ends what it left running.

A record is a file that exists while a process runs. Whoever started the process holds a lock on the file. The system
takes the lock away when its holder ends, however that happens. So a record that nobody holds is that of an orphan. This
needs no clock, and no number of a process that may have been given to another one meanwhile.

The processes of a record are found in two ways. All that a process starts inherits `MARK` in its environment. All that
does not leave its session is found by the session; macOS does not show the environment of every program.

It must not know what the processes do. `shell.py` and `kernels/local.py` open records. On Windows, where there are no
sessions, nothing is recorded.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import secrets
import socket
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.workspace.paths import find_process_records

if TYPE_CHECKING:
    import psutil

_log = logging.getLogger(__name__)

MARK: Final = "JUPYTER_ECA_COMMAND"
"""The variable that all processes of a record inherit, also those that leave the group and the session."""

# A process can start another one while we look for it. The second round finds that one; more rounds are for processes
# that keep starting others.
ROUNDS: Final = 5

# Seconds by which the start of a process may seem to move when the clock is set.
_CLOCK: Final = 2.0

_SUFFIX: Final = ".process"


@dataclass(frozen=True, slots=True)
class Orphan:
    """A process that ran on after the program that had started it was killed, and was ended."""

    name: str
    """What the process was, for the user: its command."""
    chat: str
    """The chat whose turn had started it, or ""."""


@dataclass(eq=False)
class ProcessRecord:
    """The record of one process, which this program has started or is about to start."""

    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    """The value of `MARK` in the environment of the process."""
    path: Path = Path()
    _descriptor: int = -1

    @classmethod
    def open(cls, name: str, chat: str = "", folder: Path | None = None) -> ProcessRecord:
        """Write a record before the process is started. A disk that is full stops no command: then there is none."""
        record = cls()
        folder = folder or find_process_records()
        record.path = folder / f"{record.mark}{_SUFFIX}"
        if sys.platform == "win32":
            return record
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            # It gets its name when it is locked: until then another program would take it for that of an orphan.
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
        """Add the process, which leads a session of its own, once it has started."""
        import psutil

        with contextlib.suppress(OSError, psutil.Error):
            self._write({"pid": pid, "start": psutil.Process(pid).create_time()})

    @property
    def attachment(self) -> Path:
        """A file that may be written for the process, and is deleted with the record."""
        return self.path.with_suffix(".json")

    def close(self) -> None:
        """Delete the record: the process and all that it started have ended."""
        with contextlib.suppress(OSError):
            self.attachment.unlink(missing_ok=True)
            self.path.unlink(missing_ok=True)
        self.abandon()

    def abandon(self) -> None:
        """Give the lock back and leave the file, as the system does when this program is killed."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _write(self, entry: dict[str, Any]) -> None:
        if self._descriptor >= 0:
            os.write(self._descriptor, json.dumps(entry).encode() + b"\n")


def end_orphans(folder: Path | None = None) -> list[Orphan]:
    """End what programs that were killed left running, and delete its records. Return what was ended."""
    importlib.import_module("psutil")  # it takes 30 ms, which the loop must not wait for when a command starts
    folder = folder or find_process_records()
    found = [_end_orphan(path) for path in sorted(folder.glob(f"*{_SUFFIX}"))] if sys.platform != "win32" else []
    return [orphan for orphan in found if orphan is not None]


def _end_orphan(path: Path) -> Orphan | None:
    """End the processes of one record, unless its program lives. Return None if none of them ran."""
    try:
        descriptor = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        _lock(descriptor)
        record = _read(path)
        mark = path.stem
        known = record.get("system") == _identify_system()
        killed = kill_processes(mark, record.get("pid") if known else None, record.get("start"))
        path.with_suffix(".json").unlink(missing_ok=True)
        path.unlink(missing_ok=True)
        return Orphan(str(record.get("name", "")), str(record.get("chat", ""))) if killed else None
    except OSError:
        return None  # its program lives, or it is not ours
    finally:
        os.close(descriptor)


def _read(path: Path) -> dict[str, Any]:
    """Return the entries of a record. The last one may be incomplete: its program was killed."""
    record: dict[str, Any] = {}
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            record.update(json.loads(line))
    return record


def kill_processes(mark: str, leader: int | None, start: float | None = None) -> int:
    """Kill all processes that have the mark or are in the session of the leader. Return their number."""
    killed_count = 0
    for _ in range(ROUNDS):
        killed = signal_processes(mark, leader, "kill", start)
        killed_count += killed
        if not killed:
            break
    return killed_count


def signal_processes(mark: str, leader: int | None, method: str, start: float | None = None) -> int:
    """Call a method of every process that has the mark or is in the session of the leader. Return their number. It
    takes 10 ms for 200 processes.

    `start` is when the leader was started. If a process with its number was started at another time, its session is
    not ours: a number is given again only when nothing is left of the session.
    """
    import psutil

    if leader is not None and start is not None:
        with contextlib.suppress(psutil.Error, OSError):
            leader = leader if abs(psutil.Process(leader).create_time() - start) <= _CLOCK else None
    sent = 0
    for pid in psutil.pids():
        with contextlib.suppress(psutil.Error, OSError):  # it ended meanwhile, or is that of another user
            process = psutil.Process(pid)
            if _belongs_to(process, leader, mark) and process.status() != psutil.STATUS_ZOMBIE:
                getattr(process, method)()
                sent += 1
    return sent


def _belongs_to(process: psutil.Process, leader: int | None, mark: str) -> bool:
    in_session = leader is not None and hasattr(os, "getsid") and os.getsid(process.pid) == leader
    return in_session or process.environ().get(MARK) == mark


def _lock(descriptor: int) -> None:
    """Lock a file until it is closed. Raises: OSError when another program holds it."""
    if sys.platform != "win32":
        import fcntl

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


def _identify_system() -> str:
    """Return what differs between machines, their starts, and containers. Each counts processes anew."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip() + os.readlink("/proc/self/ns/pid")  # noqa: PTH115  # it leads to no file
    except OSError:
        import psutil

        boot = str(round(psutil.boot_time(), -2))
    return f"{socket.gethostname()} {boot}"
