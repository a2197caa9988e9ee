"""Owns the connection to the database: it cleans the parameters of every statement, and has the transactions.

It must not know a table.
"""

from __future__ import annotations

import sqlite3
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.base import replace_half_surrogates

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable


class StoreConnection(sqlite3.Connection):
    """Replaces half surrogate pairs in all parameters by a replacement character, because SQLite cannot store them.
    They come from names of files or from output of programs. A search for such a text finds it, because the search
    replaces them too."""

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


def make_damage_error(message: str) -> sqlite3.DatabaseError:
    """Return the error that SQLite raises for a damaged file."""
    error = sqlite3.DatabaseError(message)
    error.sqlite_errorcode = sqlite3.SQLITE_CORRUPT
    return error


@contextmanager
def transaction(db: sqlite3.Connection) -> Generator[None]:
    """Commit the statements within this context together, or none of them if one fails."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")
