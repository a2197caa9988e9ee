"""Owns the files with what could not be stored when a process ended: `unsaved-20260131-235959-1a2b3c4d.json`. The next
process that opens the store reads such a file, stores the rows that are in it, and deletes the file.

That process locks the file meanwhile. If the process is killed, the lock ends too, and another process takes the file.
If the rows were stored by then, the database says so (`Tables.is_file_stored`).

It must not know the database: `store` does.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config.disk.whole_file import replace_file
from jupyter_eca.host.store.spending import Spending
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)

UNSAVED_PATTERN: Final = "unsaved-*"
"""The names of the files."""

# Windows refuses to read a locked byte, so one far behind the end is locked.
_LOCKED_BYTE: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class UnsavedRows:
    """The events and costs that could not be stored."""

    workspace: str
    """The workspace of the chats."""
    events: list[Event]
    """The events, in their order."""
    spent: list[Spending]
    """The costs of requests."""
    transaction: str = ""
    """The id of the transaction that may have stored the first of them, see `UnknownCommit`; "" for none."""
    event_count: int = 0
    """How many of the events this transaction has stored, if it was committed."""
    spent_count: int = 0
    """How many of the costs this transaction has stored, if it was committed."""


def write_unsaved(folder: Path, rows: UnsavedRows) -> Path:
    """Write rows to a new file in a folder, which only the user can read. Return it. Raises: OSError."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    name = f"unsaved-{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(4)}.json"  # noqa: DTZ005  # in the user's time
    data: dict[str, Any] = {
        "workspace": rows.workspace,
        "transaction": [rows.transaction, rows.event_count, rows.spent_count],
        "events": [event.model_dump(mode="json", by_alias=True) for event in rows.events],
        "spent": [asdict(spending) for spending in rows.spent],
    }
    replace_file(folder / name, json.dumps(data))
    return folder / name


@dataclass(frozen=True, slots=True)
class UnsavedFile:
    """A file that this process has locked."""

    path: Path
    """The file."""
    rows: UnsavedRows
    """What is in it."""
    descriptor: int
    """The open file, which holds the lock."""

    def delete(self) -> None:
        """Delete the file, whose rows are stored."""
        if sys.platform == "win32":  # an open file cannot be deleted there
            self.release()
        with suppress(OSError):
            self.path.unlink()
        if sys.platform != "win32":
            self.release()

    def release(self) -> None:
        """Leave the file to the next process."""
        os.close(self.descriptor)


def take_unsaved(folder: Path, workspace: str) -> list[UnsavedFile]:
    """Return the files with what could not be stored of a workspace, without those that another process has locked. The
    caller deletes or releases them. Blocks."""
    found: list[UnsavedFile] = []
    for path in sorted(folder.glob(f"{UNSAVED_PATTERN}.json")):
        try:
            rows = _read(path)
            if rows.workspace == workspace and (descriptor := _lock(path)) is not None:
                found.append(UnsavedFile(path, rows, descriptor))
        except FileNotFoundError:
            continue  # another process has stored it
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            _log.exception("%s cannot be read", path)
    return found


def _lock(path: Path) -> int | None:
    """Lock a file, and return its descriptor; None if another process holds it. Raises: OSError, FileNotFoundError if
    it was deleted meanwhile."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.stat()  # the process that held the lock may have deleted it
    except FileNotFoundError:
        os.close(descriptor)
        raise
    except (BlockingIOError, PermissionError):
        os.close(descriptor)
        return None
    except OSError:
        # A network drive without locks. So two processes that start at the same time may both store the rows.
        _log.warning("%s cannot be locked", path)
    return descriptor


def _read(path: Path) -> UnsavedRows:
    """Return the rows of a file. Raises: OSError, ValueError, TypeError, KeyError, RecursionError."""
    data = json.loads(path.read_text(encoding="utf-8"))
    events = [Event.model_validate(event) for event in data["events"]]
    return UnsavedRows(data["workspace"], events, [Spending(**spent) for spent in data["spent"]], *data["transaction"])
