"""Tables of the connections in a kernel as contexts, over the wire: what is offered, and what the model gets. The
connections are real, and so is what the kernel does with them."""

from __future__ import annotations

import importlib
import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.contexts import resolve
from jupyter_eca.plugins.contexts.reading import kernel_variables, recent_look
from jupyter_eca.protocol import notebook as wire
from jupyter_eca.workspace.kernels import database, introspect
from tests.plugins.contexts.near import sent
from tests.plugins.contexts.open_notebooks import Variables, code, room
from tests.support.host_and_client import answer, said

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

SHOP = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT);
INSERT INTO orders VALUES (1, 'Ada'), (2, 'Grace');
CREATE VIEW recent AS SELECT id FROM orders;
CREATE TABLE "order items" (price REAL);
"""

CELLS = (code("c0", "import sqlite3"),)


@dataclass
class Namespace(Variables):
    """The kernel of a cell, with these variables."""

    has: tuple[wire.Variable, ...] = ()
    user: dict[str, Any] = field(default_factory=dict[str, Any])

    async def variables(self, names: tuple[str, ...]) -> wire.KernelVariablesResult:
        self.asked.append(names)
        described = introspect.describe(self.user, list(names), set(), None, database.describe_database)
        return wire.KernelVariablesResult.model_validate_json(described)


@pytest.fixture(autouse=True)
def have_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raise the limits, because the machine may be busy."""
    monkeypatch.setattr(database, "LIMIT_S", 60)
    monkeypatch.setattr(introspect, "TOTAL_S", 60)
    for pace in ("DATABASE_PACE", "PATIENT_PACE"):
        monkeypatch.setattr(recent_look, pace, recent_look.Pace(60, 60, 60))
    monkeypatch.setattr(resolve, "_QUERY_SECONDS", 60)
    monkeypatch.setattr(kernel_variables, "ANSWER_SECONDS", 60)


@pytest.fixture
def con() -> Generator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SHOP)
        yield connection


@pytest.fixture
def duck() -> Generator[Any]:
    duckdb: Any = importlib.import_module("duckdb")
    with closing(duckdb.connect()) as connection:
        connection.execute("CREATE TABLE planets (name VARCHAR)")
        connection.execute("INSERT INTO planets VALUES ('Earth')")
        yield connection


async def test_a_table_is_given_as_the_variable_of_its_connection_gives_it(
    tmp_path: Path, con: sqlite3.Connection, duck: Any
) -> None:
    async with room(tmp_path, CELLS, Namespace(user={"con": con, "duck": duck, "n": 1})) as there:
        for by_table, by_variable in (
            ("@table:orders", "@var:con.orders"),
            ("@table:con.orders", "@var:con.orders"),
            ("@table:ORDERS", "@var:con.ORDERS"),
            ("@table:planets", "@var:duck.planets"),
        ):
            told = await there.told(f"Sum up {by_table}.", there.cell)
            assert (
                told.partition("\n")[2] == (await there.told(f"Sum up {by_variable}.", there.cell)).partition("\n")[2]
            )
            assert "not readable" not in told
        told = await there.told("Sum up @table:orders's columns and @table:planets", there.cell)
        assert "con.orders: table of sqlite3.Connection 2 x 2\n" in told
        assert "row 1: 1, 'Ada'\nrow 2: 2, 'Grace'\n" in told
        assert "row 1: 'Earth'\n" in told
        assert "price: REAL" in await there.told('Sum up @"table:order items", please', there.cell)
    assert con.in_transaction is False


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        (
            "@table:nope",
            "No connection of the kernel has a table nope. The tables are: con.order items, con.orders, con.recent.",
        ),
        ("@table:con.nope", "No connection of the kernel has a table con.nope. The tables are: con.order items"),
    ],
)
async def test_a_table_that_no_connection_has_is_answered_with_those_that_there_are(
    tmp_path: Path, con: sqlite3.Connection, word: str, reason: str
) -> None:
    async with room(tmp_path, CELLS, Namespace(user={"con": con})) as there:
        assert f"(not readable: {reason}" in await there.told(f"Sum up {word} please", there.cell)
    async with room(tmp_path, CELLS, Namespace(user={"n": 1})) as there:
        told = await there.told(f"Sum up {word} please", there.cell)
        assert "(not readable: No variable of the kernel is a connection to a database." in told


async def test_a_table_that_several_connections_have_is_chosen_by_its_connection(tmp_path: Path) -> None:
    with closing(sqlite3.connect(":memory:")) as shop, closing(sqlite3.connect(":memory:")) as archive:
        for number, connection in enumerate((shop, archive)):
            connection.execute("CREATE TABLE orders (id INTEGER)")
            connection.execute("INSERT INTO orders VALUES (?)", (number,))
        archive.execute("CREATE TABLE old (id INTEGER)")
        async with room(tmp_path, CELLS, Namespace(user={"shop": shop, "archive": archive})) as there:
            told = await there.told("Sum up @table:orders", there.cell)
            assert "Several connections have a table orders. Write @table:shop.orders or @table:archive.orders." in told
            assert "archive.orders: table of" in await there.told("Sum up @table:archive.orders", there.cell)
            assert [one.as_json_object()["label"] for one in await there.offered("ord", there.cell)] == [
                "table:shop.orders",
                "table:archive.orders",
            ]
            assert [one.as_json_object()["label"] for one in await there.offered("table:old", there.cell)] == [
                "table:old"
            ]


async def test_tables_are_offered_with_their_columns_and_can_be_sent_back(
    tmp_path: Path, con: sqlite3.Connection, duck: Any
) -> None:
    async with room(tmp_path, CELLS, Namespace(user={"con": con, "duck": duck})) as there:
        offered = [one for one in await there.offered("table:", there.cell) if one.type == "table"]
        assert [one.as_json_object() for one in offered] == [
            {
                "type": "table",
                "label": "table:order items",
                "description": "table of con: price",
                "name": "order items",
            },
            {"type": "table", "label": "table:orders", "description": "table of con: id, customer", "name": "orders"},
            {"type": "table", "label": "table:recent", "description": "view of con: id", "name": "recent"},
            {"type": "table", "label": "table:planets", "description": "table of duck: name", "name": "planets"},
        ]
        assert sent(*(one.as_json_object() for one in offered)) == tuple(offered)
        told = said(await answer(there.cell, "Sum up @table:planets", contexts=(offered[3],)))
        assert told.count("duck.planets: table of") == 1
        assert [one for one in await there.offered("table:", there.strict) if one.type == "table"] == []


async def test_names_of_tables_are_not_told_if_only_names_of_variables_may_be(
    tmp_path: Path, con: sqlite3.Connection
) -> None:
    kernel = Namespace(user={"con": con})
    async with room(tmp_path, CELLS, kernel, notebook={"variables": {"table": "names"}}) as there:
        told = await there.told("Sum up @table:nope", there.cell)
        assert "No connection of the kernel has a table nope. The connections are: con." in told
        assert "recent" not in told


async def test_a_database_that_cannot_be_read_is_named_with_the_reason(tmp_path: Path, con: sqlite3.Connection) -> None:
    closed = sqlite3.connect(":memory:")
    closed.close()
    async with room(tmp_path, CELLS, Namespace(user={"gone": closed})) as there:
        told = await there.told("Sum up @table:orders", there.cell)
        assert "No connection of the kernel has a table orders." in told
        assert "gone: The connection is closed." in told
    async with room(tmp_path, CELLS, Namespace(user={"gone": closed, "con": con})) as there:
        assert "con.orders: table of" in await there.told("Sum up @table:orders", there.cell)


async def test_who_goes_on_typing_does_not_have_the_databases_read_again(
    tmp_path: Path, con: sqlite3.Connection
) -> None:
    kernel = Namespace(user={"con": con})
    async with room(tmp_path, CELLS, kernel) as there:
        for query in ("t", "ta", "tab", "table:", "table:o", "table:or"):
            await there.offered(query, there.cell)
    # Once while anything could be meant, and once for a user who certainly means a table.
    assert kernel.asked.count(("con",)) <= 2
    async with room(tmp_path, CELLS, kernel := Namespace(user={"n": 1})) as there:
        await there.offered("table:", there.cell)
    assert set(kernel.asked) == {()}
