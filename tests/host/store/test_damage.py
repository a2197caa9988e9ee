"""A database that is damaged, of a newer version, or cannot be written: the program starts, says it once, shows every
chat that can be read, stores new ones, and never deletes or overwrites the old file."""

from __future__ import annotations

import asyncio
import json
import random
import shutil
import sqlite3
import sys
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.host.doctor import report
from jupyter_eca.host.store import Store
from jupyter_eca.host.store.schema import MIGRATIONS
from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.damaged_store import (
    CHATS,
    DAMAGES,
    PAGE,
    desk_at,
    find_whole_events,
    forbid_writing,
    join_row,
    make_chats,
    overwrite_header,
)
from tests.support.host_and_client import answer, outcomes, said
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tests.support.host_and_client import Desk
    from tests.support.raw_client import SessionClient

SAMPLE, NIGHTLY = 14, 600

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("workspace")


@pytest.fixture(scope="module")
def original(workspace: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("original") / "chats.db"
    asyncio.run(make_chats(workspace, path))
    return path


@pytest.fixture
def path(original: Path, tmp_path: Path) -> Path:
    """A database of its own for a test, with the known chats."""
    (tmp_path / "eca").mkdir()
    shutil.copy(original, tmp_path / "eca" / "chats.db")
    return tmp_path / "eca" / "chats.db"


def read(path: Path) -> bytes:
    return path.read_bytes()


def list_kept(path: Path) -> list[Path]:
    return sorted(path.parent.glob("chats.damaged-*.db"))


async def warn(client: SessionClient, words: str) -> str:
    """The warning with these words, which must come."""
    found = await client.until(
        lambda m: isinstance(m, Notification) and m.method == "$/showMessage" and words in m.params["message"]
    )
    return found.params["message"]


async def announce(client: SessionClient) -> list[str]:
    """Let a client be told of the set-up, and return the warnings that it gets."""
    await client.tell("initialized", {})
    await client.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
    return [params["message"] for params in client.params("$/showMessage")]


@asynccontextmanager
async def connect_silently(table: Desk) -> AsyncGenerator[SessionClient]:
    """A client that was not told of the set-up yet."""
    client = connect(table)
    try:
        await client.initialize()
        yield client
    finally:
        await client.close()


async def check_survival(workspace: Path, original: Path, path: Path, seed: int) -> None:
    damage = DAMAGES[seed % len(DAMAGES)]
    damage.do(path, random.Random(seed))
    damaged = read(path)
    whole = find_whole_events(original, damaged)
    async with desk_at(workspace, path) as table, connect_silently(table) as first:
        at_start = len(table.host.store.warnings)
        assert len(await announce(first)) == at_start <= 1
        async with connect_silently(table) as second:
            assert await announce(second) == []
        await first.result("chat/list", {})
        client = await table.client()
        for chat in ("chat-3", "new"):
            assert outcomes(await answer(client, "hi", chat=chat)) == ["completed"]
        # What was damaged silently is found by `doctor`.
        text = await report(table.host.services, "here")
        warnings = table.host.store.warnings
        assert all(warning in text for warning in warnings)
        shown: set[tuple[str, int]] = set()
        for chat in {chat for chat, _ in whole}:
            assert await table.host.store.read_chat(chat) is not None
            shown |= {(chat, event.seq) for event in await table.host.store.read_events(chat)}
        assert whole - shown == set()
        kept = list_kept(path)
        assert len(kept) == len(warnings)
        if at_start:
            assert kept[0].read_bytes() == damaged, "the damaged file was changed"
            assert str(kept[0]) in warnings[0]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert db.execute("SELECT count(*) FROM chats WHERE id = 'new'").fetchone() == (1,)
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".eca-")] == []


@pytest.mark.parametrize("seed", range(SAMPLE))
async def test_every_chat_that_can_be_read_is_shown_after_damage(
    seed: int, workspace: Path, original: Path, path: Path
) -> None:
    await check_survival(workspace, original, path, seed)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(SAMPLE, SAMPLE + NIGHTLY))
async def test_every_chat_that_can_be_read_is_shown_after_much_damage(
    seed: int, workspace: Path, original: Path, path: Path
) -> None:
    await check_survival(workspace, original, path, seed)


def overwrite(path: Path, at: int = 0, data: bytes = bytes(100)) -> None:
    """Overwrite a part of a file, by default its header."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(data)


def overwrite_events(path: Path) -> None:
    """Destroy the page at which the table of events begins."""
    with closing(sqlite3.connect(path)) as db:
        (page,) = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'events'").fetchone()
    overwrite(path, (page - 1) * PAGE, b"\xff" * PAGE)


async def test_a_row_whose_number_is_damaged_does_not_replace_another_row(
    workspace: Path, original: Path, path: Path
) -> None:
    with closing(sqlite3.connect(original)) as db:
        events = {seq: row for seq, *row in db.execute("SELECT seq, chat, turn, role, at, content FROM events")}
    whole = read(path)
    # The number of a row stands before its header, here in two bytes: 294 becomes 380.
    at = whole.rindex(bytes([0x82, 0x26]), 0, whole.index(join_row(*events[294])))
    overwrite(path, at, bytes([0x82, 0x7C]))
    async with desk_at(workspace, path) as table:
        await table.host.store.inspect()
        for seq in (293, 294, 295, 379, 380, 381):
            chat, turn, *_, content = events[seq]
            kept = {event.seq: event for event in await table.host.store.read_events(chat)}
            assert kept[seq].turn == turn
            assert kept[seq].content.type == json.loads(content)["type"]


async def test_damage_while_a_chat_is_open_is_repaired_and_all_clients_are_told(
    workspace: Path, original: Path, path: Path
) -> None:
    async with desk_at(workspace, path) as table, connect_silently(table) as client:
        await announce(client)
        overwrite_events(path)
        assert (await client.result("chat/open", {"chatId": "chat-3"}))["found"]
        assert str(list_kept(path)[0]) in await warn(client, "damaged")
        whole = find_whole_events(original, list_kept(path)[0].read_bytes())
        found = {event.seq for event in await table.host.store.read_events("chat-3")}
        assert {seq for chat, seq in whole if chat == "chat-3"} <= found
        asking = await table.client()
        assert said(await answer(asking, "you", chat="chat-3")) == "Hello, you"


async def test_another_process_goes_on_in_the_repaired_file(workspace: Path, path: Path) -> None:
    other = Store(path, str(workspace), lambda _: None)
    async with desk_at(workspace, path) as table:
        await other.open()
        overwrite_events(path)
        await table.host.store.inspect()
        assert len(list_kept(path)) == 1
        client = await table.client()
        await answer(client, "hi", chat="new")
        row = await other.read_chat("new")
        assert row is not None
        await other.close()


async def test_a_file_of_a_newer_version_is_left_and_its_chats_are_shown_in_a_file_of_this_version(
    workspace: Path, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE chats ADD COLUMN something_new TEXT")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    before = read(path)
    for expected in (CHATS, CHATS + 1):
        async with desk_at(workspace, path) as table, connect_silently(table) as client:
            assert len((await client.result("chat/list"))["chats"]) == expected
            (warning,) = await announce(client)
            assert "newer" in warning
            asking = await table.client()
            assert said(await answer(asking, "you", chat="new")).startswith("Hello, you")
    assert read(path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="root needs a mount for it")
async def test_chats_in_a_folder_that_cannot_be_written_are_shown_and_new_ones_are_marked(
    workspace: Path, path: Path
) -> None:
    before = read(path)
    with forbid_writing(path.parent):
        async with desk_at(workspace, path) as table, connect_silently(table) as client:
            (warning,) = await announce(client)
            assert str(path) in warning
            assert len((await client.result("chat/list"))["chats"]) == CHATS
            await client.result("chat/prompt", {"chatId": "new", "message": "you"})
            assert str(path) in await warn(client, "not saved")
            await client.content("text", text="Hello, you")
            await client.finished("new")
    assert read(path) == before
    async with desk_at(workspace, path) as table:
        assert table.host.store.warnings == []


async def test_a_disk_that_is_full_at_the_start_shows_the_chats(workspace: Path, path: Path) -> None:
    resource = pytest.importorskip("resource")
    before, data = resource.getrlimit(resource.RLIMIT_FSIZE), read(path)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(data), before[1]))
    try:
        async with desk_at(workspace, path) as table, connect_silently(table) as client:
            assert len((await client.result("chat/list"))["chats"]) == CHATS
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert list_kept(path) == []


async def test_a_damaged_file_that_cannot_be_moved_is_repaired_in_a_copy(workspace: Path, path: Path) -> None:
    overwrite(path)
    before = read(path)
    with forbid_writing(path.parent):
        async with desk_at(workspace, path) as table, connect_silently(table) as client:
            assert len((await client.result("chat/list"))["chats"]) == CHATS
    assert read(path) == before
    assert list_kept(path) == []


@pytest.mark.parametrize("column", ["created", "title", "owner", "model", "cut_to", "trust", "parent"])
@pytest.mark.parametrize("value", ["X'00ff'", "'?'", "2.5", "-1"])
async def test_a_value_of_another_type_in_one_chat_does_not_hide_the_other_chats(
    column: str, value: str, workspace: Path, path: Path
) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE chats SET {column} = {value} WHERE id = 'chat-3'")  # noqa: S608  # words of ours
        db.execute("UPDATE events SET outcome = '?' WHERE chat = 'chat-4'")
    async with desk_at(workspace, path) as table, connect_silently(table) as client:
        assert len((await client.result("chat/list"))["chats"]) >= CHATS - 1
        assert (await client.result("chat/open", {"chatId": "chat-3"}))["found"]
        assert (await client.result("chat/open", {"chatId": "chat-4"}))["found"]


async def test_an_event_that_cannot_be_understood_does_not_hide_its_chat(workspace: Path, path: Path) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("""UPDATE events SET content = '{"type":"hologram"}' WHERE chat = 'chat-3' AND role = 'user'""")
    async with desk_at(workspace, path) as table, connect_silently(table) as client:
        assert (await client.result("chat/open", {"chatId": "chat-3"}))["found"]
        asking = await table.client()
        assert outcomes(await answer(asking, "you", chat="chat-3")) == ["completed"]
        assert table.host.store.warnings == []


async def test_the_latest_chats_of_a_killed_process_survive_with_the_wal(
    workspace: Path, path: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy" / "chats.db"
    copy.parent.mkdir()
    async with desk_at(workspace, path) as table:
        client = await table.client()
        await answer(client, "you", chat="new")
        for end in ("", "-wal"):
            shutil.copy(f"{path}{end}", f"{copy}{end}")
    overwrite(copy)
    async with desk_at(workspace, copy) as table:
        assert await table.host.store.read_chat("new") is not None
        assert list_kept(copy) == list(copy.parent.glob("chats.damaged-*.db"))


async def test_a_deleted_chat_does_not_come_back_by_a_repair(workspace: Path, path: Path) -> None:
    async with desk_at(workspace, path) as table:
        client = await table.client()
        await answer(client, "a secret that is deleted " * 2_000, chat="gone")
        async with connect_silently(table) as other:
            await other.result("chat/delete", {"chatId": "gone"})
    assert b"a secret that is deleted" not in read(path)
    overwrite_header(path, random.Random(1))
    async with desk_at(workspace, path) as table:
        assert "gone" not in {row.id for row in await table.host.chats.list_rows()}
    assert b"a secret that is deleted" not in read(path)
