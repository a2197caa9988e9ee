"""Chats on disk: what was shown is there after a crash, for every process, and a broken disk ends no answer."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.apps.process import ask, run_host
from jupyter_eca.errors import ConfigError, RemoteError
from jupyter_eca.host.store import Store, StoredSelection, is_alive, schema
from jupyter_eca.host.store.schema import MIGRATIONS
from jupyter_eca.protocol.content import (
    Content,
    MetadataContent,
    ProgressContent,
    Role,
    TextContent,
    ToolCallRunContent,
    UsageContent,
)
from jupyter_eca.protocol.event import ContextAside, Event, Outcome
from tests.support.store_places import StorePlace, on_both, on_both_always
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

pytestmark = pytest.mark.asyncio

WORKSPACE = "/some/folder"


@dataclass
class Book:
    """A store, and what it has shown."""

    store: Store
    shown: list[Event] = field(default_factory=list[Event])
    more: asyncio.Event = field(default_factory=asyncio.Event)

    def publish(self, events: list[Event]) -> None:
        self.shown += events
        self.more.set()

    def texts(self) -> list[str]:
        return texts(self.shown)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "chats.db"


@asynccontextmanager
async def opened(place: StorePlace, workspace: str = WORKSPACE) -> AsyncGenerator[Book]:
    """Not running: what is appended is committed by `settled`."""
    shown: list[Event] = []
    book = Book(place.make_store(workspace, lambda events: book.publish(events)), shown)
    await book.store.open()
    try:
        yield book
    finally:
        await book.store.close()


def event(content: Content | str, chat: str = "c", role: Role = Role.ASSISTANT, at: int = 1, **fields: object) -> Event:
    given = TextContent(text=content) if isinstance(content, str) else content
    return Event.model_validate({"chat": chat, "turn": "t", "role": role, "content": given, "at": at, **fields})


def asked(message: str = "Hi", chat: str = "c", at: int = 1) -> Event:
    return event(TextContent(text=message, content_id="id"), chat, Role.USER, at)


def ended(chat: str = "c", at: int = 2) -> Event:
    return event(ProgressContent(state="finished"), chat, Role.SYSTEM, at, outcome=Outcome.COMPLETED)


def texts(events: list[Event]) -> list[str]:
    return [event.content.text for event in events if isinstance(event.content, TextContent)]


def contents(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def modes(folder: Path) -> dict[str, int]:
    return {file.name: stat.S_IMODE(file.stat().st_mode) for file in (folder, *folder.iterdir())}


def foreign(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)


def user_version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        return int(version)


# Events -------------------------------------------------------------------------------------------------------------


@on_both
async def test_pieces_of_an_answer_that_follow_closely_are_shown_together_and_what_is_no_piece_at_once(
    place: StorePlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.host.store.store.PACE_SECONDS", 3600)
    async with opened(place) as book, asyncio.timeout(PATIENCE):
        running = asyncio.create_task(book.store.run())
        book.store.append([event("one ")])
        await book.more.wait()
        for text in ("two ", "three"):
            book.store.append([event(text)])
            # Behind whatever was to be committed by now.
            await asyncio.sleep(0)
            await book.store.read_events("c")
        assert book.texts() == ["one "]
        book.more.clear()
        book.store.append([ended()])
        await book.more.wait()
        assert book.texts() == ["one ", "two three"]
        assert book.shown[-1].outcome is Outcome.COMPLETED
        running.cancel()


@on_both_always
async def test_events_survive_the_process(place: StorePlace) -> None:
    run = ToolCallRunContent(id="1", name="n", server="eca", arguments={"a": [None, 0.5, "é"]}, manual_approval=True)
    usage = UsageContent(session_tokens=1, message_input_tokens=1, message_output_tokens=0)
    async with opened(place) as book:
        hello = event("Hello", aside=ContextAside(text="[aside]"))
        book.store.append([asked(), hello, event(run), event(usage), ended()])
    async with opened(place) as again:
        assert await again.store.read_events("c") == book.shown
    assert [found.seq for found in book.shown] == [1, 2, 3, 4, 5]
    assert book.shown[2].content == run


@on_both
async def test_what_is_appended_is_shown_after_it_is_committed(place: StorePlace) -> None:
    async with opened(place) as book:
        committed: list[int] = []

        def look(events: list[Event]) -> None:
            committed.extend(seq for (seq,) in place.run("SELECT seq FROM events"))
            book.publish(events)

        eager = place.make_store(WORKSPACE, look)
        await eager.open()
        eager.append([asked(), event("Hello")])
        assert book.shown == []
        await eager.close()
        assert committed == [found.seq for found in book.shown] == [1, 2]


@on_both
async def test_a_running_store_commits_by_itself(place: StorePlace) -> None:
    async with opened(place) as book, asyncio.TaskGroup() as tasks:
        work = tasks.create_task(book.store.run())
        for message in ("one", "two"):
            book.more.clear()
            book.store.append([asked(message)])
            async with asyncio.timeout(PATIENCE):
                await book.more.wait()
        work.cancel()
    assert book.texts() == ["one", "two"]


@on_both
async def test_what_waits_for_one_commit_is_merged(place: StorePlace) -> None:
    async with opened(place) as book:
        for piece in ("Hel", "lo ", "you"):
            book.store.append([event(piece)])
        await book.store.settle()
        assert book.texts() == texts(await book.store.read_events("c")) == ["Hello you"]


@on_both
async def test_a_replay_gives_what_came_after(place: StorePlace) -> None:
    async with opened(place) as book:
        book.store.append([asked("one"), asked("two", chat="d"), asked("three")])
        await book.store.settle()
        assert texts(await book.store.read_events("c", after=1)) == ["three"]
        assert await book.store.read_events("nobody's") == []


@on_both
async def test_many_chats_do_not_mix(place: StorePlace) -> None:
    async with opened(place) as book:
        for number in range(20):
            book.store.append([asked(f"{number}", chat=f"c{number % 4}")])
        await book.store.settle()
        assert texts(await book.store.read_events("c1")) == ["1", "5", "9", "13", "17"]


# The list of chats --------------------------------------------------------------------------------------------------


@on_both_always
async def test_a_chat_is_listed_with_its_title_model_and_prompts(place: StorePlace) -> None:
    async with opened(place) as book:
        title = event(MetadataContent(title="Greeting"), role=Role.SYSTEM)
        book.store.append([asked(at=5), title, event("Hello"), ended(at=9)])
        book.store.save_selection("c", StoredSelection("a/b"))
        book.store.append([asked(at=12)])
        await book.store.settle()
        (row,) = await book.store.list_chats()
        assert (row.id, row.title, row.model, row.prompts, row.last) == ("c", "Greeting", "a/b", 2, 5)
        assert (row.created, row.updated) == (5, 12)
        assert await book.store.read_chat("c") == row
        assert await book.store.read_chat("d") is None


@on_both
async def test_the_chats_of_a_workspace_are_listed_the_last_used_first(place: StorePlace) -> None:
    async with opened(place) as here, opened(place, "/elsewhere") as there:
        here.store.append([asked(chat="a", at=1), asked(chat="b", at=2), asked(chat="a", at=3)])
        there.store.append([asked(chat="x", at=4)])
        await here.store.settle()
        await there.store.settle()
        assert [row.id for row in await here.store.list_chats()] == ["a", "b"]
        assert [row.id for row in await there.store.list_chats()] == ["x"]


@on_both
async def test_a_chat_is_owned_by_who_answers_in_it(place: StorePlace) -> None:
    async with opened(place) as book:
        book.store.append([asked()])
        await book.store.settle()
        during = await book.store.read_chat("c")
        book.store.append([ended()])
        await book.store.settle()
        after = await book.store.read_chat("c")
    assert during is not None
    assert after is not None
    assert (during.owner, after.owner) == (book.store.owner, None)
    assert is_alive(during.owner)
    assert not is_alive(None)


# Several processes --------------------------------------------------------------------------------------------------


@on_both_always
async def test_two_stores_of_one_file_see_each_others_events_in_one_order(place: StorePlace) -> None:
    async with opened(place) as one, opened(place) as two:
        for turn in range(10):
            for book in (one, two):
                book.store.append([asked(f"{turn}")])
            await asyncio.gather(one.store.settle(), two.store.settle())
        found = await one.store.read_events("c")
        assert found == await two.store.read_events("c")
    assert sorted([*one.shown, *two.shown], key=lambda shown: shown.seq) == found
    assert [event.seq for event in found] == list(range(1, 21))


async def test_stores_may_be_opened_at_the_same_moment(path: Path) -> None:
    for number in range(20):  # without a second try, one of them in four hundred finds the file locked
        file = path.with_name(f"{number}.db")
        stores = [Store(file, WORKSPACE, print) for _ in range(8)]
        await asyncio.gather(*(store.open() for store in stores))
        await asyncio.gather(*(store.close() for store in stores))
        assert user_version(file) == len(MIGRATIONS)


# Trouble ------------------------------------------------------------------------------------------------------------


@on_both
async def test_a_failing_disk_takes_no_answer_away(place: StorePlace, caplog: pytest.LogCaptureFixture) -> None:
    async with opened(place) as book:
        place.refuse_events()
        book.store.append([asked(), event("Hel"), event("lo"), ended()])
        await book.store.settle()
        assert book.texts() == ["Hi", "Hello"]
        assert [shown.seq for shown in book.shown] == [0, 0, 0]
        assert ("PostgreSQL (" if place.url else str(place.path)) in caplog.text


@on_both_always
async def test_a_failed_commit_leaves_nothing_half_written(place: StorePlace) -> None:
    async with opened(place) as book:
        place.refuse_events("NEW.turn = 'u'")
        book.store.append([asked(), event("kept?", turn="u")])
        await book.store.settle()
        assert place.run("SELECT * FROM events") == []
        assert place.run("SELECT * FROM chats") == []
        place.accept_events()
        book.store.append([asked("after")])
        await book.store.confirm()
        assert texts(await book.store.read_events("c")) == ["Hi", "kept?", "after"]


@on_both
async def test_who_waits_for_a_commit_may_be_cancelled_and_the_commit_is_not(place: StorePlace) -> None:
    async with opened(place) as book:
        with place.hold():
            book.store.append([asked()])
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await book.store.settle()
        await book.store.settle()
        assert book.texts() == texts(await book.store.read_events("c")) == ["Hi"]


@on_both
async def test_what_was_appended_last_is_stored_when_the_store_closes(place: StorePlace) -> None:
    async with opened(place) as book:
        book.store.append([asked()])
    assert book.texts() == ["Hi"]


# The file -----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(os.name != "posix", reason="file modes are POSIX")
async def test_nobody_else_may_read_the_chats(path: Path) -> None:
    async with opened(StorePlace(path)) as book:
        book.store.append([asked()])
        await book.store.settle()
        assert modes(path.parent) == {"data": 0o700, "chats.db": 0o600, "chats.db-wal": 0o600, "chats.db-shm": 0o600}


async def test_migrations_run_once(path: Path) -> None:
    for _ in range(2):
        async with opened(StorePlace(path)) as book:
            book.store.append([asked()])
    assert user_version(path) == len(MIGRATIONS)
    async with opened(StorePlace(path)) as book:
        assert len(await book.store.read_events("c")) == 2


@pytest.mark.parametrize(
    ("workspace", "spent_in", "notebook"),
    [
        (WORKSPACE, f"{WORKSPACE}/sub/a.ipynb", "sub/a.ipynb"),
        (WORKSPACE, "a.ipynb", "a.ipynb"),
        (WORKSPACE, f"{WORKSPACE} of mine/a.ipynb", f"{WORKSPACE} of mine/a.ipynb"),
        ("/", "/a.ipynb", "a.ipynb"),
        ("C:\\work", "C:\\work\\sub\\a.ipynb", "sub/a.ipynb"),
        (WORKSPACE, "", None),
    ],
)
@pytest.mark.parametrize("steps", [0, 1], ids=["without the column", "with the column"])
async def test_chats_of_an_older_version_have_the_path_of_their_notebook_as_jupyter_writes_it(
    path: Path, workspace: str, spent_in: str, notebook: str | None, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = next(number for number, script in enumerate(MIGRATIONS) if "chats ADD COLUMN notebook" in script)
    monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS[:added])
    with closing(schema.connect(path)) as db:
        db.execute("INSERT INTO chats (id, workspace, created, updated) VALUES ('c', ?, 1, 1)", (workspace,))
        db.execute(
            "INSERT INTO spending (at, chat, turn, notebook, tokens_in, tokens_out) VALUES (1, 'c', 't', ?, 1, 1)",
            (spent_in,),
        )
    monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS[: added + steps])
    schema.connect(path).close()
    monkeypatch.setattr(schema, "MIGRATIONS", MIGRATIONS)
    store = Store(path, workspace, print)
    await store.open()
    row = await store.read_chat("c")
    await store.close()
    assert row is not None
    assert row.notebook == notebook


async def test_a_file_that_is_no_database_is_kept_with_another_name(path: Path) -> None:
    data = b"not a database at all, but long enough to be taken for one" * 20
    foreign(path, data)
    store = Store(path, WORKSPACE, print)
    await store.open()
    assert await store.list_chats() == []
    await store.close()
    (kept,) = path.parent.glob("*.damaged-*.db")
    assert kept.read_bytes() == data
    assert str(kept) in store.warnings[0]


async def test_a_folder_that_cannot_be_made_is_refused_by_name(tmp_path: Path) -> None:
    foreign(tmp_path / "data" / "chats.db", b"a file where a folder should be")
    with pytest.raises(ConfigError, match=r"more\.db cannot be used"):
        await Store(tmp_path / "data" / "chats.db" / "more.db", WORKSPACE, print).open()


@pytest.fixture
def unusable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace on a machine where the chats cannot be stored."""
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    foreign(tmp_path / "data" / "eca", b"a file where a folder should be")
    return tmp_path


async def test_a_process_that_cannot_use_the_file_says_so_and_not_that_a_group_failed(unusable: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        async with run_host((unusable,), None):
            raise AssertionError("it must not come so far")


async def test_a_question_on_the_command_line_that_cannot_be_stored_is_refused_in_one_sentence(unusable: Path) -> None:
    with pytest.raises(RemoteError, match="cannot be used"):
        async with asyncio.timeout(PATIENCE):
            await ask(unusable, None, "Hi", "", "agent")
