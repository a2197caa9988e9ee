"""Chats in PostgreSQL: who may read them, who answers in them, and what is said where it cannot be used."""

from __future__ import annotations

import asyncio
import re
import sys
import textwrap
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store import CellCheckpoint, Store, is_alive
from jupyter_eca.host.store.kept_rows import OWNERSHIP
from jupyter_eca.host.store.postgres.schema_database import describe_url
from jupyter_eca.host.store.postgres.tables_in_postgres import translate
from jupyter_eca.host.store.postgres.text import escape, unescape
from jupyter_eca.host.store.schema import MIGRATIONS
from jupyter_eca.protocol.content import MetadataContent, Role, TextContent
from jupyter_eca.protocol.event import Event
from tests.support.store_places import StorePlace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from tests.support.postgres import PostgresServer

pytestmark = pytest.mark.asyncio

PAGE = Path(__file__).parents[3] / "notebooks" / "docs" / "administrators.md"
SQLITE_ONLY = re.compile(r"AUTOINCREMENT|BLOB|INTEGER|REAL|json_extract|randomblob|PRAGMA|\bOR (?:IGNORE|REPLACE)\b")


@pytest.fixture
def place(postgres_server: PostgresServer, tmp_path: Path) -> StorePlace:
    return StorePlace(tmp_path / "data" / "chats.db", postgres_server.create_user())


@asynccontextmanager
async def opened(place: StorePlace) -> AsyncGenerator[Store]:
    store = place.make_store("/home/jovyan", lambda _: None)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def asked(text: str, chat: str = "c") -> Event:
    return Event(chat=chat, turn="t", role=Role.USER, content=TextContent(text=text), at=1)


# -- one setting


async def test_every_migration_has_a_form_for_postgresql() -> None:
    for number, script in enumerate(MIGRATIONS, 1):
        for statement in translate(script, leaves_rows=number <= 21):
            assert not SQLITE_ONLY.search(statement), statement
            assert "rowid" in statement or "PRIMARY KEY" in statement or not statement.startswith("CREATE TABLE")


async def test_a_schema_has_the_tables_of_a_file(place: StorePlace) -> None:
    async with opened(place):
        assert place.list_tables() == OWNERSHIP.keys()
    assert not place.path.parent.exists()


async def test_stores_may_be_opened_at_the_same_moment(place: StorePlace) -> None:
    stores = [place.make_store("/w", print) for _ in range(8)]
    await asyncio.gather(*(store.open() for store in stores))
    await asyncio.gather(*(store.close() for store in stores))
    assert place.run("SELECT version FROM migrations") == [(len(MIGRATIONS),)]


async def test_without_the_package_one_sentence_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ConfigError, match=r"pip install 'jupyter-eca\[postgres\]'"):
        await StorePlace(tmp_path / "chats.db", "postgresql://ada@db.example/eca").make_store("/w", print).open()


async def test_a_server_that_is_not_there_is_named_without_the_password(tmp_path: Path) -> None:
    pytest.importorskip("psycopg")
    url = f"postgresql://ada:geheim@/eca?host={tmp_path}&password=geheim2"
    with pytest.raises(ConfigError, match=r"PostgreSQL \(ada@/.*/eca\) cannot be used") as refused:
        await StorePlace(tmp_path / "chats.db", url).make_store("/w", print).open()
    assert "geheim" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("postgresql://ada:geheim@db.example.org:5433/eca?sslmode=require", "PostgreSQL (ada@db.example.org/eca)"),
        ("postgresql:///eca?user=ada&password=geheim&host=/run", "PostgreSQL (ada@/run/eca)"),
        ("postgresql://db.example.org/eca", "PostgreSQL (db.example.org/eca)"),
    ],
)
async def test_a_database_is_named_without_secrets(url: str, name: str) -> None:
    assert describe_url(url) == name


async def test_a_schema_of_a_newer_version_is_left_as_it_is(place: StorePlace) -> None:
    async with opened(place):
        place.run("UPDATE migrations SET version = 1000")
    with pytest.raises(ConfigError, match=r"newer jupyter-eca's\. Install that version"):
        await place.make_store("/w", print).open()
    assert place.run("SELECT version FROM migrations") == [(1000,)]


# -- who may read


async def test_nobody_reads_the_chats_of_another_user(postgres_server: PostgresServer, tmp_path: Path) -> None:
    ada = StorePlace(tmp_path / "ada.db", postgres_server.create_user("ada"))
    ben = StorePlace(tmp_path / "ben.db", postgres_server.create_user("ben"))
    async with opened(ada) as hers, opened(ben) as his:
        hers.append([asked("secret")])
        await hers.confirm()
        assert await his.list_chats() == []
        with pytest.raises(Exception, match="permission denied for schema ada"):
            ben.run("SELECT * FROM ada.events")


async def test_a_role_without_a_schema_is_told_what_an_administrator_does(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    postgres_server.run("CREATE ROLE carl LOGIN")
    place = StorePlace(tmp_path / "chats.db", postgres_server.make_url("carl"))
    with pytest.raises(ConfigError, match='CREATE SCHEMA AUTHORIZATION "carl"'):
        await place.make_store("/w", print).open()
    postgres_server.run('CREATE SCHEMA AUTHORIZATION "carl"')
    async with opened(place) as store:
        assert await store.list_chats() == []


async def test_the_hook_in_the_documentation_makes_a_role_that_stores_its_chats(
    postgres_server: PostgresServer, tmp_path: Path
) -> None:
    (code,) = re.findall(r"```python\n( +import secrets\n.*?)```", PAGE.read_text(), re.DOTALL)
    code = textwrap.dedent(code).replace("postgresql://hub_admin@db.example.org/eca", postgres_server.make_url("eca"))
    spawner = SimpleNamespace(user=SimpleNamespace(name="dora"), environment={})
    names: dict[str, Any] = {"c": SimpleNamespace(Spawner=SimpleNamespace())}
    exec(compile(code, PAGE.name, "exec"), names)  # noqa: S102  # an example of ours
    for _ in range(2):  # as at each start of her server
        names["create_role"](spawner)
    async with opened(StorePlace(tmp_path / "chats.db", postgres_server.make_url("dora"))) as store:
        store.append([asked("Hi")])
        await store.confirm()
    assert len(spawner.environment["PGPASSWORD"]) > 40


# -- who answers


async def test_a_chat_is_answered_elsewhere_as_long_as_the_other_process_is_connected(place: StorePlace) -> None:
    async with opened(place) as one:
        async with opened(place) as other:
            other.append([asked("Hi")])
            await other.confirm()
            row = await one.read_chat("c")
            assert row is not None
            assert row.owner == other.owner != one.owner
            assert is_alive(row.owner)
        row = await one.read_chat("c")
        assert row is not None
        assert row.owner is None
        assert place.run("SELECT owner FROM chats") == [(other.owner,)]


# -- characters


@pytest.mark.parametrize("text", ["", "a", "a\0b", "\0", "\ue000", "\ue0000\0\ue0001", "\0\ue000\0"])
async def test_a_text_is_read_back_as_it_was(text: str) -> None:
    assert "\0" not in escape(text)
    assert unescape(escape(text)) == text


async def test_nul_and_half_characters_are_stored_and_found(place: StorePlace) -> None:
    async with opened(place) as store:
        title = Event(chat="c", turn="t", role=Role.SYSTEM, content=MetadataContent(title="nul \0 \ue000 title"), at=1)
        store.append([asked("before\0after \ud83d"), title, asked("second", chat="d")])
        await store.confirm()
        (first, second) = await store.read_events("c")
        assert first.content == TextContent(text="before\0after \N{REPLACEMENT CHARACTER}")
        assert second.content == title.content
        rows = {row.id: row for row in await store.list_chats()}
        assert rows["c"].title == "nul \0 \ue000 title"
        assert rows["c"].prompts == 1
        checkpoint = CellCheckpoint(turn="t", path="a\0b.ipynb", undo="[]", after="{}")
        await store.do(lambda tables: tables.keep_cell_checkpoint("c", checkpoint))
        assert (await store.do(lambda tables: tables.list_cell_checkpoints("c")))[0].path == "a\0b.ipynb"
        for chat in await store.do(lambda tables: tables.messages.list_stale()):
            await store.do(lambda tables, chat=chat: tables.messages.index(chat))
        for word in ("before\0after", "\N{REPLACEMENT CHARACTER}"):
            found = await store.do(lambda tables, word=word: tables.messages.find([word]))
            assert [message.chat for message in found] == ["c"]


async def test_what_can_never_be_stored_takes_nothing_else_with_it(place: StorePlace) -> None:
    async with opened(place) as store:
        refused: list[str] = []
        store.on_refused = lambda chat, _: refused.append(chat)
        store.append([asked("one"), asked("bad", chat="d").model_copy(update={"at": 2**70}), asked("two")])
        await store.confirm()
        assert [event.content for event in await store.read_events("c")] == [
            TextContent(text="one"),
            TextContent(text="two"),
        ]
        assert refused == ["d"]
