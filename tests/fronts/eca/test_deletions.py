"""Deletions of chats that can be undone, as two clients see them: one with the envelope and one without it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.fronts.eca.editor_client import book
from tests.fronts.eca.pair import RULES, both_show, refused, two
from tests.support.host_and_client import desk
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fronts.eca.editor_client import Book
    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio


async def list_ids(client: Book) -> list[str]:
    return [chat["id"] for chat in (await client.peer.request("chat/list", {}))["chats"]]


async def until_nothing_is_stored(table: Desk) -> None:
    async with asyncio.timeout(PATIENCE):
        while await table.host.store.do(lambda tables: tables.list_chat_ids()):
            pass


async def test_a_deleted_chat_comes_back_as_it_was(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await envelope.prompt("one")
        await envelope.ask("chat/update", title="Named")
        await envelope.ask("chat/rateAnswer", contentId=id, rating="good")
        (before,) = (await envelope.peer.request("chat/list", {}))["chats"]
        assert await envelope.ask("chat/delete", undoable=True) == {}
        for client in (plain, envelope):
            await client.until(lambda client=client: client.notices("chat/deleted"))
            assert await list_ids(client) == []
        assert (await plain.ask("chat/open"))["found"] is False
        assert (await plain.peer.request("chat/list", {"query": "said"}))["chats"] == []
        assert await envelope.ask("chat/restore") == {}
        await both_show(plain, envelope, "> one", "You said one")
        assert (await envelope.peer.request("chat/list", {}))["chats"] == [before]
        assert envelope.contents("rating")[-1]["rating"] == "good"
        await envelope.prompt("two")
        await both_show(plain, envelope, "> one", "You said one", "> two", "You said two")


async def test_a_chat_that_is_deleted_in_mid_answer_comes_back_with_what_was_said(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await envelope.ask("chat/prompt", message="wait")
        await envelope.until(lambda: envelope.page()[-1].startswith("one two"))
        await plain.ask("chat/delete", undoable=True)
        await envelope.until(lambda: envelope.notices("chat/deleted"))
        await envelope.ask("chat/restore")
        await envelope.until(lambda: envelope.page()[:1] == ["> wait"])
        assert envelope.page()[1].startswith("one two")
        assert (await envelope.peer.request("chat/list", {}))["chats"][0]["status"] == "idle"
        await envelope.prompt("next")


async def test_after_a_while_a_deleted_chat_is_gone_for_good(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, _plain, envelope):
        await envelope.prompt("one")
        table.host.deletions.undo_seconds = 0.0
        await envelope.ask("chat/delete", undoable=True)
        await until_nothing_is_stored(table)
        assert await table.host.store.do(lambda tables: tables.read_events("chat", 0)) == []
        assert "deleted for good" in str(await refused(envelope, "chat/restore"))


async def test_a_deletion_is_finished_when_the_server_ends_and_after_a_crash(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, book(table, envelope=True) as client:
        await client.prompt("one", "ended")
        await client.prompt("one", "crashed")
        await client.ask("chat/delete", "ended", undoable=True)
        # A server that is killed leaves only the mark.
        await table.host.store.do(lambda tables: tables.mark_deleted("crashed", 1))
    async with desk(tmp_path, RULES) as table, book(table, envelope=True) as client:
        assert await list_ids(client) == []
        await until_nothing_is_stored(table)


async def test_a_prompt_in_a_deleted_chat_begins_a_new_one_with_nothing_of_the_old(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await envelope.prompt("one")
        await envelope.ask("chat/delete", undoable=True)
        await plain.prompt("two")
        await both_show(plain, envelope, "> two", "You said two")
        assert "deleted for good" in str(await refused(envelope, "chat/restore"))
        await plain.ask("chat/open")
        assert plain.page() == ["> two", "You said two"]


async def test_a_chat_that_is_deleted_twice_can_still_be_deleted_at_once(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, envelope):
        await envelope.prompt("one")
        await envelope.ask("chat/delete", undoable=True)
        await plain.ask("chat/delete")
        assert await table.host.store.do(lambda tables: tables.list_chat_ids()) == []
