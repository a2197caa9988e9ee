"""Whose the rows of the database are: of a chat, of a workspace, of the user."""

from __future__ import annotations

import json
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.errors import BusyError
from jupyter_eca.host.kept_data.archive import write_archive
from jupyter_eca.host.kept_data.kept_files import KeptFiles
from jupyter_eca.host.store.kept_rows import (
    OWNERSHIP,
    ChatScope,
    UserScope,
    WorkspaceScope,
    open_rows_exclusively,
    read_rows,
)
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.spending import Spending
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event

if TYPE_CHECKING:
    from pathlib import Path


def say(chat: str, text: str) -> Event:
    return Event(chat=chat, turn="t", role=Role.USER, content=TextContent(text=text), at=1)


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A chat with a subagent in /here, a chat in /there, and what a deleted chat of a notebook in /here has cost."""
    path = tmp_path / "chats.db"
    with closing(connect(path)) as db:
        here, there = Tables(db, "/here", "1:1"), Tables(db, "/there", "1:1")
        here.write([say("mine", "ask")], {}, [Spending(1, "mine", "t", "", "m", 1, 0, 1, 0.5)])
        here.add_subagent_chat("child", "mine", 2)
        here.write([say("child", "look")], {})
        there.write([say("other", "ask")], {}, [Spending(1, "other", "t", "/there/b.ipynb", "m", 1, 0, 1, 0.5)])
        there.write([], {}, [Spending(1, "deleted", "t", "/here/a.ipynb", "m", 1, 0, 1, 0.5)])
    return path


def test_every_table_says_whose_its_rows_are(database: Path) -> None:
    with closing(connect(database)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        assert {name for name in tables if not name.startswith(("sqlite_", "message_index"))} == OWNERSHIP.keys()
        for table, ownership in OWNERSHIP.items():
            columns = {name for _, name, *_ in db.execute(f"PRAGMA table_info({table})")}
            assert {ownership.chat, ownership.workspace, ownership.path} <= columns | {""}
            # A table with the id of a chat that nobody names would be left behind.
            assert bool(ownership.chat) == bool(columns & {"chat", "parent"}), table


def test_a_chat_has_the_chats_of_its_subagents(database: Path) -> None:
    with read_rows(database, ChatScope("mine")) as rows:
        assert [row.id for row in rows.list_chats()] == ["mine", "child"]
        assert [row["content"]["text"] for row in rows.read("events")] == ["ask", "look"]


def test_what_a_deleted_chat_has_cost_belongs_to_the_folder_of_its_notebook(database: Path) -> None:
    with read_rows(database, WorkspaceScope(("/here",))) as rows:
        assert [row["chat"] for row in rows.read("spending")] == ["mine", "deleted"]
        assert [row["chat"] for row in rows.read("spending", "")] == ["deleted"]
    with read_rows(database, WorkspaceScope(("/the",))) as rows:
        assert rows.count() == {}


def test_what_is_deleted_takes_nothing_of_others_with_it(database: Path) -> None:
    with open_rows_exclusively(database, WorkspaceScope(("/here",))) as rows:
        rows.delete()
        rows.compact()
        assert rows.count() == {}
    with read_rows(database, UserScope()) as rows:
        assert [row.id for row in rows.list_chats()] == ["other"]
        assert [row["chat"] for row in rows.read("spending")] == ["other"]


def test_nobody_has_the_database_alone_while_another_has_it_open(database: Path) -> None:
    with closing(connect(database)), pytest.raises(BusyError), open_rows_exclusively(database, UserScope()):
        pass
    with open_rows_exclusively(database, UserScope()) as rows:
        assert len(rows.list_chats()) == 3


def test_an_event_that_cannot_be_read_is_exported_as_it_is_stored(database: Path) -> None:
    with closing(connect(database)) as db:
        db.execute("UPDATE events SET content = ? WHERE chat = 'mine'", ('{"type": "of tomorrow", "text": "ask"}',))
    with read_rows(database, UserScope()) as rows:
        write_archive(database.with_name("all.zip"), "all", rows, KeptFiles(database, UserScope()))
    with zipfile.ZipFile(database.with_name("all.zip")) as archive:
        chats = [name for name in archive.namelist() if name.endswith("chat.md")]
        assert len(chats) == 2
        events = [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith("events.json")]
        assert events[0][0]["content"] == {"type": "of tomorrow", "text": "ask"}
