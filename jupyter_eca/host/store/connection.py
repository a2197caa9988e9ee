"""Owns the connection to the database: what it does with every parameter, and how statements take effect together.

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
    They come from names of files or from output of programs. A search for such a text finds it, because it replaces
    them too."""

    def execute(self, sql: str, parameters: Any = (), /) -> sqlite3.Cursor:
        return super().execute(sql, replace_half_surrogates(tuple(parameters)))

    def executemany(self, sql: str, parameters: Iterable[Any], /) -> sqlite3.Cursor:
        return super().executemany(sql, (replace_half_surrogates(tuple(row)) for row in parameters))


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
