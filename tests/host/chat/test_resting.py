"""A chat that is not used for long leaves memory, and nobody notices: it is read from the store when it is needed."""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from weakref import ref

import pytest

from jupyter_eca.host.store import Store
from jupyter_eca.protocol.content import FlagContent, TextContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import PATIENCE, Desk, answer, outcomes, said
from tests.support.locked_store import locking, shorten_waits
from tests.support.priced_host import priced
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient
    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "a.txt", "content": "new"}}
JOB: dict[str, Any] = {
    "tool": "shell_command",
    "arguments": {"command": "echo begun; read line < pipe; echo got $line", "background": True},
}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Result: {result}"}]},
    {"message": r"\[Background job", "reply": [{"text": "I read of the job."}]},
    {"message": "write", "reply": [WRITE]},
    {"message": "start", "reply": [JOB]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]


def is_awake(table: Desk, chat: str = "chat") -> bool:
    return any(live.state.id == chat for live in table.host.chats.list_live())


async def use_another(table: Desk, client: EcaClient) -> None:
    """Ask in another chat, when all tasks of the first one have ended. Then the first one was not used for longest."""
    for live in table.host.chats.list_live():
        await asyncio.gather(*live.tasks.values(), return_exceptions=True)
    await answer(client, "hello", chat="another")


async def put_to_rest(table: Desk, client: EcaClient) -> None:
    chat = ref(await table.host.chats.load("chat"))
    await use_another(table, client)
    assert not is_awake(table)
    gc.collect()
    assert chat() is None, "something still refers to the chat"


@asynccontextmanager
async def small_desk(folder: Path, rules: list[dict[str, Any]] = RULES, **more: Any) -> AsyncGenerator[Desk]:
    """A host that keeps one idle chat in memory."""
    async with priced(folder, rules, **more) as table:
        table.host.chats.max_idle = 1
        yield table


def allow_for_session(_call: ToolCallRunContent) -> CallDecision:
    return CallDecision(approved=True, session=True)


async def test_a_chat_at_rest_answers_with_its_whole_history(tmp_path: Path) -> None:
    async with small_desk(tmp_path, toolCall={"approval": {"byDefault": "allow"}}) as table:
        client = await table.client()
        for message in ("one", "write", "two"):
            await answer(client, message)
        before = await table.host.turns.draft("chat", "three")
        await put_to_rest(table, client)
        assert await table.host.turns.draft("chat", "three") == before
        await put_to_rest(table, client)
        assert said(await answer(client, "three")) == "Hello, three"
        texts = [message.text for message in (await table.host.turns.draft("chat", "four")).messages]
        assert texts == [*(message.text for message in before.messages), "Hello, three", "four"]


async def show(at: SessionClient) -> dict[str, Any]:
    """What clients show of the chat: its row, its contents, its costs, its settings, its changes and its size."""
    listed = (await at.result("chat/list"))["chats"]
    return {
        "row": next(row for row in listed if row["id"] == "chat"),
        "contents": await at.result("chat/history", {"chatId": "chat"}),
        "costs": {
            name: cost for name, cost in (await at.result("chat/costs", {"chatId": "chat"})).items() if name != "today"
        },
        "selection": await at.result("chat/selection", {"chatId": "chat"}),
        "changes": await at.result("chat/changes", {"chatId": "chat"}),
        "size": await at.result("chat/estimate", {"chatId": "chat", "message": "more"}),
    }


async def test_clients_show_the_same_of_a_chat_before_and_after_its_rest(tmp_path: Path) -> None:
    async with small_desk(tmp_path, toolCall={"approval": {"byDefault": "allow"}}) as table:
        client, at = await table.client(), connect(table)
        await at.initialize({"chat": True, "envelope": True})
        await answer(client, "one", agent="plan")
        await answer(client, "write", agent="code")
        await at.result("chat/update", {"chatId": "chat", "title": "Mine"})
        before = await show(at)
        assert before["row"]["title"] == "Mine"
        assert before["costs"]["message"]["requests"] == 2
        await put_to_rest(table, client)
        assert await show(at) == before
        await at.close()


async def test_an_approval_for_the_session_holds_after_a_rest(tmp_path: Path) -> None:
    async with small_desk(tmp_path) as table:
        client = await table.client()
        await answer(client, "write", allow_for_session)
        await put_to_rest(table, client)
        received = await answer(client, "write")  # nobody decides
        assert outcomes(received) == ["completed"]
        assert [item.content.manual_approval for item in received if isinstance(item.content, ToolCallRunContent)] == [
            False
        ]


async def test_a_change_that_was_made_before_the_rest_is_undone_after_it(tmp_path: Path) -> None:
    async with small_desk(tmp_path) as table:
        client = await table.client()
        received = await answer(client, "write", allow_for_session)
        message = next(item.content for item in received if isinstance(item.content, TextContent))
        assert (tmp_path / "a.txt").read_text() == "new"
        await put_to_rest(table, client)
        at = connect(table)
        await at.initialize()
        await at.result("chat/rollback", {"chatId": "chat", "contentId": message.content_id})
        assert not (tmp_path / "a.txt").exists()
        assert "Result:" not in str(await at.result("chat/history", {"chatId": "chat"}))
        await at.close()


async def test_a_chat_that_somebody_still_holds_stays_the_same_chat(tmp_path: Path) -> None:
    async with small_desk(tmp_path) as table:
        client, chats = await table.client(), table.host.chats
        await answer(client, "one")
        held = await chats.load("chat")
        await use_another(table, client)
        assert not is_awake(table)
        chats.add_fact(held, FlagContent(text="here", content_id="m"))
        await use_another(table, client)
        assert not is_awake(table)
        assert chats.get_live("chat") is held
        await use_another(table, client)
        assert await chats.load("chat") is held
        assert any(isinstance(event.content, FlagContent) for event in await chats.read_events("chat"))


async def test_no_turn_is_lost_when_many_chats_begin_at_once_and_one_of_them_may_stay(tmp_path: Path) -> None:
    count = 50
    async with small_desk(tmp_path) as table:
        client = await table.client()
        for message in ("one", "two", "three"):
            answers = await asyncio.gather(*(answer(client, message, chat=f"chat {n}") for n in range(count)))
            assert [said(received) for received in answers] == [f"Hello, {message}"] * count
        await use_another(table, client)
        assert len(table.host.chats.list_live()) == 1
        for number in range(0, count, 20):
            request = await table.host.turns.draft(f"chat {number}", "four")
            texts = [message.text for message in request.messages]
            assert texts == ["one", "Hello, one", "two", "Hello, two", "three", "Hello, three", "four"]


async def test_a_question_of_a_command_still_waits_for_its_answer(tmp_path: Path) -> None:
    async with small_desk(tmp_path) as table:
        client, at = await table.client(), connect(table)
        await at.initialize()
        await at.result("chat/prompt", {"chatId": "chat", "message": "/login"})
        await at.finished("chat")
        await use_another(table, client)
        assert is_awake(table)
        result = await at.result("chat/prompt", {"chatId": "chat", "message": "cancel"})
        assert result["status"] == "login"
        await at.finished("chat")
        await put_to_rest(table, client)
        await at.close()


async def test_the_end_of_a_job_begins_a_turn_with_the_limits_of_the_last_one(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    more: dict[str, Any] = {"chat": {"continueAfterJobs": True}, "toolCall": {"approval": {"byDefault": "allow"}}}
    async with small_desk(tmp_path, **more) as table:
        client, ended = await table.client(), asyncio.Event()
        await answer(client, "start")
        await use_another(table, client)
        assert is_awake(table)
        client.listen("chat", lambda received: ended.set() if said([received]) == "I read of the job." else None)
        async with asyncio.timeout(PATIENCE):
            await asyncio.to_thread((tmp_path / "pipe").write_text, "it\n")
            await ended.wait()
        await put_to_rest(table, client)


async def test_a_chat_that_cannot_be_stored_stays_in_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)
    async with small_desk(tmp_path) as table:
        client, chats = await table.client(), table.host.chats
        await answer(client, "one")
        await answer(client, "one", chat="another")
        live = await chats.load("chat")
        with locking(tmp_path / "chats.db"):
            chats.add_fact(live, FlagContent(text="here", content_id="m"))
            del live
            await table.host.store.settle()
            await chats.load("another")
            await chats.load("third")
            assert is_awake(table)
        await table.host.store.confirm()
        await put_to_rest(table, client)
        assert any(isinstance(event.content, FlagContent) for event in await chats.read_events("chat"))


async def test_a_model_that_is_chosen_for_a_chat_at_rest_answers_in_it(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "providers": {"other": {"api": "scripted", "models": {"test": {"script": str(tmp_path / "script.json")}}}}
    }
    async with small_desk(tmp_path, **more) as table:
        client, at = await table.client(), connect(table)
        await at.initialize()
        await answer(client, "one")
        await put_to_rest(table, client)
        await at.tell("chat/selectedModelChanged", {"chatId": "chat", "model": "other/test"})
        assert (await at.result("chat/prompt", {"chatId": "chat", "message": "two"}))["model"] == "other/test"
        await at.finished("chat")
        await put_to_rest(table, client)
        assert (await at.result("chat/selection", {"chatId": "chat"}))["model"] == "other/test"
        await at.close()


async def test_a_model_that_does_not_exist_is_replaced_by_the_one_that_answered_before_the_rest(tmp_path: Path) -> None:
    more: dict[str, Any] = {
        "providers": {"other": {"api": "scripted", "models": {"test": {"script": str(tmp_path / "script.json")}}}}
    }
    async with small_desk(tmp_path, **more) as table:
        client = await table.client()
        await answer(client, "one", model="other/test")
        await put_to_rest(table, client)
        assert "This chat keeps other/test." in said(await answer(client, "two", model="scripted/none"), "system")


async def test_a_chat_at_rest_is_deleted(tmp_path: Path) -> None:
    async with small_desk(tmp_path) as table:
        client, at = await table.client(), connect(table)
        await at.initialize()
        await answer(client, "one")
        await put_to_rest(table, client)
        await at.result("chat/delete", {"chatId": "chat"})
        assert [row["id"] for row in (await at.result("chat/list"))["chats"]] == ["another"]
        assert await at.result("chat/open", {"chatId": "chat"}) == {"found": False}
        await at.close()


async def test_a_host_keeps_as_many_idle_chats_as_its_limit_says(tmp_path: Path) -> None:
    async with priced(tmp_path, RULES) as table:
        client = await table.client()
        table.host.chats.max_idle = 3
        for number in range(10):
            await answer(client, "one", chat=f"chat {number}")
            await answer(client, "one", chat="chat 0")
        await use_another(table, client)
        awake = [live.state.id for live in table.host.chats.list_live()]
        assert awake == ["chat 9", "chat 0", "another"]


async def test_a_store_names_the_chats_of_which_it_has_not_stored_all(tmp_path: Path) -> None:
    async with priced(tmp_path, RULES) as table:
        client, store = await table.client(), table.host.store
        assert isinstance(store, Store)
        await answer(client, "one")
        await store.settle()
        assert store.list_unsaved_chats() == set()
        live = await table.host.chats.load("chat")
        table.host.chats.add_fact(live, FlagContent(text="here", content_id="m"))
        assert store.list_unsaved_chats() == {"chat"}
        await store.settle()
        assert store.list_unsaved_chats() == set()
