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
    """The types of the exceptions that the program of the database raises, such as `sqlite3.Error`, and of those that
    the methods here raise in their place."""

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
        """Open the database. Raises: ConfigError when it cannot be used and nothing can take its place."""
        ...

    def close(self) -> None:
        """Close the database."""
        ...

    def interrupt(self) -> None:
        """End the operation that runs now with an error. It is called from another thread."""
        ...

    def renew(self) -> None:
        """Open the database again, because the connection is lost. Raises: one of `errors`."""
        ...

    def was_committed(self, transaction: str) -> bool:
        """Return whether the transaction with this id was committed. Called after an `UnknownCommit`, the error of a
        commit of which it is not known whether it has worked. Raises: one of `errors`."""
        ...

    def is_damaged(self, error: Exception) -> bool:
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

    `workspace` is the folder of this store. A repair of a damaged file assigns to it the chats of which the file does
    not say any more to which folder they belong.
    """
    if settings is None or settings.url is None:
        return SqliteFile(path, workspace)
    from jupyter_eca.host.store.postgres.schema_database import PostgresSchema

    return PostgresSchema(settings.url.get_secret_value())
