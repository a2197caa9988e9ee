"""Copies all chats of a file of SQLite into a schema of PostgreSQL that has none, as `jupyter-eca copy-chats` does.

The numbers of events stay the same, because other rows and clients refer to them. So the chats of two databases cannot
be put together. Everything here blocks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store.connection import transaction
from jupyter_eca.host.store.kept_rows import DERIVED_TABLES, OWNERSHIP, UserScope, read_rows

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from jupyter_eca.host.store.connection import DatabaseConnection, DatabaseCursor
    from jupyter_eca.host.store.kept_rows import KeptRows

# A schema may have rows of these tables before its user has asked anything. They do not count as chats. They are newer
# than the rows of the file, so they stay.
_EARLY_TABLES: Final = frozenset({"choices", "notebook_ids", "counters"})


def copy_file(file: Path, url: str) -> int:
    """Copy the chats of a file to the schema at `url`, in one transaction. Return how many chats there are.

    Raises: ConfigError when one of them cannot be used, or the schema has chats already.
    """
    from jupyter_eca.host.store.postgres.schema_database import describe_url
    from jupyter_eca.host.store.postgres.tables_in_postgres import continue_numbers
    from jupyter_eca.host.store.postgres.whole_schema import open_beside_stores

    with read_rows(file, UserScope()) as rows, open_beside_stores(url) as db, transaction(db):
        if _has_chats(db):
            raise ConfigError(f"Nothing was copied: {describe_url(url)} has chats already.")
        for table in OWNERSHIP.keys() - DERIVED_TABLES:
            _copy_table(rows, db, table)
            if OWNERSHIP[table].order != "rowid":
                continue_numbers(db, table, OWNERSHIP[table].order)
        (count,) = db.execute("SELECT count(*) FROM chats").fetchone() or (0,)
    return count


def _has_chats(db: DatabaseConnection) -> bool:
    """Return whether anything was asked in this database."""
    tables = OWNERSHIP.keys() - DERIVED_TABLES - _EARLY_TABLES
    return any(db.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone() for table in tables)  # noqa: S608  # ours


def _copy_table(rows: KeptRows, db: DatabaseConnection, table: str) -> None:
    """Copy the rows of a table, in their order."""
    names, stored = rows.read_as_stored(table)
    columns, marks = ", ".join(f'"{name}"' for name in names), ", ".join("?" * len(names))
    insert = f"INSERT INTO {table} ({columns}) VALUES ({marks}) ON CONFLICT DO NOTHING"  # noqa: S608  # ours
    db.executemany(insert, _disown(names, stored))


def _disown(names: list[str], stored: DatabaseCursor) -> Iterator[tuple[Any, ...]]:
    """Yield rows without the process that answers in a chat: it is not known to the other database."""
    owner = names.index("owner") if "owner" in names else -1
    for row in stored:
        yield tuple(None if place == owner else value for place, value in enumerate(row))
