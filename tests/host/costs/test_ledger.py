"""What models were paid, by message, chat, notebook and day: by the user's rates, and whatever becomes of the chat."""

from __future__ import annotations

import importlib
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.host.chat.live_chat import Prompt
from jupyter_eca.host.costs.ledger import compute_midnight
from jupyter_eca.host.store.schema import MIGRATIONS, connect
from jupyter_eca.host.store.spending import CostFilter, sum_spending
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chat import AnswerLock
from jupyter_eca.protocol.chats import ChatDeleteParams
from jupyter_eca.protocol.content import UsageContent
from jupyter_eca.protocol.context import CursorContext, Position, Range
from jupyter_eca.protocol.costs import ChatCostsParams, ChatCostsResult
from tests.plugins.providers.ask import KEY, says
from tests.plugins.providers.dialects.speaking import Speaking
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import answer
from tests.support.priced_host import HELLO, priced

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from jupyter_eca.protocol.costs import Cost
    from jupyter_eca.transport.eca_client import EcaClient


TOOL: list[dict[str, Any]] = [
    {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
    {"result": "", "reply": [{"text": "I looked."}]},
    *HELLO,
]
ALLOWED: dict[str, Any] = {"approval": {"allow": {"directory_tree": {}}}}


@pytest.fixture(scope="module")
def sdk() -> None:
    """It takes seconds to import: not while a test waits for an answer."""
    importlib.import_module("anthropic")


def usage(received: list[ChatContentReceivedParams]) -> UsageContent:
    (found,) = (one.content for one in received if isinstance(one.content, UsageContent))
    return found


async def costs(client: EcaClient, chat: str = "chat") -> ChatCostsResult:
    return await client.request("chat/costs", ChatCostsParams(chat_id=chat), ChatCostsResult)


def sums(cost: Cost | None) -> tuple[int, float]:
    assert cost is not None
    return cost.requests, cost.cost


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_the_rates_and_limits_of_the_configuration_are_the_last_word(tmp_path: Path) -> None:
    model = {"cost": {"input": 3.0, "output": 15.0, "cacheRead": 0.3}, "limit": {"context": 8000, "output": 500}}
    with LoopbackAnthropic(says("Hi")) as vendor:
        own = {"api": "anthropic", "url": vendor.url, "key": KEY, "models": {"own": model}}
        async with priced(tmp_path, providers={"mine": own}) as table:
            told = usage(await answer(await table.client(), "hello", model="mine/own"))
    assert told.last_message_cost is not None
    assert float(told.last_message_cost) == pytest.approx(
        (told.message_input_tokens * 3 + told.message_output_tokens * 15) / 1e6, abs=0.00006
    )
    assert told.limit is not None
    assert (told.limit.context, told.limit.output) == (8000, 500)


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_what_came_from_the_vendors_cache_is_told_by_itself(tmp_path: Path) -> None:
    with Speaking("messages", says("word " * 400)) as vendor:
        async with priced(tmp_path, providers={"it": vendor.provider()}, defaultModel="it/m") as table:
            client = await table.client()
            first = usage(await answer(client, "hello"))
            second = usage(await answer(client, "hello"))
            told = (await costs(client)).chat
        assert first.message_cached_tokens is None
        assert second.message_cached_tokens is not None
        assert 0 < second.message_cached_tokens < second.message_input_tokens
        assert told.cached_tokens == second.message_cached_tokens
        assert told.input_tokens == first.message_input_tokens + second.message_input_tokens


@pytest.mark.asyncio
async def test_what_was_spent_is_told_by_message_chat_notebook_and_day(tmp_path: Path) -> None:
    book, other = str(tmp_path / "a.ipynb"), str(tmp_path / "b.ipynb")
    async with priced(tmp_path, TOOL, toolCall=ALLOWED) as table:
        client = await table.client()
        lock = AnswerLock(on=False, notebook="a.ipynb", folder=str(tmp_path))
        await answer(client, "hello", lock=lock)
        await answer(client, "look", lock=lock)
        await answer(client, "hello", chat="another", lock=lock.model_copy(update={"notebook": other}))
        told = await costs(client)
        assert told.path == book
        found = [sums(one)[0] for one in (told.message, told.chat, told.notebook, told.today)]
        assert found == [2, 3, 3, 4]
        amounts = [sums(one)[1] for one in (told.message, told.chat, told.today)]
        assert 0 < amounts[0] < amounts[1] < amounts[2]
        assert told.chat.cost == pytest.approx((told.chat.input_tokens + told.chat.output_tokens) / 1e6)


@pytest.mark.asyncio
async def test_a_cursor_in_a_notebook_tells_where_the_prompt_came_from(tmp_path: Path) -> None:
    at = Range(start=Position(line=0, character=0), end=Position(line=0, character=0))
    async with priced(tmp_path) as table:
        client = await table.client()
        await answer(client, "hello")
        assert (await costs(client)).path is None
        cursor = CursorContext(path="c.ipynb", position=at)
        await table.host.turns.prompt(Prompt("chat", "hello", contexts=(cursor,)))
        live = table.host.chats.get_live("chat")
        assert live is not None
        await live.tasks["gather"]
        assert (await costs(client)).path == str(tmp_path / "c.ipynb")


@pytest.mark.asyncio
async def test_what_a_deleted_chat_has_cost_is_part_of_the_day(tmp_path: Path) -> None:
    async with priced(tmp_path) as table:
        client = await table.client()
        await answer(client, "hello")
        before = await costs(client)
        await client.request("chat/delete", ChatDeleteParams(chat_id="chat"), Done)
        after = await costs(client, "another")
    assert before.today.cost > 0
    assert (after.chat.requests, after.today) == (0, before.today)
    # Nor does it end with the server.
    async with priced(tmp_path) as table:
        assert (await costs(await table.client())).today == before.today


@pytest.mark.asyncio
async def test_what_was_spent_yesterday_is_not_part_of_today(tmp_path: Path) -> None:
    async with priced(tmp_path) as table:
        client = await table.client()
        await answer(client, "hello")
        with closing(sqlite3.connect(tmp_path / "chats.db")) as db:
            ((at,),) = db.execute("SELECT at FROM spending").fetchall()
            db.execute("UPDATE spending SET at = ?", (compute_midnight(at) - 1,))
            db.commit()
        told = await costs(client)
        assert (told.chat.requests, told.today.requests) == (1, 0)


@pytest.mark.asyncio
@pytest.mark.usefixtures("sdk")
async def test_a_request_without_a_price_is_counted_as_such(tmp_path: Path) -> None:
    with LoopbackAnthropic(says("Hi")) as vendor:
        own: dict[str, Any] = {"api": "anthropic", "url": vendor.url, "key": KEY, "models": {"own": {}}}
        async with priced(tmp_path, providers={"mine": own}) as table:
            client = await table.client()
            await answer(client, "hello")
            known = (await costs(client)).chat
            await answer(client, "hello", model="mine/own")
            told = (await costs(client)).chat
    assert (told.requests, told.unpriced, told.cost) == (2, 1, known.cost)


@pytest.mark.asyncio
async def test_chats_of_an_older_version_are_in_the_sums_once(tmp_path: Path) -> None:
    path = tmp_path / "chats.db"
    before = next(number for number, script in enumerate(MIGRATIONS) if "TABLE spending" in script)
    content = UsageContent(session_tokens=12, message_input_tokens=10, message_output_tokens=2, last_message_cost="0.5")
    said = content.model_dump_json(by_alias=True, exclude_none=True)
    again = content.model_copy(update={"replayed": True}).model_dump_json(by_alias=True, exclude_none=True)
    unknown = content.model_copy(update={"last_message_cost": None}).model_dump_json(by_alias=True, exclude_none=True)
    with closing(sqlite3.connect(path)) as db:
        for script in MIGRATIONS[:before]:
            db.executescript(script)
        db.execute(f"PRAGMA user_version = {before}")
        rows = [("a", 1, said), ("a", 2, unknown), ("fork of a", 1, said), ("b", 1, again)]
        db.executemany(
            "INSERT INTO events (chat, turn, role, at, content, aside) VALUES (?, 't', 'system', ?, ?, '')", rows
        )
        db.commit()
    with closing(connect(path)) as db:
        found = sum_spending(db, CostFilter())
        assert (found.requests, found.cost, found.unpriced) == (2, 0.5, 1)
        assert sum_spending(db, CostFilter(chat="a", turn="t")) == found


def test_a_rate_cannot_be_negative() -> None:
    with pytest.raises(ValueError, match="greater than or equal to 0"):
        Config.model_validate({"providers": {"x": {"models": {"y": {"cost": {"input": -1, "output": 1}}}}}})
