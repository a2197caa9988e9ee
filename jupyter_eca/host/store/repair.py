"""Repairs a damaged database: all that can be read goes into a new file, and the damaged one is kept beside it.

    chats.db                             the new file
    chats.damaged-20260131-235959.db     the damaged file, with its `-wal` if it had one

First SQLite reads each table row by row, on a copy whose header is corrected. Then the pages that SQLite does not reach
are read one by one (`table_pages`), for events and chats. A chat whose row is lost is made again from its events. The
indexes and the search are not copied: they are made again. Everything here blocks.

It must not know who has the damaged file open: `store` does, and `opening` decides when this is called.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import sqlite3
import struct
from contextlib import closing, suppress
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.host.store import schema
from jupyter_eca.host.store.connection import transaction
from jupyter_eca.host.store.kept_rows import DERIVED_TABLES, OWNERSHIP
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.table_pages import PAGE_SIZE, correct_rowids, read_rows_of_pages
from jupyter_eca.host.store.tables import UNREADABLE_EVENT
from jupyter_eca.protocol.content import Role

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.host.store.connection import StoreConnection

_log = logging.getLogger(__name__)

# How often SQLite may fail in a table without a row in between. Below a destroyed page it fails about twice for each
# rowid, in 12 µs each.
_MAX_FAILURES: Final = 10_000
# A rowid that is higher than all others, used if the last rowid is not known.
_HIGHEST_ROWID: Final = 2**40

# The values that the column `role` of an event can have.
_ROLES: Final = frozenset(Role)

# The byte offsets of the numbers in the header of the file: the count of changes, the number of pages, the version of
# our tables, and the count of changes for which the number of pages is right.
_CHANGES, _PAGES, _VERSION, _VALID_FOR = 24, 28, 60, 92
_HEADER_BYTES: Final = 100


def is_database_damaged(db: sqlite3.Connection) -> bool:
    """Return whether a database is damaged. This reads all of it, which takes about a second for each 200 MB."""
    try:
        if db.execute("PRAGMA integrity_check(1)").fetchone() != ("ok",):
            return True
        for table in OWNERSHIP:
            for _ in db.execute(f"SELECT * FROM {table}"):  # noqa: S608  # names of ours
                pass
        return db.execute("SELECT 1 FROM events WHERE NOT json_valid(content) LIMIT 1").fetchone() is not None
    except sqlite3.OperationalError as error:
        # Another program holds the file, or a text is no UTF-8. The latter has no code.
        return getattr(error, "sqlite_errorcode", None) in {None, sqlite3.SQLITE_ERROR}
    except sqlite3.DatabaseError:
        return True


def repair(path: Path, workspace: str) -> str:
    """Replace a damaged database by a new one with all that can be read. Nobody in this process may have it open.
    Return what happened, for the user. `workspace` gets the chats whose workspace is lost.

    Raises: OSError, sqlite3.Error when there is no space for it, or a file cannot be moved: nothing is changed then.
    """
    before = path.stat()
    with TemporaryDirectory(prefix=".eca-", dir=path.parent) as folder:
        fresh = Path(folder) / "fresh.db"
        copy_readable(path, fresh, workspace, Path(folder))
        with closing(connect(fresh)) as db:
            (chats,) = db.execute("SELECT count(*) FROM chats WHERE parent IS NULL").fetchone()
        if path.stat().st_ino != before.st_ino:
            return ""  # another process was faster
        kept = _move_aside(path)
        fresh.rename(path)
    _log.warning("%s was damaged: %d chats were read from it. It is kept as %s", path, chats, kept)
    found = f"{chats} chats could be read" if chats else "No chat could be read"
    return (
        f"{path} was damaged. {found}, and are in a new file with that name. The damaged file is kept as {kept}: if "
        "something is missing, end all programs that use the chats, and put a backup in the place of the new file."
    )


def copy_readable(source: Path, target: Path, workspace: str, folder: Path) -> None:
    """Copy all rows that can be read into a new database. The source is not changed; `folder` is for temporary files.

    Raises: OSError, sqlite3.Error when the target cannot be written.
    """
    copy = folder / "source.db"
    shutil.copyfile(source, copy)
    if (wal := source.with_name(f"{source.name}-wal")).exists():
        shutil.copyfile(wal, copy.with_name(f"{copy.name}-wal"))
    version = _read_version(copy)
    original = copy.read_bytes()[:_HEADER_BYTES]
    with closing(connect(target, version)) as db, transaction(db):
        _correct_header(copy, folder, version)
        with closing(_open_damaged(copy)) as damaged:
            complete = {table for table in OWNERSHIP if table not in DERIVED_TABLES and _copy_table(damaged, db, table)}
        _add_lost_rows(original + copy.read_bytes()[_HEADER_BYTES:], db, only_known="chats" in complete)
    with closing(connect(target)) as db:
        _complete_chats(db, workspace)


def _read_version(path: Path) -> int:
    """Return the number of our migrations that a file says it has; the newest if that is not possible."""
    with path.open("rb") as file:
        header = file.read(_HEADER_BYTES)
    (version,) = struct.unpack_from(">I", header.ljust(_HEADER_BYTES, b"\0"), _VERSION)
    return version if 0 < version <= len(schema.MIGRATIONS) else len(schema.MIGRATIONS)


def _correct_header(path: Path, folder: Path, version: int) -> None:
    """Replace the header of a file by that of an empty database of ours, with the real number of pages. `folder` is for
    temporary files, and `version` the number of migrations that the file has had."""
    empty = folder / "model.db"
    connect(empty, version).close()
    header = bytearray(empty.read_bytes()[:_HEADER_BYTES])
    pages = -(-path.stat().st_size // PAGE_SIZE)
    struct.pack_into(">I", header, _PAGES, pages)
    header[_VALID_FOR : _VALID_FOR + 4] = header[_CHANGES : _CHANGES + 4]
    with path.open("r+b") as file:
        file.write(header)
        file.truncate(pages * PAGE_SIZE)


def _open_damaged(path: Path) -> sqlite3.Connection:
    """Open a copy so that SQLite reads as much as it can. What is in its WAL is written into it."""
    db = sqlite3.connect(path, isolation_level=None)
    db.text_factory = _decode_text
    with suppress(sqlite3.Error):
        db.execute("PRAGMA writable_schema = ON")  # then SQLite continues after errors in its list of tables
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return db


def _decode_text(text: bytes) -> str:
    """Return a text of SQLite. Bytes that are no UTF-8 become a replacement character."""
    return text.decode("utf-8", "replace")


def _copy_table(source: sqlite3.Connection, target: sqlite3.Connection, table: str) -> bool:
    """Copy the rows of a table that SQLite can read. Return whether these were all its rows."""
    try:
        known = {name for _, name, *_ in source.execute(f"PRAGMA table_info({table})")}
        if not known:
            return False
        columns = [name for _, name, *_ in target.execute(f"PRAGMA table_info({table})") if name in known]
        names = ", ".join(f'"{name}"' for name in columns)
        rows = _RowReader(source, f"SELECT rowid, {names} FROM {table}")  # noqa: S608  # names of ours
        insert = f"INSERT OR IGNORE INTO {table} (rowid, {names}) VALUES ({', '.join('?' * (len(columns) + 1))})"  # noqa: S608
        read = ((row[0], row[1:]) for row in rows.read(1, rows.get_highest_rowid(table)))
        for correct_rowid, (rowid, cells) in correct_rowids(read):
            values = dict(zip(columns, cells, strict=True))
            if table == "events":
                if rowid != correct_rowid:
                    continue  # it is found in its page, where it cannot be another row that is read twice
                _mend_event(values)
            target.execute(insert, (rowid, *values.values()))
    except sqlite3.Error as error:
        _log.warning("the table %s could not be read: %s", table, error)
        return False
    return not rows.failures and _is_sound(source, table)


def _is_sound(db: sqlite3.Connection, table: str) -> bool:
    """Return whether the rows of a table are those of its indexes. A damage can take rows away so that SQLite reads the
    others without an error."""
    try:
        return db.execute(f"PRAGMA integrity_check({table})").fetchone() == ("ok",)
    except sqlite3.Error:
        return False


class _RowReader:
    """Reads the rows of a damaged table. Where SQLite fails, it halves the range of rowids and reads both halves."""

    def __init__(self, db: sqlite3.Connection, select: str) -> None:
        """`select` is a query for all rows, without a WHERE. The first column is the rowid."""
        self._db = db
        self._select = f"{select} WHERE rowid BETWEEN ? AND ? ORDER BY rowid"
        self.failures = 0
        """How often SQLite has failed so far."""
        # How often it has failed since the last row.
        self._consecutive_failures = 0

    def get_highest_rowid(self, table: str) -> int:
        """Return the highest rowid, or a higher number."""
        for query in (f"SELECT max(rowid) FROM {table}", f"SELECT seq FROM sqlite_sequence WHERE name = '{table}'"):  # noqa: S608
            with suppress(sqlite3.Error):
                if (row := self._db.execute(query).fetchone()) and isinstance(row[0], int):
                    return row[0]
        return _HIGHEST_ROWID

    def read(self, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Yield the rows whose rowids are between `low` and `high`, both included."""
        try:
            for row in self._db.execute(self._select, (low, high)):
                self._consecutive_failures = 0
                yield row
                low = max(low, row[0] + 1)
        except sqlite3.DatabaseError:
            self.failures += 1
            self._consecutive_failures += 1
            if low < high and self._consecutive_failures < _MAX_FAILURES:
                middle = (low + high) // 2
                yield from self.read(low, middle)
                yield from self.read(middle + 1, high)


def _mend_event(values: dict[str, Any]) -> None:
    """Replace the content and the aside of an event if they are no JSON, because SQL statements parse them too.
    `values` are the columns of its row."""
    if not _is_json(values["content"]):
        values.update(content=UNREADABLE_EVENT, role=Role.SYSTEM, aside="")
    elif values["aside"] and not _is_json(values["aside"]):
        values["aside"] = ""


def _is_json(text: object) -> bool:
    """Return whether a value is the text of a JSON object."""
    try:
        return isinstance(text, str) and isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _add_lost_rows(data: bytes, target: sqlite3.Connection, *, only_known: bool) -> None:
    """Add the events and chats that SQLite did not reach. `data` are the bytes of the damaged file.

    A page does not say which table its rows belong to. So a row is recognized by the types of its values, in the order
    of the columns. With `only_known` no chat is added: then all rows of chats were read, and other chats are deleted
    ones.
    """
    events: list[tuple[Any, ...]] = []
    columns = [name for _, name, *_ in target.execute("PRAGMA table_info(chats)")]
    for rowid, values in read_rows_of_pages(data):
        match values:
            # An event: the number (None, because it is the rowid), chat, turn, role, time, content, aside, outcome, and
            # in newer files `local`.
            case [None, str(), str(), str(role), int(), str(content), str(aside), outcome, *local] if (
                role in _ROLES and _is_json(content) and (outcome is None or isinstance(outcome, str))
            ):
                aside = aside if _is_json(aside) else ""
                events.append((rowid, *values[1:6], aside, outcome, *(local[:1] or [0])))
            # A chat: id, workspace, two times, title, model and owner.
            case [str(), str(), int(), int(), None | str(), None | str(), None | str(), *_] if not only_known:
                names = ", ".join(columns[: len(values)])
                marks = ", ".join("?" * min(len(values), len(columns)))
                target.execute(f"INSERT OR IGNORE INTO chats ({names}) VALUES ({marks})", values[: len(columns)])  # noqa: S608
            case _:
                pass
    known = {id for (id,) in target.execute("SELECT id FROM chats")}
    target.executemany(
        "INSERT OR IGNORE INTO events (seq, chat, turn, role, at, content, aside, outcome, local)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (event for event in events if not only_known or event[1] in known),
    )


def _complete_chats(db: StoreConnection, workspace: str) -> None:
    """Make the rows of chats that have only events."""
    with transaction(db):
        db.execute(
            "INSERT INTO chats (id, workspace, created, updated, title)"
            " SELECT chat, ?, min(at), max(at), max(CASE WHEN json_extract(content, '$.type') = 'metadata'"
            " THEN json_extract(content, '$.title') END)"
            " FROM events WHERE chat NOT IN (SELECT id FROM chats) AND turn != '' GROUP BY chat",
            (workspace,),
        )


def _move_aside(path: Path) -> Path:
    """Rename a database and its WAL, so that the name says that it is damaged, and since when. Return the new path.
    Raises: OSError."""
    base = f"{path.stem}.damaged-{datetime.now():%Y%m%d-%H%M%S}"  # noqa: DTZ005  # a name, in the user's time
    kept = path.with_name(f"{base}{path.suffix}")
    number = 1
    while kept.exists():
        number += 1
        kept = path.with_name(f"{base}-{number}{path.suffix}")
    path.rename(kept)
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            os.rename(f"{path}{end}", f"{kept}{end}")  # noqa: PTH104  # the names are texts
    return kept
