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
    """The types of the exceptions that its operations raise."""

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
        """The mark of this process on the chats in which it answers, see `store.is_alive`."""
        ...

    @property
    def warning(self) -> str:
        """What was wrong when it was opened and what to do next, for the user; "" for nothing."""
        ...

    @property
    def is_temporary(self) -> bool:
        """Whether all of it is deleted when it is closed."""
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
        """Return whether a transaction was committed. `transaction` is that of an `UnknownCommit`.
        Raises: one of `errors`."""
        ...

    def is_damaged(self, error: Exception) -> bool:
        """Return whether an error comes from damage. If the error alone does not tell, the whole
        database is read."""
        ...

    def has_damage(self) -> bool:
        """Read all of the database, and return whether it is damaged."""
        ...

    def repair(self) -> str:
        """Repair the damaged database, and open it again. Return what happened, for the user; "" when that cannot be
        done."""
        ...

    def describe(self) -> str:
        """Return what the database is, and what cannot be done with it, for the command `doctor`."""
        ...

    def set_patience(self, seconds: float) -> None:
        """Set how many seconds a statement waits for another program that writes."""
        ...

    def advise(self, reason: str) -> str:
        """Return what the user can do about an error. `reason` is its text."""
        ...


def make_database(path: Path, workspace: str, settings: StoreConfig | None = None) -> Database:
    """Return the database of a store, which is not open yet: a file of SQLite, unless the settings name another one.

    Chats whose workspace was damaged are assigned to `workspace`.
    """
    if settings is None or settings.url is None:
        return SqliteFile(path, workspace)
    from jupyter_eca.host.store.postgres.schema_database import PostgresSchema

    return PostgresSchema(settings.url.get_secret_value())
