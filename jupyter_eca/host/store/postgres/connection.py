"""Owns the connection to PostgreSQL: it translates the statements of this room, and cleans values on their way in and
out.

A value that PostgreSQL would refuse is refused here, before it is sent. An error of the server would end the whole
transaction, with the values of other chats in it. It must not know a table.
"""

from __future__ import annotations

import re
import select
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Final

from jupyter_eca.host.store.connection import UnknownCommit
from jupyter_eca.host.store.dialect import POSTGRES, SqlDialect
from jupyter_eca.host.store.postgres.text import escape, unescape
from jupyter_eca.protocol.base import replace_half_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

# PostgreSQL stores at most 1 GB in a value, and a character has up to four bytes.
_MAX_CHARACTERS: Final = 250_000_000
# A call of SQLite's function `instr`, which our statements use only as a condition.
_INSTR: Final = re.compile(r"\binstr\(([^()]*)\)")
# The integers that PostgreSQL can store in a column.
_INTEGERS: Final = range(-(2**63), 2**63)


class PostgresConnection:
    """A connection of psycopg, used as a `DatabaseConnection`."""

    dialect: ClassVar[SqlDialect] = POSTGRES

    def __init__(self, raw: Any, writer_lock: int) -> None:
        """`raw` is the connection of psycopg, which commits each statement by itself. `writer_lock` is the number of
        the advisory lock that a transaction holds."""
        self._raw = raw
        self._begin: Final = f"BEGIN; SELECT pg_advisory_xact_lock({writer_lock}), pg_current_xact_id()::text"
        # The id of the transaction that has begun last, for `UnknownCommit`.
        self._transaction = ""

    def execute(self, sql: str, parameters: Any = (), /) -> PostgresRows:
        """Run a statement that is written for SQLite, with parameters that PostgreSQL can store."""
        return PostgresRows(self._raw.execute(_translate(sql), [_clean(value) for value in parameters]))

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> None:
        """Run a statement that is written for SQLite once for each row of parameters."""
        with self._raw.cursor() as cursor:
            cursor.executemany(_translate(sql), [[_clean(value) for value in row] for row in parameters])

    def insert(self, sql: str, parameters: Any, key: str, /) -> int:
        """Run an INSERT of one row, and return the number that the server has given to its column `key`."""
        (number,) = self.execute(f"{sql} RETURNING {key}", parameters).fetchall()[0]
        return number

    def begin(self) -> None:
        """Begin a transaction, and wait for the lock that all writing processes of this user share."""
        # The lock comes in the same message. It makes the transactions of all processes of a user follow each other,
        # as in SQLite. So the numbers of events have the order of their commits, and a reader that asks for what came
        # after a number misses none.
        cursor = self._raw.execute(self._begin, prepare=False)
        cursor.nextset()
        _, self._transaction = cursor.fetchone()

    def commit(self) -> None:
        """End the transaction, and keep what it has written. Raises: UnknownCommit if the connection is lost
        meanwhile."""
        try:
            self._raw.execute("COMMIT")
        except Exception as error:
            if self._raw.closed:
                raise UnknownCommit(self._transaction) from error
            raise

    def roll_back(self) -> None:
        """End the transaction, and leave everything as it was before. The server has done it already if the connection
        is lost."""
        if not self._raw.closed:
            self._raw.execute("ROLLBACK")

    def is_lost(self) -> bool:
        """Return whether the server has ended the connection."""
        # A server that ends says so. It is read here, so the loss is known before a statement is sent, and no statement
        # runs twice. At the first reading there is its message, and at the next one the end of the connection.
        while not self._raw.closed and select.select([self._raw.fileno()], [], [], 0)[0]:
            with suppress(Exception):  # psycopg's, which is not imported here
                self._raw.pgconn.consume_input()
        return self._raw.closed

    def compact(self) -> None:
        """Rewrite each table without deleted rows."""
        query = "SELECT quote_ident(tablename) FROM pg_tables WHERE schemaname = current_schema()"
        for (table,) in self.execute(query).fetchall():
            self._raw.execute(f"VACUUM FULL {table}", prepare=False)

    def close(self) -> None:
        """Close the connection."""
        self._raw.close()


class PostgresRows:
    """The result of a statement: psycopg's cursor, with the texts as they were before they were stored."""

    def __init__(self, cursor: Any) -> None:
        self._cursor = cursor

    @property
    def rowcount(self) -> int:
        """The number of rows that the statement has written, deleted or found."""
        return self._cursor.rowcount

    @property
    def description(self) -> Sequence[Sequence[Any]] | None:
        """A sequence for each column of the result, of which the first item is the name of the column."""
        return self._cursor.description

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row, with its texts as they were before they were stored; None when no row is left."""
        row = self._cursor.fetchone()
        return None if row is None else _restore(row)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows that are left, with their texts as they were before they were stored."""
        return [_restore(row) for row in self._cursor.fetchall()]

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return map(_restore, self._cursor)


@lru_cache(maxsize=256)
def _translate(sql: str) -> str:
    """Return a statement with the parameters and functions of PostgreSQL. No statement of ours has a `?` in a text."""
    return _INSTR.sub(r"strpos(\1) > 0", sql).replace("%", "%%").replace("?", "%s")


def _clean(value: Any) -> Any:
    """Return a value as PostgreSQL stores it. Raises: OverflowError, TypeError when it cannot be stored."""
    match value:
        case str():
            if len(value) > _MAX_CHARACTERS:
                raise OverflowError("the text is too long")
            return escape(replace_half_surrogates(str(value)))
        case bool():
            return int(value)
        case int():
            if value not in _INTEGERS:
                raise OverflowError("the number has more than 64 bits")
            return value
        case None | float() | bytes():
            return value
        case _:
            raise TypeError(f"a value of the type {type(value).__name__} cannot be stored")


def _restore(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return a row with its texts as they were before `_clean` has changed them."""
    return tuple(unescape(value) if isinstance(value, str) else value for value in row)
