"""Describes the databases that connections of a Python kernel lead to: the kind, the address without secrets, and the
tables with their columns and types. For one table, it also returns the number of rows and the first rows.

A user's connection may have an open transaction, a half-read result, or a query of another thread. So it is used as
little as possible, and only a part of a second is spent:

- A database file of SQLite is opened a second time, read-only. A database of SQLite in memory exists in one connection
  only. There, a cursor of our own runs statements that read a limited number of rows, because stopping one
  (`interrupt`) would also stop the user's.
- DuckDB gives a second connection to the same database (`cursor`).
- An engine of SQLAlchemy gets a pool of its own for one connection, which is closed at the end. Its transaction is
  read-only, and the server ends a statement that takes too long, where the server can do that: PostgreSQL, MySQL and
  MariaDB. Other servers only get statements that read catalogs and the first rows of tables. A statement that still
  runs when the time is over continues there until it ends by itself. No further statement is sent.
- Of ibis, only the backends of DuckDB and SQLite are read, through the connection that they have. Other backends are
  named, and not read: there is no public way to open a second connection, and a statement on the user's own could wait
  for a query of the user, or end in an error that spoils an open transaction.

What the user has not committed is not seen through a second connection, and is left as it is. Nothing is ever written.
No library is imported here: if a connection exists, the user has already imported its library.

The source of this module is also sent to kernels that do not have `jupyter_eca`. So it must import only the standard
library. Its neighbour `introspect.py` recognizes connections.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

T = TypeVar("T")

# The seconds for one connection. The limit for the profile of a table (`PROFILE_S` in `introspect.py`) is similar.
LIMIT_S = 0.25

# The most tables that are listed, the most tables whose columns are read, and the most columns of a table.
MAX_TABLES = 1_000
MAX_WITH_COLUMNS = 50
MAX_COLUMNS = 50

# The first rows of a table: how many, and the characters of a value and of a row.
FIRST_ROWS = 3
VALUE_CHARS = 40
ROW_CHARS = 400

# Rows of SQLite are counted one by one: a million in 30 ms.
MAX_COUNTED = 1_000_000

# The characters that are kept of an error of a library.
ERROR_CHARS = 200

# Sentences for the model about what was not read.
_OTHER_THREAD = "It belongs to another thread, and is left alone."
_COMMITTED = "What is not committed is not shown."


class _DatabaseError(Exception):
    """A connection that cannot be described. The message says why."""


class _Entry(NamedTuple):
    """A table or a view."""

    schema: str
    """The schema, or what comes before the name in SQL. The parts of a longer path are divided by a NUL."""
    name: str
    """The name alone."""
    is_view: bool
    """Whether its rows are computed, as those of views and of virtual tables are. Such rows are not read."""
    label: str
    """The name, after the schema if that is not the default one."""


class _Reader(Protocol):
    """Reads one database."""

    address: str
    """The kind of the database and where it is, without secrets."""
    remark: str
    """A sentence about what the reader cannot see, for the model."""

    def list_tables(self) -> Iterable[_Entry]:
        """Yield the tables and views."""
        ...

    def list_columns(self, entries: list[_Entry]) -> Iterable[tuple[_Entry, list[tuple[str, str]]]]:
        """Yield each table with its columns and their types."""
        ...

    def count_rows(self, entry: _Entry) -> tuple[int | None, str]:
        """Return the number of rows and "". If the rows are not counted, return None and a sentence for the model about
        it, which may be empty."""
        ...

    def read_rows(self, entry: _Entry, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return the first rows."""
        ...

    def interrupt(self) -> None:
        """End the statement that is running. Another thread calls this method."""
        ...

    def close(self) -> None:
        """Close what the reader itself has opened. The connection of the user stays open."""
        ...


def describe_database(connection: Any, table: str = "") -> dict[str, Any]:
    """Return the fields of a `Variable` (`protocol/notebook.py`) for a connection, or for one of its tables.

    Without a table they are `database`, `tables`, `tables_left_out` and `remark`. With a table they are `database`,
    `is_view`, `columns`, `shape`, `sample` and `remark`, and there are none if the database has no such table. What is
    known when the time is over is returned. `remark` has a sentence for whatever is missing.
    """
    # The fields that are known so far. The functions below add to them.
    found: dict[str, Any] = {"database": "", "remark": ""}
    deadline = time.monotonic() + LIMIT_S
    try:
        opening = _choose_opening(connection, found, deadline)
        failure = _read(opening, found, table, deadline)
    except Exception as error:  # noqa: BLE001  # the boundary to the libraries of the user
        failure = error
    if failure is not None:
        found["remark"] = f"{found['remark']} {_describe_error(failure)}".strip()
    return {} if table and failure is None and "columns" not in found else found


class _Opening(NamedTuple):
    """How a database is opened for reading."""

    open: Callable[[], _Reader]
    """Opens the database, and returns its reader."""
    in_this_thread: bool = False
    """Whether only the current thread can read it. The statements of such a reader are short."""


def _choose_opening(connection: Any, found: dict[str, Any], deadline: float) -> _Opening:
    """Return how the database of a connection is read, which depends on the type of the connection. `deadline` is a
    time of the monotonic clock, here and below. `found` are the fields that are known so far. Raises: _DatabaseError if
    nothing can be read. The address is then in `found`, if it is known."""
    kinds = {f"{base.__module__}.{base.__qualname__}" for base in type(connection).__mro__}
    if "sqlite3.Connection" in kinds:
        return _make_sqlite_opening(connection, deadline)
    if kinds & {"_duckdb.DuckDBPyConnection", "duckdb.DuckDBPyConnection", "duckdb.duckdb.DuckDBPyConnection"}:
        return _Opening(lambda: _DuckDbReader(connection))
    if any(kind.startswith("sqlalchemy.ext.asyncio.") for kind in kinds):
        found["database"] = _format_url(connection.sync_engine.url)
        raise _DatabaseError("It is asynchronous, so its tables are not read here.")
    if any(kind.startswith("sqlalchemy.") for kind in kinds):
        return _make_sqlalchemy_opening(connection, "sqlalchemy.engine.base.Connection" in kinds, found, deadline)
    # It is a backend of ibis, which has the connection of the database library in `con`.
    inner: Any = connection.__dict__.get("con")
    if type(inner).__module__ in {"sqlite3", "_duckdb", "duckdb", "duckdb.duckdb"}:
        return _choose_opening(inner, found, deadline)
    found["database"] = f"{getattr(connection, 'name', 'unknown')} backend of ibis"
    raise _DatabaseError(
        "Of ibis, only backends of DuckDB and SQLite are read here: a statement on this one could disturb what the user"
        " does in it. Its method list_tables() lists its tables."
    )


def _read(opening: _Opening, found: dict[str, Any], table: str, deadline: float) -> Exception | None:
    """Read the database, in a thread if that is possible, and add the fields to `found`. Return the error that ended
    the read; None if everything was read."""
    opened: list[_Reader] = []
    # The thread may go on when the time is over. So it never changes a dictionary: it replaces the one in this list.
    partial: list[dict[str, Any]] = [dict(found)]

    def work() -> None:
        """Open the database, and read it until the deadline."""
        reader = opening.open()
        opened.append(reader)
        try:
            if time.monotonic() < deadline:
                for fields in _describe_table(reader, table) if table else _describe_tables(reader, deadline):
                    partial[0] = {**partial[0], **fields}
        finally:
            reader.close()

    def stop() -> None:
        """Interrupt the reader, if it was opened."""
        for reader in opened:
            with contextlib.suppress(Exception):  # it may be closing just now
                reader.interrupt()

    failure: Exception | None = None
    try:
        if opening.in_this_thread:
            work()
        else:
            _run_in_thread(work, deadline, stop)
    except Exception as error:  # noqa: BLE001  # the caller has what was found before
        failure = error
    found.update(partial[0])
    return failure


def _run_in_thread(work: Callable[[], T], deadline: float, stop: Callable[[], None] = lambda: None) -> T:
    """Run the work in a thread until the deadline. Then the thread is left alone, after `stop` has asked it to end.

    Raises: _DatabaseError when the time is over, and the errors of the work.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        """Run the work, and keep its result or its error."""
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001  # raised in the other thread, or the time is over already
            errors.append(error)

    thread = threading.Thread(target=run, name="jupyter_eca database", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if thread.is_alive():
        stop()
        raise _DatabaseError(f"It takes more than {LIMIT_S * 1000:.0f} ms to read the rest, or another thread uses it.")
    if errors:
        raise errors[0]
    return results[0]


def _describe_tables(reader: _Reader, deadline: float) -> Iterable[dict[str, Any]]:
    """Yield fields about all tables, see `describe_database`. A later field replaces an earlier one with the same
    name."""
    yield {"database": reader.address, "remark": reader.remark}
    entries = list(reader.list_tables())
    tables = [_describe_entry(entry, []) for entry in entries[:MAX_TABLES]]
    yield {"tables": list(tables), "tables_left_out": len(entries) - len(tables)}
    places = {entry: place for place, entry in enumerate(entries[:MAX_WITH_COLUMNS])}
    for entry, columns in reader.list_columns(list(places)):
        tables[places[entry]] = _describe_entry(entry, columns)
        yield {"tables": list(tables)}
        if time.monotonic() > deadline:
            raise _DatabaseError("The columns of the other tables would take too long.")


def _describe_entry(entry: _Entry, columns: list[tuple[str, str]]) -> dict[str, Any]:
    """Return a table as JSON. `columns` are the names and the types of its columns, here and below."""
    return {"name": entry.label, "is_view": entry.is_view, "columns": _describe_columns(columns)}


def _describe_columns(columns: list[tuple[str, str]]) -> list[dict[str, str]]:
    """Return the first columns as JSON."""
    return [{"name": name, "dtype": dtype} for name, dtype in columns[:MAX_COLUMNS]]


def _describe_table(reader: _Reader, table: str) -> Iterable[dict[str, Any]]:
    """Yield fields about one table, see `describe_database`; without columns if there is no such table."""
    yield {"database": reader.address, "remark": reader.remark}
    entries = list(reader.list_tables())
    # A table with exactly this name is preferred to one whose name has other capital letters.
    entry = next((entry for entry in entries if entry.label == table), None) or next(
        (entry for entry in entries if entry.label.casefold() == table.casefold()), None
    )
    if entry is None:
        return
    columns = [column for _, found in reader.list_columns([entry]) for column in found]
    yield {"is_view": entry.is_view, "columns": _describe_columns(columns)}
    if entry.is_view:
        yield {"remark": f"{reader.remark} Its rows are computed only when it is asked for.".strip()}
        return
    count, remark = reader.count_rows(entry)
    if count is not None:
        yield {"shape": [count, len(columns)]}
    elif remark:
        yield {"remark": f"{reader.remark} {remark}".strip()}
    rows = reader.read_rows(entry, [name for name, _ in columns[:MAX_COLUMNS]])
    yield {"sample": "\n".join(_format_row(number, row) for number, row in enumerate(rows, start=1))}


def _format_row(number: int, row: tuple[Any, ...]) -> str:
    """Return a row in one line. `number` is counted from 1."""
    return _cut(f"row {number}: " + ", ".join(map(_format_value, row)), ROW_CHARS)


def _format_value(value: Any) -> str:
    """Return a value as a short text. Of bytes, only their number is shown."""
    if isinstance(value, str):
        return repr(_cut(value[: VALUE_CHARS * 2], VALUE_CHARS))
    if isinstance(value, bytes | bytearray):
        return str(_Blob(len(value)))
    return _cut(str(value), VALUE_CHARS)


def _describe_error(error: Exception) -> str:
    """Return an error as one line. Errors of SQLAlchemy have the SQL and an address in the lines after the first."""
    if isinstance(error, _DatabaseError):
        return str(error)
    text = str(error).strip()
    if "closed database" in text or "already closed" in text:
        return "The connection is closed."
    if "created in a thread" in text:
        return _OTHER_THREAD
    return _cut(f"It cannot be read: {type(error).__name__}: {text.partition(chr(10))[0]}", ERROR_CHARS)


def _cut(text: str, limit: int) -> str:
    """Return the text in one line of at most `limit` characters."""
    text = " ".join(text.split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _quote(name: str) -> str:
    """Return a name as SQL."""
    return '"' + name.replace('"', '""') + '"'


# -- SQLite


def _make_sqlite_opening(connection: Any, deadline: float) -> _Opening:
    """Return how the databases of a connection of `sqlite3` are read. They are listed with `PRAGMA database_list`,
    which reads no database and takes no lock."""
    sqlite: Any = sys.modules["sqlite3"]

    def list_databases() -> list[tuple[str, str]]:
        """Return the name and the file of each database; "" for one in memory."""
        cursor = sqlite.Cursor(connection)  # unlike `connection.cursor`, without the user's `row_factory`
        return [(_decode(name), _decode(file)) for _, name, file in cursor.execute("PRAGMA database_list").fetchall()]

    # Only the thread that made the connection may use it, unless the user allows others (`check_same_thread=False`). If
    # others are allowed, one of them may be using the connection now, and a call would wait for it. So the call is
    # first tried in a thread with a time limit.
    is_shared = True
    try:
        databases = _run_in_thread(list_databases, deadline)
    except sqlite.ProgrammingError as error:
        if "thread" not in str(error):
            raise
        is_shared = False
        try:
            databases = list_databases()
        except sqlite.ProgrammingError as own_error:
            if "thread" in str(own_error):
                raise _DatabaseError(_OTHER_THREAD) from None
            raise
    in_memory = any(not file for _, file in databases)
    # `in_transaction` is read now, because this is the thread of the connection.
    remark = _COMMITTED if connection.in_transaction and any(file for _, file in databases) else ""
    return _Opening(
        lambda: _SqliteReader(connection, databases, deadline, remark), in_this_thread=in_memory and not is_shared
    )


def _make_sqlite_file_opening(path: str, deadline: float) -> _Opening:
    """Return how a file of SQLite is read without the user's connection."""
    file = str(Path(path).resolve())
    return _Opening(lambda: _SqliteReader(None, [("main", file)], deadline, ""))


def _decode(text: Any) -> str:
    """Return a text of SQLite as str. The texts of `PRAGMA database_list` may have any type if the user has set
    `text_factory`. All other statements select texts as bytes (`CAST(... AS BLOB)`), so that the user's `text_factory`
    is not called."""
    return text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text or "")


class _SqliteReader:
    """Reads files through connections of its own, and databases in memory through the user's connection. `databases`
    are the name and the file of each database; "" for one in memory."""

    def __init__(self, connection: Any, databases: list[tuple[str, str]], deadline: float, remark: str) -> None:
        self.address = f"SQLite database {databases[0][1]}" if databases[0][1] else "SQLite database in memory"
        self.remark = remark
        self._opened: list[Any] = []
        self._cursors: dict[str, Any] = {}
        sqlite: Any = sys.modules["sqlite3"]
        try:
            for name, file in databases:
                if not file:
                    self._cursors[name] = sqlite.Cursor(connection)
                    continue
                uri = f"{Path(file).as_uri()}?mode=ro"
                own = sqlite.connect(uri, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
                self._opened.append(own)
                # SQLite asks this after every 10,000 instructions, and ends the statement when it is true.
                own.set_progress_handler(lambda: time.monotonic() > deadline, 10_000)
                self._cursors[name] = own.cursor()
        except BaseException:
            self.close()
            raise

    def list_tables(self) -> Iterable[_Entry]:
        """Yield the tables and views of each database of the connection."""
        for schema in self._cursors:
            rows = self._execute(
                schema,
                "SELECT CAST(name AS BLOB), type = 'view' OR substr(sql, 1, 14) = 'CREATE VIRTUAL'"
                " FROM {}.sqlite_master WHERE type IN ('table', 'view') AND substr(name, 1, 7) != 'sqlite_'"
                " ORDER BY name",
            )
            for name, is_view in rows:
                text = _decode(name)
                yield _Entry(schema, text, bool(is_view), text if schema == "main" else f"{schema}.{text}")

    def list_columns(self, entries: list[_Entry]) -> Iterable[tuple[_Entry, list[tuple[str, str]]]]:
        """Yield each table with its columns and their types. Hidden columns of virtual tables are left out."""
        statement = (
            "SELECT CAST(name AS BLOB), CAST(type AS BLOB) FROM pragma_table_xinfo(?, ?) WHERE hidden != 1 ORDER BY cid"
        )
        for entry in entries:
            rows = self._execute(entry.schema, statement, entry.name, self._get_own_name(entry.schema))
            yield entry, [(_decode(name), _decode(dtype)) for name, dtype in rows]

    def count_rows(self, entry: _Entry) -> tuple[int | None, str]:
        """Return the number of rows; None and a sentence for a table that has more than `MAX_COUNTED`."""
        statement = f"SELECT count(*) FROM (SELECT 1 FROM {{}}.{_quote(entry.name)} LIMIT {MAX_COUNTED + 1})"  # noqa: S608  # quoted
        ((count,),) = self._execute(entry.schema, statement)
        return (count, "") if count <= MAX_COUNTED else (None, f"It has more than {MAX_COUNTED:,} rows.")

    def read_rows(self, entry: _Entry, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return the first rows. Long texts are shortened by SQLite, and bytes become a `_Blob`."""
        # Of each value its type, its length, and its beginning: as bytes, for the reason in `_decode`.
        parts = ", ".join(
            f"typeof({name}) = 'text', typeof({name}) = 'blob', length({name}),"
            f" CASE typeof({name}) WHEN 'text' THEN CAST(substr({name}, 1, {VALUE_CHARS + 1}) AS BLOB)"
            f" WHEN 'blob' THEN NULL ELSE {name} END"
            for name in map(_quote, columns)
        )
        rows = self._execute(entry.schema, f"SELECT {parts} FROM {{}}.{_quote(entry.name)} LIMIT {FIRST_ROWS}")  # noqa: S608  # quoted
        return [
            tuple(
                _decode(value) if is_text else _Blob(length) if is_blob else value
                for is_text, is_blob, length, value in zip(row[::4], row[1::4], row[2::4], row[3::4], strict=True)
            )
            for row in rows
        ]

    def interrupt(self) -> None:
        """End the statement that is running in a connection of ours. The connection of the user is not touched."""
        for own in self._opened:
            own.interrupt()

    def close(self) -> None:
        """Close the connections that this reader has opened."""
        for own in self._opened:
            own.close()

    def _execute(self, schema: str, statement: str, *values: str) -> list[Any]:
        """Run a statement, in which `{}` stands for the schema."""
        name = _quote(self._get_own_name(schema))
        return self._cursors[schema].execute(statement.replace("{}", name), values).fetchall()

    def _get_own_name(self, schema: str) -> str:
        """Return the name of a schema in the connection that reads it. In a connection of ours, each file is the schema
        `main`."""
        return "main" if self._cursors[schema].connection in self._opened else schema


class _Blob(NamedTuple):
    """Bytes that were not read."""

    size: int
    """How many bytes there are."""

    def __str__(self) -> str:
        return f"<{self.size:,} bytes>"


# -- DuckDB


class _DuckDbReader:
    """Reads through a second connection to the database."""

    remark = "Temporary tables and what is not committed are not shown."

    def __init__(self, connection: Any) -> None:
        self._cursor: Any = connection.cursor()
        self._database, path = self._execute(
            "SELECT database_name, path FROM duckdb_databases() WHERE database_name = current_database()"
        )[0]
        self.address = f"DuckDB database {path.partition('?')[0]}" if path else "DuckDB database in memory"

    def list_tables(self) -> Iterable[_Entry]:
        """Yield the tables and views of all attached databases, those of the current database first."""
        rows = self._execute(
            "SELECT database_name, schema_name, table_name, false FROM duckdb_tables() WHERE NOT internal UNION ALL"
            " SELECT database_name, schema_name, view_name, true FROM duckdb_views() WHERE NOT internal ORDER BY ALL"
        )
        for database, schema, name, is_view in sorted(rows, key=lambda row: row[0] != self._database):
            path = [*([database] if database != self._database else []), *([schema] if schema != "main" else []), name]
            yield _Entry(f"{database}\0{schema}", name, is_view, ".".join(path))

    def list_columns(self, entries: list[_Entry]) -> Iterable[tuple[_Entry, list[tuple[str, str]]]]:
        """Yield each table with its columns and their types."""
        columns: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for database, schema, table, column, dtype in self._execute(
            "SELECT database_name, schema_name, table_name, column_name, data_type FROM duckdb_columns()"
            " WHERE NOT internal AND list_contains(?, table_name) ORDER BY ALL",
            [entry.name for entry in entries],
        ):
            columns.setdefault((f"{database}\0{schema}", table), []).append((column, dtype))
        for entry in entries:
            yield entry, columns.get((entry.schema, entry.name), [])

    def count_rows(self, entry: _Entry) -> tuple[int | None, str]:
        """Return the number of rows, which DuckDB knows without reading them."""
        return self._execute(f"SELECT count(*) FROM {self._get_path(entry)}")[0][0], ""  # noqa: S608  # quoted

    def read_rows(self, entry: _Entry, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return the first rows."""
        names = ", ".join(map(_quote, columns))
        return self._execute(f"SELECT {names} FROM {self._get_path(entry)} LIMIT {FIRST_ROWS}")  # noqa: S608  # quoted

    def interrupt(self) -> None:
        """End the statement that is running in the second connection."""
        self._cursor.interrupt()

    def close(self) -> None:
        """Close the second connection."""
        self._cursor.close()

    def _execute(self, statement: str, *values: Any) -> list[Any]:
        """Run a statement with these parameters, and return all its rows."""
        return self._cursor.execute(statement, list(values)).fetchall()

    def _get_path(self, entry: _Entry) -> str:
        """Return the full name of a table as SQL."""
        return ".".join(map(_quote, (*entry.schema.split("\0"), entry.name)))


# -- SQLAlchemy


def _make_sqlalchemy_opening(value: Any, is_connection: bool, found: dict[str, Any], deadline: float) -> _Opening:
    """Return how the database of SQLAlchemy is read. `value` is an engine, or a connection if `is_connection`. See
    `_choose_opening`."""
    engine = value.engine
    url = engine.url
    found["database"] = _format_url(url)
    if is_connection and value.closed:
        raise _DatabaseError("The connection is closed.")
    pool = type(engine.pool).__name__
    if engine.dialect.name == "sqlite":
        file = str(url.database or "")
        is_in_memory = not file or ":memory:" in file or "mode=memory" in file
        if not is_connection and not is_in_memory and not file.startswith("file:"):
            return _make_sqlite_file_opening(file, deadline)
        raw = value.connection.dbapi_connection if is_connection else _get_pooled_connection(engine.pool)
        if type(raw).__module__ != "sqlite3":
            raise _DatabaseError("Nothing is connected to it in this thread, or not through sqlite3.")
        return _make_sqlite_opening(raw, deadline)
    if engine.dialect.name == "duckdb" or pool in {"StaticPool", "SingletonThreadPool"}:
        raise _DatabaseError("A second connection to it would be another database, so it is left alone.")
    return _Opening(lambda: _SqlAlchemyReader(engine, deadline))


def _get_pooled_connection(pool: Any) -> Any:
    """Return the connection that a pool for databases in memory keeps for this thread; None if there is none.

    The connection is not checked out: when it went back to its pool, it would be rolled back, and with it what the user
    does in it at the same time. The two pools have no public way to look at it.
    """
    record: Any = pool.__dict__.get("connection")  # of a StaticPool
    if record is None:
        threads: Any = pool.__dict__.get("_conn")
        record = getattr(threads, "current", lambda: None)()  # of a SingletonThreadPool
    return None if record is None else record.dbapi_connection


def _format_url(url: Any) -> str:
    """Return an address with its host and database only. The user and the query may contain secrets."""
    port = f":{url.port}" if url.port else ""
    return f"{url.drivername}://{url.host or ''}{port}/{url.database or ''}, through SQLAlchemy"


# The statements that make a server only read, and end a statement that takes longer than `ms` milliseconds. Their
# effect ends with the transaction or with our connection. The settings of MySQL and MariaDB hold for the connection,
# because they have none for a transaction. Their `SET TRANSACTION READ ONLY` would only affect the transaction that
# begins after the next commit, and would have no effect where each statement is committed by itself.
_LIMITS = {
    "postgresql": ("SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = {ms}"),
    "mysql": ("SET SESSION max_execution_time = {ms}", "START TRANSACTION READ ONLY"),
    "mariadb": ("SET SESSION max_statement_time = {ms} / 1000", "START TRANSACTION READ ONLY"),
}


class _SqlAlchemyReader:
    """Reads through one connection of a new pool, which is made as the user's pool is made."""

    remark = f"Only the default schema is shown. {_COMMITTED}"

    def __init__(self, engine: Any, deadline: float) -> None:
        self._alchemy: Any = sys.modules["sqlalchemy"]
        self.address = _format_url(engine.url)
        self._deadline = deadline
        self._pool: Any = engine.pool.recreate()
        try:
            own = self._alchemy.engine.Engine(self._pool, engine.dialect, engine.url)
            self._connection: Any = own.connect()
            self._set_limits(engine.dialect)
        except BaseException:
            self._pool.dispose()
            raise
        self._alchemy.event.listen(self._connection, "before_cursor_execute", self._check_time)
        self._inspector: Any = self._alchemy.inspect(self._connection)

    def _set_limits(self, dialect: Any) -> None:
        """Make the server only read, and end statements that take too long. If the server refuses that, the remark says
        so."""
        name = "mariadb" if getattr(dialect, "is_mariadb", False) else dialect.name
        if name not in _LIMITS:
            return
        try:
            if name == "postgresql":
                # The user's engine may commit each statement by itself. Then there would be no transaction.
                self._connection = self._connection.execution_options(isolation_level="READ COMMITTED")
            milliseconds = max(1, round(1000 * (self._deadline - time.monotonic())))
            for statement in _LIMITS[name]:
                self._connection.exec_driver_sql(statement.format(ms=milliseconds))
        except Exception as error:  # noqa: BLE001  # drivers and servers have errors of many kinds
            self._connection.rollback()
            self.remark += f" The server does not limit the time: {type(error).__name__}."

    def _check_time(self, *_: object) -> None:
        """Raise _DatabaseError when the time is over, because nobody waits for the result any more. SQLAlchemy calls
        this before each statement."""
        if time.monotonic() > self._deadline:
            raise _DatabaseError("The rest would take too long.")

    def list_tables(self) -> Iterable[_Entry]:
        """Yield the tables and views of the default schema."""
        for name in sorted(self._inspector.get_table_names()):
            yield _Entry("", name, False, name)
        for name in sorted(self._inspector.get_view_names()):
            yield _Entry("", name, True, name)

    def list_columns(self, entries: list[_Entry]) -> Iterable[tuple[_Entry, list[tuple[str, str]]]]:
        """Yield each table with its columns and their types."""
        if not hasattr(self._inspector, "get_multi_columns"):  # before SQLAlchemy 2
            for entry in entries:
                yield entry, _list_reflected(self._inspector.get_columns(entry.name))
            return
        kinds = self._alchemy.engine.reflection.ObjectKind.ANY
        names = [entry.name for entry in entries]
        columns: dict[Any, Any] = self._inspector.get_multi_columns(filter_names=names, kind=kinds) if names else {}
        for entry in entries:
            yield entry, _list_reflected(columns.get((None, entry.name), []))

    def count_rows(self, entry: _Entry) -> tuple[int | None, str]:  # noqa: ARG002  # a server would read the whole table
        """Return None and no sentence: many servers would read the whole table to count its rows."""
        return None, ""

    def read_rows(self, entry: _Entry, columns: list[str]) -> list[tuple[Any, ...]]:
        """Return the first rows."""
        table = self._alchemy.table(entry.name, *map(self._alchemy.column, columns))
        rows = self._connection.execute(self._alchemy.select(table).limit(FIRST_ROWS)).fetchall()
        return [tuple(row) for row in rows]

    def interrupt(self) -> None:
        """Do nothing: not every driver can be interrupted. The thread ends after the statement that is running, which
        the server itself ends where it can."""

    def close(self) -> None:
        """Close our connection and its pool. The pool of the user stays open."""
        self._connection.close()
        self._pool.dispose()


def _list_reflected(columns: list[Any]) -> list[tuple[str, str]]:
    """Return the names and the types of columns, which SQLAlchemy returns as dictionaries."""
    return [(str(column["name"]), _format_type(column["type"])) for column in columns]


def _format_type(kind: Any) -> str:
    """Return a type of SQLAlchemy as text."""
    try:
        return str(kind)
    except Exception:  # noqa: BLE001  # a type that no dialect can write
        return type(kind).__name__
