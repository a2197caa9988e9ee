"""Owns how statements take effect together. It must not know a table."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Generator


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
