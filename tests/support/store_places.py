"""Where the chats of a test are stored: in a file of SQLite, or in a schema of a real PostgreSQL.

The tests on PostgreSQL run with `NIGHTLY=1`, and a fixed sample of them always; they are skipped where it is missing.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import pytest
from pydantic import SecretStr

from jupyter_eca.config.schema import StoreConfig
from jupyter_eca.host.store import Store
from jupyter_eca.host.store.database import make_database
from jupyter_eca.host.store.postgres.schema_database import connect, make_lock_number, use_own_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path

    from jupyter_eca.host.store.connection import DatabaseConnection
    from jupyter_eca.protocol.event import Event

SQLITE: Final = "sqlite"
POSTGRESQL: Final = "postgresql"

# `place` is a fixture. A test with one of these marks runs on both.
on_both: Final = pytest.mark.parametrize(
    "place", [SQLITE, pytest.param(POSTGRESQL, marks=pytest.mark.nightly)], indirect=True
)
on_both_always: Final = pytest.mark.parametrize("place", [SQLITE, POSTGRESQL], indirect=True)


@dataclass(frozen=True)
class StorePlace:
    """`path` is the file of the chats, or has the folder of the files that belong to them."""

    path: Path
    url: str = ""

    @property
    def settings(self) -> StoreConfig:
        return StoreConfig(url=SecretStr(self.url) if self.url else None)

    def make_store(self, workspace: str, publish: Callable[[list[Event]], None]) -> Store:
        return Store(self.path, workspace, publish, self.settings)

    def run(self, sql: str) -> list[Any]:
        """As another program does."""
        if not self.url:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
                return db.execute(sql).fetchall()
        with self._connect() as db:
            cursor = db.execute(sql)
            return cursor.fetchall() if cursor.description else []

    @contextmanager
    def open_connection(self) -> Generator[DatabaseConnection]:
        """A connection as a store has it: the tables are made."""
        database = make_database(self.path, "/w", self.settings)
        database.open()
        try:
            yield database.db
        finally:
            database.close()

    def list_tables(self) -> set[str]:
        """All tables but those that a database needs for itself."""
        if self.url:
            rows = self.run("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()")
            return {name for (name,) in rows} - {"migrations"}
        rows = self.run("SELECT name FROM sqlite_master WHERE type = 'table'")
        return {name for (name,) in rows if not name.startswith(("sqlite_", "message_index"))}

    @contextmanager
    def hold(self) -> Generator[None]:
        """Another program writes, and does not end."""
        if not self.url:
            with closing(sqlite3.connect(self.path, isolation_level=None)) as db:
                db.execute("BEGIN IMMEDIATE")
                yield
                db.execute("ROLLBACK")
            return
        with self._connect() as db:
            (schema,) = db.execute("SELECT current_schema()").fetchone()
            db.execute(f"BEGIN; SELECT pg_advisory_xact_lock({make_lock_number('write', schema)})")
            yield
            db.execute("ROLLBACK")

    def refuse_events(self, condition: str = "true") -> None:
        """The database refuses new events, `NEW`, until `accept_events`."""
        if self.url:
            self.run(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'full'; END $$;"
                f" CREATE TRIGGER refused BEFORE INSERT ON events FOR EACH ROW WHEN ({condition})"
                " EXECUTE FUNCTION refuse()"
            )
        else:
            self.run(
                f"CREATE TRIGGER refused BEFORE INSERT ON events WHEN {condition} BEGIN SELECT RAISE(FAIL, 'full'); END"
            )

    def accept_events(self) -> None:
        self.run("DROP TRIGGER refused ON events" if self.url else "DROP TRIGGER refused")

    @contextmanager
    def _connect(self) -> Generator[Any]:
        with connect(self.url) as db:
            use_own_schema(db, "")
            yield db
