"""Whose the rows of the database are: of a chat, of a workspace, of the user."""

from __future__ import annotations

import json
import zipfile
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
from jupyter_eca.host.store.spending import Spending
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.content import Role, TextContent
from jupyter_eca.protocol.event import Event
from tests.support.store_places import on_both_always

if TYPE_CHECKING:
    from tests.support.store_places import StorePlace


def say(chat: str, text: str) -> Event:
    return Event(chat=chat, turn="t", role=Role.USER, content=TextContent(text=text), at=1)


@pytest.fixture
def stored(place: StorePlace) -> StorePlace:
    """A chat with a subagent in /here, a chat in /there, and what a deleted chat of a notebook in /here has cost."""
    place.path.parent.mkdir(exist_ok=True)
    with place.open_connection() as db:
        here, there = Tables(db, "/here", "1:1"), Tables(db, "/there", "1:1")
        here.write([say("mine", "ask")], {}, [Spending(1, "mine", "t", "", "m", 1, 0, 1, 0.5)])
        here.add_subagent_chat("child", "mine", 2)
        here.write([say("child", "look")], {})
        there.write([say("other", "ask")], {}, [Spending(1, "other", "t", "/there/b.ipynb", "m", 1, 0, 1, 0.5)])
        there.write([], {}, [Spending(1, "deleted", "t", "/here/a.ipynb", "m", 1, 0, 1, 0.5)])
    return place


@on_both_always
def test_every_table_says_whose_its_rows_are(stored: StorePlace) -> None:
    with stored.open_connection() as db:
        assert stored.list_tables() == OWNERSHIP.keys()
        for table, ownership in OWNERSHIP.items():
            columns = {name for name, *_ in db.execute(f"SELECT * FROM {table}").description or ()}  # noqa: S608  # ours
            assert {ownership.chat, ownership.workspace, ownership.path} <= columns | {""}
            # A table with the id of a chat that nobody names would be left behind.
            assert bool(ownership.chat) == bool(columns & {"chat", "parent"}), table


@on_both_always
def test_a_chat_has_the_chats_of_its_subagents(stored: StorePlace) -> None:
    with read_rows(stored.path, ChatScope("mine"), stored.settings) as rows:
        assert [row.id for row in rows.list_chats()] == ["mine", "child"]
        assert [row["content"]["text"] for row in rows.read("events")] == ["ask", "look"]


@on_both_always
def test_what_a_deleted_chat_has_cost_belongs_to_the_folder_of_its_notebook(stored: StorePlace) -> None:
    with read_rows(stored.path, WorkspaceScope(("/here",)), stored.settings) as rows:
        assert [row["chat"] for row in rows.read("spending")] == ["mine", "deleted"]
        assert [row["chat"] for row in rows.read("spending", "")] == ["deleted"]
    with read_rows(stored.path, WorkspaceScope(("/the",)), stored.settings) as rows:
        assert rows.count() == {}


@on_both_always
def test_what_is_deleted_takes_nothing_of_others_with_it(stored: StorePlace) -> None:
    with open_rows_exclusively(stored.path, WorkspaceScope(("/here",)), stored.settings) as rows:
        rows.delete()
        rows.compact()
        assert rows.count() == {}
    with read_rows(stored.path, UserScope(), stored.settings) as rows:
        assert [row.id for row in rows.list_chats()] == ["other"]
        assert [row["chat"] for row in rows.read("spending")] == ["other"]


@on_both_always
def test_nobody_has_the_database_alone_while_another_has_it_open(stored: StorePlace) -> None:
    with stored.open_connection():
        with pytest.raises(BusyError), open_rows_exclusively(stored.path, UserScope(), stored.settings):
            pass
        with read_rows(stored.path, UserScope(), stored.settings) as rows:
            assert len(rows.list_chats()) == 3
    with open_rows_exclusively(stored.path, UserScope(), stored.settings) as rows:
        assert len(rows.list_chats()) == 3


@on_both_always
def test_an_event_that_cannot_be_read_is_exported_as_it_is_stored(stored: StorePlace) -> None:
    with stored.open_connection() as db:
        db.execute("UPDATE events SET content = ? WHERE chat = 'mine'", ('{"type": "of tomorrow", "text": "ask"}',))
    with read_rows(stored.path, UserScope(), stored.settings) as rows:
        write_archive(
            stored.path.with_name("all.zip"), "all", rows, KeptFiles(stored.path, UserScope(), stored.settings)
        )
    with zipfile.ZipFile(stored.path.with_name("all.zip")) as archive:
        chats = [name for name in archive.namelist() if name.endswith("chat.md")]
        assert len(chats) == 2
        events = [json.loads(archive.read(name)) for name in archive.namelist() if name.endswith("events.json")]
        assert events[0][0]["content"] == {"type": "of tomorrow", "text": "ask"}
