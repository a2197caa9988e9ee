"""Owns `SqliteFile`: the database of a store as a file of SQLite. It is opened again when it was replaced or repaired.

`opening` opens it, `repair` repairs it, and `schema` has its tables. Everything here blocks.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import TYPE_CHECKING, Final

from jupyter_eca.host.store.opening import is_damage, open_store
from jupyter_eca.host.store.repair import is_database_damaged, repair

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.host.store.connection import StoreConnection

_log = logging.getLogger(__name__)

# How often a process repairs its file. If it is damaged again and again, the disk is broken.
_MAX_REPAIRS: Final = 3

# What the user can do, by a part of SQLite's message.
_ADVICE: Final = {
    "locked": "Another program is using the file: end it, or wait.",
    "full": "The disk is full: free some space.",
    "readonly": "The file cannot be written: check its permissions.",
    "disk I/O": "The disk does not work: check it, and the space on it.",
    "malformed": "The file is damaged: end all programs that use it, then restore or move it away.",
}


class SqliteFile:
    """A file of SQLite. It implements `Database`."""

    def __init__(self, path: Path, workspace: str) -> None:
        """Chats whose workspace was damaged are assigned to `workspace`."""
        self.errors: tuple[type[Exception], ...] = (sqlite3.Error,)
        self.name: Final = str(path)
        self.files: Final = frozenset(path.with_name(f"{path.name}{end}").resolve() for end in ("", "-wal", "-shm"))
        self.owner: Final = f"{os.getpid()}:{time.time_ns()}"
        self._path = path
        self._workspace = workspace
        self._repairs = 0

    @property
    def db(self) -> StoreConnection:
        """The connection to the file. It is another one after `open`, `renew` and `repair`."""
        return self._opened.db

    @property
    def warning(self) -> str:
        """What was wrong when the file was opened, for the user; "" for nothing."""
        return self._opened.warning

    @property
    def is_temporary(self) -> bool:
        """Whether the chats are in a temporary file, because the file of the user cannot be used."""
        return self._opened.temporary is not None

    def open(self) -> None:
        """Open the file, or a temporary one if the file cannot be used."""
        self._opened = open_store(self._path, self._workspace)
        if self._opened.temporary is None:
            self.db.file, self.db.inode = self._opened.path, self._opened.inode

    def close(self) -> None:
        """Close the file."""
        self._opened.close()

    def interrupt(self) -> None:
        """Stop the statement that is running on another thread. It then raises an error."""
        self.db.interrupt()

    def renew(self) -> None:
        """Open the file again, because another process has replaced it."""
        _log.warning("%s was replaced, and is opened again", self._path)
        self.close()
        self.open()

    def was_committed(self, transaction: str) -> bool:  # noqa: ARG002  # SQLite always says whether a commit has worked
        """Return False. It is never called, because SQLite always says whether a commit has worked."""
        return False

    def is_caused_by_damage(self, error: Exception) -> bool:
        """Return whether an error means that the file is damaged. If the error does not say it, the whole file is
        read."""
        code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)  # a text that is no UTF-8 has no code
        return is_damage(error) if code != sqlite3.SQLITE_ERROR else self.has_damage()

    def has_damage(self) -> bool:
        """Read the whole file, and return whether it is damaged."""
        return is_database_damaged(self.db)

    def repair(self) -> str:
        """Repair the file, and open it again. Return what happened, for the user; "" if the file is not repaired: a
        temporary file never is, and no file more than `_MAX_REPAIRS` times."""
        self._repairs += 1
        if self._repairs > _MAX_REPAIRS or self.is_temporary:
            return ""
        _log.warning("%s is damaged, and is repaired now", self._path)
        self.close()
        warning = ""
        try:
            warning = repair(self._opened.path, self._workspace)
        except (sqlite3.Error, OSError):
            _log.exception("%s could not be repaired", self._path)
        self.open()
        return warning

    def describe(self) -> str:
        """Return the version of SQLite and the path of the file."""
        return f"SQLite {sqlite3.sqlite_version}, `{self._opened.path}`"

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how many seconds a statement waits while another process has the lock of the file."""
        self.db.execute(f"PRAGMA busy_timeout = {round(seconds * 1000)}")

    def advise(self, reason: str) -> str:
        """Return what the user can do about an error; `reason` is its message."""
        return next((advice for words, advice in _ADVICE.items() if words in reason), "See the log.")
