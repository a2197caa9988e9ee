"""PostgreSQL ends or is cut off in the middle of a turn: all that was shown is there afterwards, in order, once."""

from __future__ import annotations

import asyncio
import stat
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import pytest_asyncio

from jupyter_eca.host.store import Spending
from jupyter_eca.protocol.content import ProgressContent, Role, TextContent
from jupyter_eca.protocol.event import Event, Outcome
from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.host_and_client import desk
from tests.support.locked_store import shorten_waits
from tests.support.lossy_socket import losing
from tests.support.postgres import run_postgres
from tests.support.raw_client import connect_and_initialize
from tests.support.store_places import StorePlace

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Generator

    from jupyter_eca.host.store import Store
    from tests.support.lossy_socket import LossySocket
    from tests.support.postgres import PostgresServer
    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Then two."}]},
    {"message": "write", "reply": [{"text": "First one. "}, {"tool": "write_file",
                                   "arguments": {"path": "a.txt", "content": "a"}}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)
    monkeypatch.setattr("jupyter_eca.host.store.postgres.schema_database._PAUSE_SECONDS", 0)


@pytest.fixture
def server() -> Generator[PostgresServer]:
    """One that a test may kill."""
    with run_postgres() as server:
        yield server


@pytest.fixture
def between(postgres_server: PostgresServer) -> Generator[LossySocket]:
    with tempfile.TemporaryDirectory(prefix="pg") as name, losing(Path(name), postgres_server.folder) as between:
        yield between


@pytest.fixture
def place(postgres_server: PostgresServer, between: LossySocket, tmp_path: Path) -> StorePlace:
    url = postgres_server.create_user()
    return StorePlace(tmp_path / "data" / "chats.db", url.replace(str(postgres_server.folder), str(between.folder)))


@pytest_asyncio.fixture
async def store(place: StorePlace) -> AsyncGenerator[Store]:
    store = place.make_store("/w", lambda _: None)
    await store.open()
    yield store
    await store.close()


def asked(text: str, chat: str = "c") -> Event:
    return Event(chat=chat, turn="t", role=Role.USER, content=TextContent(text=text), at=1)


def ended() -> Event:
    content = ProgressContent(state="finished")
    return Event(chat="c", turn="t", role=Role.SYSTEM, content=content, at=2, outcome=Outcome.COMPLETED)


def cost() -> Spending:
    return Spending(1, "c", "t", "", "a/b", 1, 0, 1, 0.5)


async def read_texts(store: Store, chat: str = "c") -> list[str]:
    events = await store.read_events(chat)
    return [event.content.text for event in events if isinstance(event.content, TextContent)]


async def message(at: SessionClient, words: str) -> str:
    found = await at.until(
        lambda m: isinstance(m, Notification) and m.method == "$/showMessage" and words in m.params["message"]
    )
    return found.params["message"]


def list_unsaved(folder: Path) -> list[Path]:
    return list(folder.glob("unsaved-*"))


@contextmanager
def killed(server: PostgresServer) -> Generator[None]:
    server.kill()
    yield
    server.start()


@contextmanager
def stopped(server: PostgresServer) -> Generator[None]:
    server.stop()
    yield
    server.start()


@pytest.mark.nightly
@pytest.mark.parametrize("end", [killed, stopped])
async def test_a_server_that_ends_in_the_middle_of_a_turn_loses_nothing_that_was_shown(
    server: PostgresServer, tmp_path: Path, end: Any
) -> None:
    url = server.create_user()
    async with (
        desk(tmp_path, RULES, store={"url": url}) as table,
        connect_and_initialize(table, envelope=True) as at,
    ):
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await at.content("toolCallRun")
        with end(server):
            await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
            assert "PostgreSQL (" in await message(at, "not saved")
            await at.content("text", text="Then two.")
            await at.finished()
        await message(at, "saved again")
        last = max(params["seq"] for params in at.params("chat/contentReceived"))
        await at.close()
        async with connect_and_initialize(table, envelope=True) as again:
            await again.result("chat/open", {"chatId": "c", "after": str(last)})
            assert "chat/cleared" in again.methods
            shown = [params["content"].get("text") for params in again.params("chat/contentReceived")]
            assert [text for text in shown if text] == ["write", "First one. ", "Then two."]
            await again.result("chat/prompt", {"chatId": "c", "message": "you"})
            await again.content("text", text="Hello, you")


@pytest.mark.nightly
async def test_a_server_that_was_started_again_meanwhile_is_not_noticed(server: PostgresServer, tmp_path: Path) -> None:
    store = StorePlace(tmp_path / "chats.db", server.create_user()).make_store("/w", lambda _: None)
    await store.open()
    store.append([asked("one")])
    await store.confirm()
    server.stop()
    server.start()
    assert await read_texts(store) == ["one"]
    store.append([asked("two")])
    await store.confirm()
    assert await read_texts(store) == ["one", "two"]
    await store.close()


@pytest.mark.parametrize("lost", ["request", "answer"])
async def test_a_commit_whose_answer_is_lost_is_stored_once(store: Store, between: LossySocket, lost: str) -> None:
    told: list[str] = []
    store.on_unsaved = lambda chat, _: told.append(f"{chat} not saved")
    store.on_saved = lambda chat: told.append(f"{chat} saved")
    store.append([asked("one"), asked("other", "d")])
    await store.confirm()
    between.loses = lost
    store.append([asked("two"), asked("three")])
    store.record_spending(cost())
    await store.settle()
    between.loses = ""
    store.append([asked("four"), ended()])
    store.record_spending(cost())
    await store.confirm()
    assert await read_texts(store) == ["one", "two", "three", "four"]
    assert told == ["c not saved", "c saved"]
    row, other = await store.read_chat("c"), await store.read_chat("d")
    assert row is not None
    assert other is not None
    # A client that has the events up to the last number that it got is shown the chat again.
    assert not row.is_intact_up_to(1)
    assert other.is_intact_up_to(2)
    assert row.outcome == "completed"


@pytest.mark.parametrize("lost", ["request", "answer", ""])
async def test_what_is_not_stored_when_the_process_ends_is_stored_by_the_next_one(
    place: StorePlace, between: LossySocket, lost: str
) -> None:
    first = place.make_store("/w", lambda _: None)
    await first.open()
    first.append([asked("one")])
    await first.confirm()
    if lost:
        between.loses = lost
        first.append([asked("two")])
        first.record_spending(cost())
        await first.settle()
    between.refuses = True
    between.close()
    first.append([asked("three")])
    first.record_spending(cost())
    await first.close()
    between.loses, between.refuses = "", False
    (file,) = place.path.parent.glob("unsaved-*")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    elsewhere = place.make_store("/elsewhere", lambda _: None)
    await elsewhere.open()
    await elsewhere.close()
    assert file.exists()
    for _ in range(2):
        again = place.make_store("/w", lambda _: None)
        await again.open()
        assert await read_texts(again) == (["one", "two", "three"] if lost else ["one", "three"])
        await again.close()
        assert place.run("SELECT count(*) FROM spending") == [(2 if lost else 1,)]
    assert list(place.path.parent.glob("unsaved-*")) == []


async def make_unsaved_file(folder: Path) -> StorePlace:
    """Events in a file, because the database could not be written when the process ended."""
    place = StorePlace(folder / "chats.db")
    first = place.make_store("/w", lambda _: None)
    await first.open()
    with place.hold():
        first.append([asked("one")])
        first.record_spending(cost())
        await first.close()
    assert len(list_unsaved(folder)) == 1
    return place


# A process opens the store, and is killed before or after it has stored what is in the file.
KILLED = """
import asyncio, os, sys
from pathlib import Path
from jupyter_eca.host.store import Store
from jupyter_eca.host.store.unsaved_file import UnsavedFile

async def main():
    store = Store(Path(sys.argv[1]), "/w", lambda _: None)
    UnsavedFile.delete = lambda file: os._exit(7)
    await store.open()
    os._exit(9)

asyncio.run(main())
"""


@pytest.mark.parametrize("has_stored", [False, True])
async def test_what_a_killed_process_had_taken_is_stored_once_by_the_next_one(tmp_path: Path, has_stored: bool) -> None:
    place = await make_unsaved_file(tmp_path)
    if not has_stored:
        place.refuse_events()
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(place.path))
    assert await killed.wait() == (7 if has_stored else 9)
    if not has_stored:
        place.accept_events()
    assert len(list_unsaved(tmp_path)) == 1
    for _ in range(2):
        store = place.make_store("/w", lambda _: None)
        await store.open()
        assert await read_texts(store) == ["one"]
        await store.close()
    assert place.run("SELECT count(*) FROM spending") == [(1,)]
    assert list_unsaved(tmp_path) == []


async def test_what_a_living_process_has_taken_is_left_to_it(tmp_path: Path) -> None:
    place = await make_unsaved_file(tmp_path)
    first, second = (place.make_store("/w", lambda _: None) for _ in range(2))
    place.refuse_events()
    await first.open()
    await second.open()
    place.accept_events()
    second.append([asked("two")])
    await second.confirm()
    await first.close()
    await second.close()
    assert place.run("SELECT count(*) FROM events WHERE content LIKE '%one%'") == [(1,)]
    assert list_unsaved(tmp_path) == []


async def test_what_waits_in_a_file_stays_there_while_nothing_can_be_stored(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    place = await make_unsaved_file(tmp_path)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.path.stat().st_size, before[1]))
    try:
        store = place.make_store("/w", lambda _: None)
        await store.open()
        await store.close()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    again = place.make_store("/w", lambda _: None)
    await again.open()
    assert await read_texts(again) == ["one"]
    await again.close()


@pytest.mark.nightly
async def test_a_server_that_answers_nothing_does_not_keep_the_process_from_ending(
    server: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.host.store.store.CLOSE_SECONDS", 0.1)
    place = StorePlace(tmp_path / "chats.db", server.create_user())
    store = place.make_store("/w", lambda _: None)
    await store.open()
    with server.freeze():
        store.append([asked("one")])
        await store.close()
        assert len(list_unsaved(tmp_path)) == 1
    again = place.make_store("/w", lambda _: None)
    await again.open()
    assert await read_texts(again) == ["one"]
    await again.close()
