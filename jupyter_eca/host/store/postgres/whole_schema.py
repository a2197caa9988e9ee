"""Opens a schema of PostgreSQL without a store: to read it as it is at one moment, to delete from it, or to copy chats
into it.

`jupyter-eca export`, `purge`, `usage` and `copy-chats` use it, by way of `host.store.kept_rows` and
`host.store.copied_rows`. Everything here blocks.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store.postgres.connection import PostgresConnection
from jupyter_eca.host.store.postgres.schema_database import (
    connect,
    describe_error,
    describe_url,
    import_psycopg,
    make_lock_number,
    use_own_schema,
)
from jupyter_eca.host.store.postgres.tables_in_postgres import migrate

if TYPE_CHECKING:
    from collections.abc import Generator


@contextmanager
def open_snapshot(url: str) -> Generator[PostgresConnection]:
    """Yield a connection that reads all rows as they are now. Raises: ConfigError when the database cannot be used."""
    with _open(url) as (raw, db, _):
        raw.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield db


@contextmanager
def open_alone(url: str) -> Generator[tuple[PostgresConnection, list[str] | None]]:
    """Yield a connection, and None if no store has the schema open: then none can open it within this context. If a
    store has it open, yield the programs that use it in place of None.

    Raises: ConfigError when the database cannot be used.
    """
    with _open(url) as (raw, db, schema):
        (is_alone,) = raw.execute("SELECT pg_try_advisory_lock(%s)", (make_lock_number("open", schema),)).fetchone()
        yield db, None if is_alone else _list_programs(raw)


@contextmanager
def open_beside_stores(url: str) -> Generator[PostgresConnection]:
    """Yield a connection that may write while stores have the schema open. Raises: ConfigError when the database cannot
    be used."""
    with _open(url) as (_, db, _):
        yield db


@contextmanager
def _open(url: str) -> Generator[tuple[Any, PostgresConnection, str]]:
    """Yield psycopg's connection, ours, and the name of the schema. Raises: ConfigError."""
    psycopg, name = import_psycopg(), describe_url(url)
    try:
        with connect(url) as raw:
            schema = use_own_schema(raw, name)
            db = PostgresConnection(raw, make_lock_number("write", schema))
            migrate(db, name)
            yield raw, db, schema
    except psycopg.Error as error:
        raise ConfigError(f"{name} cannot be used: {describe_error(error)}.") from error


def _list_programs(raw: Any) -> list[str]:
    """Return the programs that use the database as the same role, in words."""
    rows = raw.execute(
        "SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = current_user"
        " AND datname = current_database() AND pid != pg_backend_pid() ORDER BY 1"
    )
    return [name or "another program" for (name,) in rows]
