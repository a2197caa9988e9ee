"""A chat that cannot be stored: each of its clients is told so in its own protocol, and again when all of it is stored,
also a client that opens the chat meanwhile."""

from __future__ import annotations

from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.rest.front import RestApproval, RestFront
from jupyter_eca.protocol import rest
from jupyter_eca.protocol.jsonrpc import Notification
from tests.fronts.ahp.place import APPROVE, place
from tests.fronts.mcp import room as mcp
from tests.support.host_and_client import PATIENCE, answer, desk
from tests.support.locked_store import locking, shorten_waits
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    import mcp_types as types
    from mcp.client.context import ClientRequestContext

    from tests.fronts.ahp.place import Client
    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

UNSAVED, SAVED = "not saved", "saved again"
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Then two."}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "a"}}]},
    {"message": "slow", "reply": [{"text": "word " * 200, "chunk": 5, "delay": 0.01}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]
URI = "eca:/c"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_waits(monkeypatch)


async def message(client: SessionClient, words: str) -> None:
    await client.until(
        lambda one: isinstance(one, Notification) and one.method == "$/showMessage" and words in one.params["message"]
    )


async def activity(client: Client, words: str) -> None:
    await client.until(lambda: words in client.states[URI]["summary"].get("activity", ""))


async def test_a_client_that_opens_a_chat_which_is_not_saved_is_told(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as first:
        await first.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await first.content("toolCallRun")
        with locking(tmp_path / "chats.db"):
            await first.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
            await message(first, UNSAVED)
            async with connect_and_initialize(table) as late:
                await late.result("chat/open", {"chatId": "c"})
                assert [UNSAVED in one["message"] for one in late.params("$/showMessage")] == [True]
        await table.host.store.confirm()
        async with connect_and_initialize(table) as later:
            await later.result("chat/open", {"chatId": "c"})
            assert later.params("$/showMessage") == []


async def test_an_ahp_client_is_told_during_the_turn_and_after_it(tmp_path: Path) -> None:
    async with place(tmp_path, RULES) as at:
        client, late = await at.connect(), await at.connect("late")
        await client.create(URI)
        await client.ask(URI, "t1", "write")
        call = await client.call(URI, "pending-confirmation")
        with locking(tmp_path / ".data" / "chats.db"):
            await client.decide(URI, "t1", call, **APPROVE)
            await client.settled(URI, 1)
            await activity(client, UNSAVED)
            await late.subscribe(URI)
            await activity(late, UNSAVED)
        await at.host.store.confirm()
        await activity(client, SAVED)
        await activity(late, SAVED)
        await client.ask(URI, "t2", "hi")
        await client.settled(URI, 2)
        await client.until(lambda: not client.states[URI]["summary"].get("activity"))


async def test_an_answer_over_rest_says_that_it_is_not_saved_and_when_it_is(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        with closing(RestFront(table.host, RestApproval.RULES)) as front:
            turn = await front.ask("slow", "c", held_characters=0)
            texts: list[str] = []
            with front.reading(turn):
                async with aclosing(front.stream_items(turn, PATIENCE)) as items:
                    with locking(tmp_path / "chats.db"):
                        async for _ in items:
                            if turn.reader.messages:
                                break
                    await table.host.store.confirm()
                    texts += [
                        item.content.content async for item in items if item and isinstance(item.content, rest.Text)
                    ]
    assert (UNSAVED in texts[-2], SAVED in texts[-1]) == (True, True)


async def test_an_answer_over_rest_that_ends_while_nothing_can_be_stored_says_so(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        with closing(RestFront(table.host, RestApproval.RULES)) as front:
            turn = await front.ask("slow", "c", held_characters=0)
            with front.reading(turn), locking(tmp_path / "chats.db"):
                async with aclosing(front.stream_items(turn, PATIENCE)) as items:
                    texts = [
                        item.content.content async for item in items if item and isinstance(item.content, rest.Text)
                    ]
    assert [UNSAVED in text for text in texts].count(True) == 1
    assert UNSAVED in texts[-1]


async def test_a_program_over_mcp_is_told_in_the_progress_and_in_the_answer(tmp_path: Path) -> None:
    steps: list[str] = []
    holding = locking(tmp_path / "chats.db")

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        steps.append(message or "")

    class Approver(mcp.User):
        async def __call__(
            self, context: ClientRequestContext, params: types.ElicitRequestParams
        ) -> types.ElicitResult:
            holding.__enter__()
            return await super().__call__(context, params)

    async with mcp.room(tmp_path, RULES) as here, here.client(user=Approver({"decision": "approve"})) as client:
        result = await client.call_tool("eca_run", {"prompt": "write"}, progress_callback=hear)
        holding.__exit__(None, None, None)
    assert [UNSAVED in step for step in steps].count(True) == 1
    assert [UNSAVED in text for text in result.structured_content["messages"]] == [True]


async def test_a_selection_that_cannot_be_stored_is_told(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as at:
        await answer(await table.client(), "hi", chat="c")
        with locking(tmp_path / "chats.db"):
            await at.tell("chat/selectedAgentChanged", {"chatId": "c", "agent": "plan"})
            await message(at, UNSAVED)
        await message(at, SAVED)
