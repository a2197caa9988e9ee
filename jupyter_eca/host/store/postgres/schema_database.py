"""Owns `PostgresSchema`: the database of a store as a schema of PostgreSQL. It connects, and connects again.

Each user has a role and a schema, so nobody can read the chats of others. Two advisory locks of PostgreSQL take the
place of SQLite's lock file and of process numbers, which say nothing where each server runs in a container:

- All processes that have the chats of a user open share one lock. `jupyter-eca purge` needs it alone.
- Each process holds a lock with a random number, which is its `owner`. It answers in the chats that are marked with
  this number, as long as somebody holds the lock. PostgreSQL frees the locks of a process that has ended.

Everything here blocks. It must not know tables: `tables_in_postgres` makes them.
"""

from __future__ import annotations

import importlib
import logging
import os
import secrets
import socket
import time
from contextlib import suppress
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store import schema
from jupyter_eca.host.store.connection import UnknownCommit
from jupyter_eca.host.store.dialect import SESSION
from jupyter_eca.host.store.postgres.connection import PostgresConnection
from jupyter_eca.host.store.postgres.tables_in_postgres import make_search_index, migrate

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)

# The seconds that a new connection may take.
_CONNECT_SECONDS: Final = 5
# The seconds after a failed connection in which no other one is tried. Otherwise each read would wait for a failure of
# its own.
_PAUSE_SECONDS: Final = 0.5

# How psycopg connects, unless the URL says something else. A server that has lost its network is noticed after 30 s.
_OPTIONS: Final = {
    "connect_timeout": _CONNECT_SECONDS,
    "keepalives_idle": 15,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "client_encoding": "UTF8",
}
# The same for the server, which else keeps the locks of a lost machine for two hours. A process that was stopped in
# the middle of a transaction must not keep others from writing.
_SESSION_SETTINGS: Final = (
    "SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3;"
    " SET idle_in_transaction_session_timeout = '60s'"
)

_NO_PSYCOPG: Final = (
    "`store.url` is set, so chats are stored in PostgreSQL, but the package for it is missing. Install it: "
    "`pip install 'jupyter-eca[postgres]'`."
)
_NO_SCHEMA: Final = (
    "{name} cannot be used: the role `{role}` has no schema of its own, and may not create one. An administrator can "
    'create it: `CREATE SCHEMA AUTHORIZATION "{role}"`.'
)
_DESCRIPTION: Final = (
    "{name}, version {version}, schema `{schema}`. Only files of SQLite are repaired by the assistant, and only they "
    "have a copy for the chats of a newer version. {search}"
)
_INDEXED: Final = "The search has an index (`pg_trgm`)."
_NOT_INDEXED: Final = "The search reads all messages; with the extension `pg_trgm` it would have an index."
_ADVICE: Final = "It is tried again by itself. If that does not help, ask whoever runs the database."


class PostgresSchema:
    """A schema of PostgreSQL. It implements `Database`."""

    def __init__(self, url: str) -> None:
        self.errors: tuple[type[Exception], ...] = ()  # those of psycopg, which `open` imports
        self.name: Final = describe_url(url)
        self.files: Final[frozenset[Path]] = frozenset()
        self.owner: Final = f"{SESSION}{secrets.randbits(63)}"
        self.warning: Final = ""
        self.is_temporary: Final = False
        self._url = url
        self._lock_timeout = schema.BUSY_SECONDS
        self._description = self.name
        # The connection of psycopg; None before `open`.
        self._raw: Any = None
        # Why the last attempt of `renew` has failed, and when (`time.monotonic`); None if it has worked.
        self._failure: Exception | None = None
        self._failed_at = float("-inf")

    @property
    def db(self) -> PostgresConnection:
        """The connection. It is another one after `open` and `renew`."""
        return self._db

    def open(self) -> None:
        """Connect to the server. Raises: ConfigError when the server or the schema cannot be used."""
        psycopg = import_psycopg()
        self.errors = (psycopg.Error, ConfigError, UnknownCommit)
        try:
            self._connect()
        except psycopg.Error as error:
            raise ConfigError(f"{self.name} cannot be used: {describe_error(error)}. {_ADVICE}") from error

    def close(self) -> None:
        """Release the locks of this process, and close the connection."""
        if self._raw is not None:
            with suppress(*self.errors):
                # The server notices the end of a connection a moment later.
                self._raw.execute("SELECT pg_advisory_unlock_all()")
            with suppress(*self.errors):
                self._raw.close()

    def interrupt(self) -> None:
        """Shut the socket of the connection down, so that the operation on another thread stops with an error."""
        # psycopg waits for the server without a limit, but it notices the end of the socket.
        with suppress(OSError, *self.errors), socket.socket(fileno=os.dup(self._raw.fileno())) as connection:
            connection.shutdown(socket.SHUT_RDWR)

    def renew(self) -> None:
        """Connect to the server again. After a failure, the same error is raised for a while without another
        attempt."""
        if self._failure is not None and time.monotonic() - self._failed_at < _PAUSE_SECONDS:
            raise self._failure
        try:
            self._connect()
        except self.errors as error:
            self._failure, self._failed_at = error, time.monotonic()
            raise
        self._failure = None
        _log.warning("%s is connected again", self.name)

    def was_committed(self, transaction: str) -> bool:
        """Ask the server whether the transaction with this id was committed. Raises: one of `errors`."""
        (status,) = self._raw.execute("SELECT pg_xact_status(%s::xid8)", (transaction,)).fetchone()
        if status == "in progress":
            # The server does not know yet that the connection is lost. Until it does, it holds the lock for writing.
            raise import_psycopg().OperationalError("a lost connection still writes")
        return status == "committed"

    def is_caused_by_damage(self, error: Exception) -> bool:  # noqa: ARG002  # PostgreSQL looks after its own files
        """Return False: the administrator of the server has to repair it."""
        return False

    def has_damage(self) -> bool:
        """Return False: PostgreSQL has no check that reads the whole database."""
        return False

    def repair(self) -> str:
        """Repair nothing, and return "": there is nothing to tell the user."""
        return ""

    def describe(self) -> str:
        """Return the kind and the version of the server, and the schema, without secrets."""
        return self._description

    def set_lock_timeout(self, seconds: float) -> None:
        """Set how many seconds a statement waits for a lock, now and after each new connection."""
        self._lock_timeout = seconds
        with suppress(*self.errors):
            self._apply_lock_timeout()

    def advise(self, reason: str) -> str:  # noqa: ARG002  # only the administrator can do something
        """Return the same advice for every error."""
        return _ADVICE

    def _connect(self) -> None:
        """Connect, make the tables if needed, and take the locks. Raises: ConfigError, an error of psycopg."""
        self.close()
        self._raw = connect(self._url)
        try:
            self._apply_lock_timeout()
            name = use_own_schema(self._raw, self.name)
            self._raw.execute(f"SELECT pg_advisory_lock_shared({make_lock_number('open', name)})")
            # Shared, because the server may not know yet that an earlier connection of this process is lost.
            self._raw.execute(f"SELECT pg_advisory_lock_shared({self.owner.removeprefix(SESSION)})")
            self._db = PostgresConnection(self._raw, make_lock_number("write", name))
            migrate(self._db, self.name)
            has_index = make_search_index(self._db)
            (version,) = self._raw.execute("SHOW server_version").fetchone()
            self._description = _DESCRIPTION.format(
                name=self.name, version=version, schema=name, search=_INDEXED if has_index else _NOT_INDEXED
            )
        except BaseException:
            self.close()
            raise

    def _apply_lock_timeout(self) -> None:
        """Tell the server how long the statements of this connection wait for a lock, in milliseconds."""
        self._raw.execute(f"SET lock_timeout = {round(self._lock_timeout * 1000)}")


def import_psycopg() -> Any:
    """Return the package `psycopg`. Raises: ConfigError when it is not installed."""
    try:
        return importlib.import_module("psycopg")
    except ImportError as error:
        raise ConfigError(_NO_PSYCOPG) from error


def connect(url: str) -> Any:
    """Return a connection that commits each statement by itself. Raises: an error of psycopg."""
    psycopg = import_psycopg()
    known = psycopg.conninfo.conninfo_to_dict(url)
    options = {name: value for name, value in _OPTIONS.items() if name not in known}
    name = f"jupyter-eca on {socket.gethostname()} (process {os.getpid()})"
    raw = psycopg.connect(url, autocommit=True, application_name=name, **options)
    # Our only values of this type are sums of integers.
    raw.adapters.register_loader("numeric", importlib.import_module("psycopg.types.numeric").IntLoader)
    raw.execute(_SESSION_SETTINGS, prepare=False)
    return raw


def use_own_schema(raw: Any, name: str) -> str:
    """Use the schema of the role of a connection, and create it if needed. Return its name.

    Raises: ConfigError, with the `name` of the database, when there is none and it cannot be created.
    """
    found, role, encoding = _find_schema(raw)
    if encoding != "UTF8":
        raise ConfigError(f"{name} cannot be used: its encoding is {encoding}. Create a database with UTF8.")
    if found is None:
        psycopg = import_psycopg()
        try:
            raw.execute("CREATE SCHEMA IF NOT EXISTS AUTHORIZATION CURRENT_USER")
        except psycopg.errors.InsufficientPrivilege as error:
            raise ConfigError(_NO_SCHEMA.format(name=name, role=role)) from error
        found, *_ = _find_schema(raw)
    if found is None:
        raise ConfigError(_NO_SCHEMA.format(name=name, role=role))
    raw.execute("SELECT set_config('search_path', quote_ident(%s), false)", (found,))
    return found


def _find_schema(raw: Any) -> tuple[str | None, str, str]:
    """Return the schema that the role uses and owns (None for none), the name of the role, and the encoding."""
    return raw.execute(
        "SELECT (SELECT nspname FROM pg_namespace WHERE nspname = current_schema()"
        " AND nspowner = current_user::regrole), current_user, current_setting('server_encoding')"
    ).fetchone()


def make_lock_number(purpose: str, schema_name: str) -> int:
    """Return the number of an advisory lock. All schemas of a database share the numbers."""
    return int.from_bytes(sha256(f"jupyter_eca {purpose} {schema_name}".encode()).digest()[:8], signed=True)


def describe_url(url: str) -> str:
    """Return what a database is called in sentences, without secrets: `PostgreSQL (ada@db.example.org/eca)`."""
    parts = urlsplit(url)
    query = parse_qs(parts.query)
    host, user = parts.hostname or query.get("host", [""])[0], parts.username or query.get("user", [""])[0]
    return f"PostgreSQL ({user}{'@' if user else ''}{host}{parts.path})"


def describe_error(error: Exception) -> str:
    """Return the first line of an error. The others repeat it for each address that was tried."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
