"""Chats are found by what was written in them, and the list says where a chat belongs and how it stands."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from tests.fronts.eca.editor_client import Book, book
from tests.fronts.eca.pair import two
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {
        "message": "rows",
        "reply": [{"text": "An inner merge keeps common keys. So unmatched ROWS are lost.", "chunk": 2}],
    },
    {"message": "", "reply": [{"text": "Nothing to see."}]},
]


async def search(client: Book, query: str) -> dict[str, str | None]:
    """Return the excerpts of the chats that are found, by chat."""
    rows = (await client.peer.request("chat/list", {"query": query}))["chats"]
    return {row["id"]: row.get("excerpt") for row in rows}


async def list_rows(client: Book) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in (await client.peer.request("chat/list", {}))["chats"]}


async def ask_both(client: Book) -> None:
    await client.prompt("Why are rows missing?", "merge")
    await client.prompt("Draw a plot", "plot")


async def check_searches(client: Book) -> None:
    answer = "So unmatched ROWS are lost."
    assert await search(client, "unmatched rows") == {"merge": answer}
    assert await search(client, "MATCH") == {"merge": answer}
    assert await search(client, "ed") == {"merge": answer}
    assert await search(client, "un%ed") == {}
    assert await search(client, "missing") == {"merge": "Why are rows missing?"}
    assert await search(client, "plot nothing") == {}
    assert (await search(client, " ")).keys() == {"merge", "plot"}


async def test_a_chat_is_found_by_a_sentence_of_an_answer_that_came_in_pieces(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, book(table) as client:
        await ask_both(client)
        await check_searches(client)
        assert "message_index" in list_tables(table)


async def test_without_full_text_search_a_plain_search_finds_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.host.store.message_index.TOKENIZER", "missing")
    async with desk(tmp_path, RULES) as table, book(table) as client:
        await ask_both(client)
        await check_searches(client)
        assert "message_index" not in list_tables(table)
        await client.ask("chat/delete", "merge")
        assert await search(client, "unmatched") == {}


async def test_a_chat_is_found_by_its_title_alone(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, book(table) as client:
        await ask_both(client)
        await client.ask("chat/update", "plot", title="Gänseblümchen")
        assert await search(client, "GÄNSE") == {"plot": None}


async def test_what_was_deleted_or_taken_back_is_not_found(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, book(table) as client:
        await client.prompt("Draw a plot", "merge")
        id = await client.prompt("Why are rows missing?", "merge")
        assert await search(client, "unmatched") != {}
        await client.ask("chat/rollback", "merge", contentId=id)
        assert await search(client, "unmatched") == {}
        assert await search(client, "nothing") == {"merge": "Nothing to see."}
        await client.ask("chat/delete", "merge")
        assert await search(client, "nothing") == {}
        with closing(sqlite3.connect(path_of(table))) as db:
            assert db.execute("SELECT count(*) FROM message_index_docsize").fetchone() == (0,)
            db.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")


async def test_what_a_process_without_full_text_search_deleted_stops_no_search(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, book(table) as client:
        await ask_both(client)
        await check_searches(client)
        with closing(sqlite3.connect(path_of(table))) as db:
            # What such a process does when a chat is rolled back: it cannot change the index.
            db.execute("DELETE FROM messages WHERE chat = 'merge'")
            db.execute("DELETE FROM indexed_chats WHERE chat = 'merge'")
            db.commit()
        await check_searches(client)
        await client.ask("chat/delete", "merge")
        assert await search(client, "unmatched") == {}
        with closing(sqlite3.connect(path_of(table))) as db:
            db.execute("INSERT INTO message_index (message_index) VALUES ('integrity-check')")


async def test_an_answer_under_way_is_found_and_is_found_whole_when_it_has_ended(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.ask("chat/prompt", message="wait")
        await plain.until(lambda: "one two" in "".join(plain.page()))
        assert (await search(envelope, "one two")).keys() == {"chat"}
        assert (await list_rows(envelope))["chat"]["status"] == "running"
        await plain.until(lambda: any(c["content"].get("state") == "finished" for c in plain.chats["chat"]))
        found = await search(envelope, "two")
        assert found["chat"] is not None
        assert found["chat"].endswith("…")


async def test_the_list_says_which_chat_waits_for_the_user_and_how_the_others_ended(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        await plain.ask("chat/prompt", message="write a.txt x")
        await plain.until(lambda: plain.contents("toolCallRun"))
        assert (await list_rows(plain))["chat"]["waiting"] is True
        await plain.tell("chat/toolCallApprove", toolCallId=plain.contents("toolCallRun")[-1]["id"])
        await plain.until(lambda: any(c["content"].get("state") == "finished" for c in plain.chats["chat"]))
        row = (await list_rows(plain))["chat"]
        assert "waiting" not in row
        assert row["outcome"] == "completed"


async def test_a_chat_belongs_to_the_notebook_in_which_it_began(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, _envelope):
        for notebook in ("", "a.ipynb", "b.ipynb"):
            await plain.prompt("hello", notebook=notebook)
        assert (await list_rows(plain))["chat"]["notebook"] == "a.ipynb"


def path_of(table: Desk) -> Path:
    return table.folder / "chats.db"


def list_tables(table: Desk) -> set[str]:
    with closing(sqlite3.connect(path_of(table))) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
