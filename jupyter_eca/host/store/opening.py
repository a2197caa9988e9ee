"""Opens the database of chats, also when its file is damaged, too new or not writable, and reports what it did.

| the file | what is opened | what happens to the file |
|---|---|---|
| is fine, or of an older version | the file | its migrations run |
| is damaged | a new file with all that can be read | it is kept with another name (`repair`) |
| is of a newer version | a file of this version beside it, first with a copy of all that can be read | nothing |
| cannot be written, or is locked and needs migrations | a copy in a temporary folder, deleted at the end | nothing |

Everything here blocks. It must not know clients: `store` passes the warnings on.
"""

from __future__ import annotations

import errno
import logging
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ConfigError, NewerStore
from jupyter_eca.host.store import schema
from jupyter_eca.host.store.connection import make_damage_error
from jupyter_eca.host.store.repair import copy_readable, repair
from jupyter_eca.host.store.schema import connect

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.host.store.connection import StoreConnection

_log = logging.getLogger(__name__)

# The part of an error code that all errors of one kind share, see https://sqlite.org/rescode.html.
_PRIMARY_CODE: Final = 0xFF
# The error codes of a damaged file. SQLite returns SQLITE_ERROR for a statement that does not fit the tables.
_DAMAGED: Final = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR})
_UNWRITABLE: Final = frozenset(
    {
        *(sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR),
        *(sqlite3.SQLITE_PERM, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED),
    }
)
_UNWRITABLE_ERRNO: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A database that is open."""

    db: StoreConnection
    """The connection to it."""
    path: Path
    """The file that is open. It may be another file than the requested one."""
    inode: int
    """The number of the file in its file system. It changes when the file is replaced."""
    warning: str = ""
    """What was wrong and what to do next, for the user; "" for nothing."""
    temporary: TemporaryDirectory[str] | None = None
    """The folder of the file, if the file is deleted at the end."""

    def close(self) -> None:
        """Close the database."""
        self.db.close()
        if self.temporary is not None:
            self.temporary.cleanup()


def open_store(path: Path, workspace: str) -> OpenedStore:
    """Open a database, see the table above. Chats whose workspace is lost are assigned to `workspace`.

    Raises: ConfigError, with the path of the file, when it cannot be used and no other file can be opened in its place.
    """
    try:
        return _connect(path)
    except NewerStore:
        return _open_other_file(path, lambda: _open_beside(path, workspace))
    except (sqlite3.Error, OSError) as error:
        if is_damage(error):
            return _open_other_file(path, lambda: _open_repaired(path, workspace))
        if _is_unwritable(error):
            reason = str(error)
            return _open_other_file(path, lambda: _open_copy(path, workspace, reason))
        raise ConfigError(_describe(path, error)) from error


def is_damage(error: Exception) -> bool:
    """Return whether an error says that the file is damaged."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in _DAMAGED


def is_busy(error: Exception) -> bool:
    """Return whether an error says that another program holds the file."""
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _is_unwritable(error: Exception) -> bool:
    """Return whether an error says that a file cannot be written."""
    if isinstance(error, OSError):
        return error.errno in _UNWRITABLE_ERRNO
    code = getattr(error, "sqlite_errorcode", None)
    return code is not None and code & _PRIMARY_CODE in _UNWRITABLE


def _connect(path: Path, warning: str = "", temporary: TemporaryDirectory[str] | None = None) -> OpenedStore:
    """Connect to a file, check the table of the chats, and return the connection with what is known about the file.
    `warning` and `temporary` are put into the result.

    Raises: NewerStore, OSError; sqlite3.Error, also when the table is damaged.
    """
    db = connect(path)
    try:
        # A damaged index hides chats without an error. This table is small; `Store.inspect` reads all of them.
        if db.execute("PRAGMA integrity_check(chats)").fetchone() != ("ok",):
            raise make_damage_error("the index of the chats is damaged")
    except BaseException:
        db.close()
        raise
    return OpenedStore(db, path, path.stat().st_ino, warning, temporary)


def _open_other_file(path: Path, open_other: Callable[[], OpenedStore]) -> OpenedStore:
    """Open another file in place of `path`. Raises: ConfigError when that fails too."""
    try:
        return open_other()
    except (sqlite3.Error, OSError) as error:
        raise ConfigError(_describe(path, error)) from error


def _describe(path: Path, error: Exception) -> str:
    """Return the message for the user about a file that cannot be used."""
    return f"{path} cannot be used: {error}. Fix it, or move it away."


def _open_repaired(path: Path, workspace: str) -> OpenedStore:
    """Repair the file, and open it. If it cannot be moved, or the disk has no space, a temporary copy is repaired."""
    try:
        return _connect(path, repair(path, workspace))
    except (sqlite3.Error, OSError) as error:
        if not _is_unwritable(error):
            raise
        return _open_copy(path, workspace, f"it is damaged, and cannot be repaired: {error}")


def _open_beside(path: Path, workspace: str) -> OpenedStore:
    """Open the file of this version that takes the place of a newer one. It is made the first time."""
    beside = path.with_name(f"{path.stem}.version-{len(schema.MIGRATIONS)}{path.suffix}")
    if not beside.exists():
        with TemporaryDirectory(prefix=".eca-", dir=path.parent) as folder:
            fresh = Path(folder) / "fresh.db"
            copy_readable(path, fresh, workspace, Path(folder))
            fresh.rename(beside)
    warning = (
        f"{path} was written by a newer jupyter-eca, and is left as it is. This version has copied the chats to "
        f"{beside}, and keeps new chats there: install the newer version to go on with {path.name}."
    )
    _log.warning("%s", warning)
    return _connect(beside, warning)


def _open_copy(path: Path, workspace: str, reason: str) -> OpenedStore:
    """Open a temporary copy of a file that cannot be written. If it cannot be read either, the copy is empty."""
    temporary = TemporaryDirectory(prefix="jupyter-eca-", ignore_cleanup_errors=True)
    try:
        copy = Path(temporary.name) / path.name
        for end in ("", "-wal"):
            with suppress(FileNotFoundError, PermissionError):
                shutil.copyfile(f"{path}{end}", f"{copy}{end}")
        try:
            opened = _connect(copy)
        except (sqlite3.Error, NewerStore):
            for file in Path(temporary.name).iterdir():
                file.rename(file.with_name(f"unread-{file.name}"))
            copy_readable(copy.with_name(f"unread-{copy.name}"), copy, workspace, Path(temporary.name))
            opened = _connect(copy)
    except BaseException:
        temporary.cleanup()
        raise
    warning = (
        f"Chats cannot be saved: {path} cannot be written ({reason}). The chats in it are shown, and new ones are lost "
        "when the assistant ends: make it writable, see that the disk has space, end other programs that use the file, "
        "and restart."
    )
    _log.warning("%s", warning)
    return OpenedStore(opened.db, copy, opened.inode, warning, temporary)
