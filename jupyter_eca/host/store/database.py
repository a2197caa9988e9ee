"""Owns `Database`: what a store needs of the place where its rows are, whichever program keeps them.

`sqlite_file` is a file of SQLite, and `postgres` a schema of PostgreSQL. It must not know tables: `tables` does, over
the connection of the database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_eca.host.store.sqlite_file import SqliteFile

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.connection import DatabaseConnection


class Database(Protocol):
    """The database of one store. All methods block, and run on the thread of the store."""

    errors: tuple[type[Exception], ...]
    """The types of exceptions that this object and its connection raise when the database fails: those of its driver,
    such as `sqlite3.Error`, and our own ones that the methods here raise instead."""

    @property
    def name(self) -> str:
        """What the database is called in sentences for people, without secrets."""
        ...

    @property
    def files(self) -> frozenset[Path]:
        """The files of the database on this machine."""
        ...

    @property
    def db(self) -> DatabaseConnection:
        """The connection. `open`, `renew` and `repair` replace it."""
        ...

    @property
    def owner(self) -> str:
        """A text that identifies this process. It is stored with each chat in which this process answers, so that no
        other process answers in it. `store.is_alive` returns whether the process still runs."""
        ...

    @property
    def warning(self) -> str:
        """What was wrong when the database was opened, and what to do next, for the user; "" for nothing."""
        ...

    @property
    def is_temporary(self) -> bool:
        """Whether the database is deleted when it is closed."""
        ...

    def open(self) -> None:
        """Open the database. Raises: ConfigError when it cannot be used, and no temporary database can replace
        it."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...

    def interrupt(self) -> None:
        """Stop the operation that is running, which then raises an error. Called from another thread."""
        ...

    def renew(self) -> None:
        """Open the database again, because the connection is lost. Raises: one of `errors`."""
        ...

    def was_committed(self, transaction: str) -> bool:
        """Return whether the transaction with this id was committed. Called after an `UnknownCommit`: that
        error is raised when the connection was lost during a commit, so we do not know whether the commit has worked.
        Raises: one of `errors`."""
        ...

    def is_caused_by_damage(self, error: Exception) -> bool:
        """Return whether `error` was raised because the database is damaged. Some errors have other causes too: then
        the whole database is read to find out."""
        ...

    def has_damage(self) -> bool:
        """Read all of the database, and return whether it is damaged."""
        ...

    def repair(self) -> str:
        """Repair the damaged database, and open it again. Return what happened, for the user; "" when that cannot be
        done."""
        ...

    def describe(self) -> str:
        """Return a text for the report of `jupyter-eca doctor`: which database it is, and what cannot be done with
        it."""
        ...

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how many seconds a statement waits for another program that writes."""
        ...

    def advise(self, reason: str) -> str:
        """Return what the user can do about an error. `reason` is its text."""
        ...


def make_database(path: Path, workspace: str, settings: StoreConfig | None = None) -> Database:
    """Return the database of a store, which is not open yet: a file of SQLite, unless the settings name another one.

    `workspace` is the folder of this store. When a damaged file of SQLite is repaired, the folder of some chats may be
    lost. Those chats are assigned to this folder. PostgreSQL does not need the folder, because we never repair it.
    """
    if settings is None or settings.url is None:
        return SqliteFile(path, workspace)
    from jupyter_eca.host.store.postgres.schema_database import PostgresSchema

    return PostgresSchema(settings.url.get_secret_value())
