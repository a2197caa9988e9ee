"""The commands that work on stored chats without a server, where the chats are in PostgreSQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host.store import Spending
from jupyter_eca.host.store.rows import Checkpoint
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event, Person
from tests.support.rooms import ROOT
from tests.support.store_places import StorePlace

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.postgres import PostgresServer

pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]

PASSWORD = "correcthorsebatterystaple"  # noqa: S105  # the server of the test asks for none


@pytest.fixture
def place(postgres_server: PostgresServer, tmp_path: Path) -> StorePlace:
    url = postgres_server.create_user()
    return StorePlace(tmp_path / "data" / "eca" / "chats.db", url.replace("@/", f":{PASSWORD}@/"))


def run(place: StorePlace, tmp_path: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    home = tmp_path / "home"
    (home / "eca").mkdir(parents=True, exist_ok=True)
    (home / "eca" / "config.json").write_text(json.dumps({"store": {"url": place.url} if place.url else {}}))
    variables = {
        "XDG_CONFIG_HOME": str(home),
        "HOME": str(home),
        "JUPYTER_DATA_DIR": str(tmp_path / "data"),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    done = subprocess.run(
        [sys.executable, "-m", "jupyter_eca", *arguments], cwd=tmp_path, env={**os.environ, **variables},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert PASSWORD not in done.stdout + done.stderr
    return done


def asked(chat: str, text: str) -> Event:
    by = Person(username="ada", name="Ada")
    return Event(chat=chat, turn=f"turn of {chat}", role=Role.USER, content=TextContent(text=text), at=1, by=by)


async def test_chats_are_exported_counted_and_purged(place: StorePlace, tmp_path: Path) -> None:
    store = place.make_store(str(tmp_path), lambda _: None)
    await store.open()
    store.append([asked("calm", "walrus"), asked("busy", "narwhal")])
    store.record_spending(Spending(1, "busy", "turn of busy", "", "a/b", 5, 0, 7, 0.5))
    await store.confirm()

    done = run(place, tmp_path, "export", "--everything", "-o", "archive.zip")
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(tmp_path / "archive.zip") as archive:
        texts = [archive.read(name).decode() for name in archive.namelist()]
    assert any("walrus" in text for text in texts)
    assert not any(PASSWORD in text for text in texts)

    done = run(place, tmp_path, "usage")
    _, row = done.stdout.splitlines()
    assert row.split(",")[0].startswith("PostgreSQL (")
    assert row.split(",")[2:7] == ["ada", "2", "1", "5", "7"]

    done = run(place, tmp_path, "purge", "--chat", "busy", "--yes")
    assert done.returncode == 1
    assert f"(process {os.getpid()})" in done.stderr

    await store.close()
    done = run(place, tmp_path, "purge", "--chat", "busy", "--yes")
    assert done.returncode == 0, done.stderr
    assert place.run("SELECT id FROM chats") == [("calm",)]
    assert not (tmp_path / "data" / "eca" / "chats.db").exists()


async def test_the_chats_of_a_file_are_copied_once_and_go_on(place: StorePlace, tmp_path: Path) -> None:
    file = StorePlace(place.path)
    store = file.make_store(str(tmp_path), lambda _: None)
    await store.open()
    store.append([asked("one", "a walrus"), asked("two", "a \0 and half a \ud83d"), asked("one", "again")])
    store.record_spending(Spending(1, "one", "turn of one", "", "a/b", 5, 0, 7, 0.5))
    checkpoint = Checkpoint("turn of one", "/a/b.py", b"\0before", "after")
    await store.do(lambda tables: tables.keep_checkpoint("one", checkpoint))
    await store.confirm()
    before = {chat: await store.read_events(chat) for chat in ("one", "two")}
    assert file.run("SELECT DISTINCT owner FROM chats") == [(store.owner,)]
    await store.close()

    done = run(place, tmp_path, "copy-chats")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 chats of ")

    store = place.make_store(str(tmp_path), lambda _: None)
    await store.open()
    for chat, events in before.items():
        assert await store.read_events(chat) == events
    assert [row.owner for row in await store.list_chats()] == [None, None]
    assert await store.do(lambda tables: tables.list_checkpoints("one")) == [checkpoint]
    store.append([asked("one", "and on")])
    await store.confirm()
    (*_, last) = await store.read_events("one")
    assert last.seq > max(event.seq for events in before.values() for event in events)
    await store.close()

    done = run(place, tmp_path, "copy-chats")
    assert done.returncode == 1
    assert "has chats already" in done.stderr
    assert place.run("SELECT count(*) FROM events") == [(4,)]
    assert file.run("SELECT count(*) FROM events") == [(3,)]


async def test_chats_are_not_copied_where_no_database_is_set(place: StorePlace, tmp_path: Path) -> None:
    done = run(StorePlace(place.path), tmp_path, "copy-chats")
    assert done.returncode == 1
    assert "`store.url` is not set" in done.stderr


async def test_the_doctor_says_where_the_chats_are_and_what_only_sqlite_can_do(
    place: StorePlace, tmp_path: Path
) -> None:
    done = run(place, tmp_path, "doctor")
    assert "Chats: PostgreSQL (" in done.stdout, done.stderr
    assert "Only files of SQLite are repaired" in done.stdout
    assert "pg_trgm" in done.stdout


async def test_the_search_has_an_index_where_an_administrator_has_installed_it(
    postgres_server: PostgresServer, place: StorePlace
) -> None:
    if not postgres_server.run("SELECT 1 FROM pg_available_extensions WHERE name = 'pg_trgm'"):
        pytest.skip("this PostgreSQL comes without pg_trgm")
    postgres_server.run("CREATE EXTENSION IF NOT EXISTS pg_trgm")
    try:
        store = place.make_store("/w", lambda _: None)
        await store.open()
        store.append([asked("c", "a walrus\\% of 100%_"), asked("d", "another")])
        await store.confirm()
        for chat in await store.do(lambda tables: tables.messages.list_stale()):
            await store.do(lambda tables, chat=chat: tables.messages.index(chat))
        for words in (["alr"], ["walrus\\%"], ["walrus", "100%_"]):
            found = await store.do(lambda tables, words=words: tables.messages.find(words))
            assert [message.chat for message in found] == ["c"]
        assert "has an index" in store.describe_place()
        await store.close()
    finally:
        postgres_server.run("DROP EXTENSION pg_trgm CASCADE")
