"""What stays of subagents: in the parent's transcript, after a restart, and when the parent is taken back."""

from __future__ import annotations

from contextlib import closing
from sqlite3 import connect
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.chat.subagents import SubagentTask
from tests.fronts.eca.editor_client import Book, book
from tests.host.turn.subagents.family import house, spawn

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.host_and_client import Desk

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"message": "share it", "reply": [{"text": "I ask."}, spawn("general", "write it")]},
    {"message": "write it", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "one"}}]},
    {"result": "", "tool": "write_file", "reply": [{"text": "Written."}]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
    {"message": "", "reply": [{"text": "Hello."}]},
]


def _order(client: Book) -> list[tuple[str, str]]:
    """Where and what the assistant said or had called, in the order in which it was told last."""
    kinds = {"text", "toolCallRun", "toolCalled"}
    told = [told for method, told in client.told if method == "chat/contentReceived"]
    return [
        ("child" if "parentChatId" in one else "parent", one["content"].get("name") or one["content"]["text"])
        for one in told
        if one["content"]["type"] in kinds and one["role"] == "assistant"
    ]


WHOLE = [
    ("parent", "I ask."),
    ("parent", "spawn_agent"),
    ("child", "write_file"),
    ("child", "write_file"),
    ("child", "Written."),
    ("parent", "spawn_agent"),
    ("parent", "Back."),
]


def _child(client: Book) -> str:
    return next(id for id in client.chats if str(id).startswith("subagent-"))


async def _left(table: Desk, child: str) -> list[Any]:
    await table.host.store.settle()
    return await table.host.store.read_events(child)


@pytest.mark.parametrize("can", [{}, {"envelope": True}])
async def test_after_a_restart_the_transcript_still_shows_them_where_they_were(
    tmp_path: Path, can: dict[str, Any]
) -> None:
    async with house(tmp_path, RULES, "write_file") as table, book(table, **can) as client:
        await client.prompt("share it")
        assert _order(client) == WHOLE
        child = _child(client)
    async with house(tmp_path, RULES, "write_file") as table, book(table, **can) as client:
        await client.ask("chat/open")
        assert _order(client) == WHOLE
        assert {one.get("parentChatId") for one in client.chats[child]} == {"chat"}


async def test_a_client_that_comes_back_is_shown_what_it_missed_of_them(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "write_file") as table, book(table, envelope=True) as client:
        await client.prompt("share it")
        running = next(one for one in client.chats["chat"] if one["content"]["type"] == "toolCallRun")
    async with house(tmp_path, RULES, "write_file") as table, book(table, envelope=True) as client:
        await client.ask("chat/open", after=running["seq"])
        assert _order(client) == WHOLE[2:]


async def test_their_chats_are_not_listed(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "write_file") as table, book(table) as client:
        await client.prompt("share it")
        listed = await client.peer.request("chat/list", {})
        assert [row["id"] for row in listed["chats"]] == ["chat"]
        told = {params.get("chatId") for method, params in client.told if method != "chat/contentReceived"}
        assert _child(client) not in told


async def test_a_deleted_parent_takes_them_along(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "write_file") as table, book(table) as client:
        await client.prompt("share it")
        child = _child(client)
        assert await _left(table, child)
        await client.ask("chat/delete")
        assert await _left(table, child) == []


async def test_a_rollback_takes_back_their_words_and_their_files(tmp_path: Path) -> None:
    async with house(tmp_path, RULES, "write_file") as table, book(table) as client:
        await client.prompt("hello")
        asked = await client.prompt("share it")
        child = _child(client)
        assert (tmp_path / "a.txt").read_text() == "one"
        await client.ask("chat/rollback", contentId=asked)
        assert not (tmp_path / "a.txt").exists()
        assert await _left(table, child) == []
        assert await table.host.store.read_chat(child) is None


async def test_one_that_the_server_did_not_live_to_see_the_end_of_is_closed(tmp_path: Path) -> None:
    async with house(tmp_path, RULES) as table, book(table, envelope=True) as client:
        client.approves = False
        await client.ask("chat/prompt", message="share it")
        await client.until(lambda: any("subagent-" in str(id) and client.waiting(id) for id in client.chats))
        child = _child(client)
        await table.host.store.settle()
        # As a server leaves it that dies now, with the number of a process that there is not.
        with closing(connect(tmp_path / "chats.db")) as source, closing(connect(tmp_path / "dead.db")) as copy:
            source.backup(copy)
            copy.execute("UPDATE chats SET owner = '999999999:1'")
            copy.commit()
    (tmp_path / "dead.db").replace(tmp_path / "chats.db")
    async with house(tmp_path, RULES) as table, book(table, envelope=True) as client:
        await client.ask("chat/open")
        assert client.chats[child][-1]["outcome"] == "failed"
        assert client.chats["chat"][-1]["outcome"] == "failed"


async def test_the_same_call_id_in_two_chats_makes_two_subagents(tmp_path: Path) -> None:
    async with house(tmp_path, RULES) as table:
        await table.host.chats.load("a")
        await table.host.chats.load("b")
        first = await table.host.subagents.describe_call("a", "call_1", SubagentTask("general", "write it"))
        second = await table.host.subagents.describe_call("b", "call_1", SubagentTask("general", "write it"))
        again = await table.host.subagents.describe_call("a", "call_1", SubagentTask("general", "write it"))
    assert first is not None
    assert second is not None
    assert (first.subagent_chat_id, second.subagent_chat_id) == ("subagent-call_1", "subagent-call_1-2")
    assert again == first
