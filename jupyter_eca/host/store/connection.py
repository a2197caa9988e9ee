"""Owns the connection to the database: it cleans the parameters of every statement, and has the transactions.

It must not know a table. `dialect` has the SQL that differs between databases.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar, Final, Protocol

from jupyter_eca.host.store.dialect import SQLITE, SqlDialect
from jupyter_eca.protocol.base import replace_half_surrogates

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path


class UnknownCommit(Exception):  # whether it is an error is not known
    """The connection was lost while a transaction was committed, so it is not known whether it was committed."""

    def __init__(self, transaction: str) -> None:
        """`transaction` is the id of the transaction, which only its database understands."""
        super().__init__("the connection was lost")
        self.transaction: Final = transaction
        """The id of the transaction, with which `Database.was_committed` asks whether it was committed."""
        self.written: Any = None
        """What the transaction has stored, if it was committed: the `WriteResult` of `Tables.write`, which sets it."""


class DatabaseCursor(Protocol):
    """The result of a statement. It is the part of Python's database API that this room uses."""

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement has written or deleted."""
        ...

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """A sequence for each column of the result, of which the first item is the name of the column; None for a
        statement without a result."""
        ...

    def fetchone(self) -> Any:
        """Return the next row as a tuple; None when no row is left."""
        ...

    def fetchall(self) -> list[Any]:
        """Return all rows that are left, as tuples."""
        ...

    def __iter__(self) -> Iterator[Any]: ...


class DatabaseConnection(Protocol):
    """A connection to a database of chats. A statement outside of `transaction` is committed by itself."""

    dialect: ClassVar[SqlDialect]
    """The SQL that differs from that of other databases."""

    def execute(self, sql: str, parameters: Any = (), /) -> DatabaseCursor:
        """Run a statement. Its parameters are written as `?`."""
        ...

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> object:
        """Run a statement once for each row of parameters."""
        ...

    def insert(self, sql: str, parameters: Any, key: str, /) -> int:
        """Run an INSERT of one row, and return the number that the database has given to its column `key`."""
        ...

    def begin(self) -> None:
        """Begin a transaction that writes. It waits until no other connection writes."""
        ...

    def commit(self) -> None:
        """End a transaction, and keep what it has written. Raises: UnknownCommit."""
        ...

    def roll_back(self) -> None:
        """End a transaction, and leave everything as it was before."""
        ...

    def is_lost(self) -> bool:
        """Return whether the database must be opened again: the server has ended, or the file was replaced."""
        ...

    def compact(self) -> None:
        """Rewrite the database without deleted rows."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class StoreConnection(sqlite3.Connection):
    """A connection to a file of SQLite. It replaces half surrogate pairs in all parameters by a replacement character,
    because SQLite cannot store them. They come from names of files or from output of programs. A search for such a text
    finds it, because the text that is searched for is a parameter too."""

    dialect: ClassVar[SqlDialect] = SQLITE
    file: Path | None = None
    """The file, if it may be replaced while it is open: another process repairs it."""
    inode: int = 0
    """The number of the file in its file system. It changes when the file is replaced."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        """Run a statement with parameters that SQLite can store."""
        try:
            return super().execute(sql, replace_half_surrogates(tuple(parameters)))
        except UnicodeDecodeError as error:
            # SQLite quotes a damaged schema in the message of its error, and Python cannot decode that.
            raise make_damage_error("the file is damaged") from error

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        """Run a statement once for each row of parameters."""
        return super().executemany(sql, (replace_half_surrogates(tuple(row)) for row in parameters))

    def insert(self, sql: str, parameters: Any, key: str, /) -> int:  # noqa: ARG002  # the number of a row is its key
        """Run an INSERT of one row, and return the number of the row, which SQLite uses as the key."""
        return self.execute(sql, parameters).lastrowid or 0

    def begin(self) -> None:
        """Begin a transaction, and take the lock for writing at once. It waits while another connection has the
        lock."""
        self.execute("BEGIN IMMEDIATE")

    def is_lost(self) -> bool:
        """Return whether the file was replaced or deleted since it was opened."""
        try:
            return self.file is not None and self.file.stat().st_ino != self.inode
        except FileNotFoundError:
            return True
        except OSError:
            return False

    def compact(self) -> None:
        """Rewrite the file without deleted rows."""
        self.execute("VACUUM")

    def commit(self) -> None:
        """End the transaction, and keep what it has written."""
        self.execute("COMMIT")

    def roll_back(self) -> None:
        """End the transaction, and leave everything as it was before."""
        self.execute("ROLLBACK")


def make_damage_error(message: str) -> sqlite3.DatabaseError:
    """Return the error that SQLite raises for a damaged file."""
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@contextmanager
def transaction(db: DatabaseConnection) -> Generator[None]:
    """Commit the statements within this context together, or none of them if one fails."""
    db.begin()
    try:
        yield
    except BaseException:
        db.roll_back()
        raise
    db.commit()
