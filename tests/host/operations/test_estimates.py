"""What a prompt would send and cost: about while one types, and word for word; nothing of it is sent or stored."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.chat import ChatPromptParams, ChatPromptResult
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.protocol.costs import ChatEstimateParams, ChatEstimateResult
from tests.plugins.providers.ask import KEY, says
from tests.support.anthropic_server import LoopbackAnthropic
from tests.support.host_and_client import answer
from tests.support.priced_host import RATES, priced

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio


@pytest.fixture(scope="module")
def sdk() -> None:
    """It takes seconds to import: not while a test waits for an answer."""
    importlib.import_module("anthropic")


async def estimate(client: EcaClient, message: str = "Why?", **more: Any) -> ChatEstimateResult:
    params = ChatEstimateParams(chat_id="chat", message=message, **more)
    return await client.request("chat/estimate", params, ChatEstimateResult)


def asked(vendor: LoopbackAnthropic) -> list[Any]:
    """Without what only makes a connection while somebody types."""
    return [one for one in vendor.requests if one.path == "/v1/messages"]


@pytest.mark.usefixtures("sdk")
async def test_the_request_that_is_shown_is_the_one_that_is_sent(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text("x = 'a file'")
    contexts = (FileContext(path=str(tmp_path / "load.py")),)
    with LoopbackAnthropic(says("Hi")) as vendor:
        own = {"api": "anthropic", "url": vendor.url, "key": KEY, "models": {"own": {"cost": RATES}}}
        async with priced(tmp_path, providers={"mine": own}, defaultModel="mine/own") as table:
            client = await table.client()
            await answer(client, "hello")
            stored = await table.host.chats.read_events("chat")
            message = "Why does @load.py fail?"
            shown = await estimate(client, message, contexts=contexts, request=True)
            assert len(asked(vendor)) == 1
            assert await table.host.chats.read_events("chat") == stored
            params = ChatPromptParams(chat_id="chat", message=message, contexts=contexts)
            await client.request("chat/prompt", params, ChatPromptResult)
            live = table.host.chats.get_live("chat")
            assert live is not None
            await live.tasks["gather"]
            await live.tasks[f"model {live.state.request}"]
            assert shown.request is not None
            assert json.loads(shown.request) == {**asked(vendor)[1].body, "stream": True}
            assert KEY not in shown.request
            assert "x = 'a file'" in shown.request


async def test_an_estimate_is_of_all_that_would_be_sent_and_grows_with_the_words(tmp_path: Path) -> None:
    model = {"cost": RATES, "limit": {"context": 8_000}}
    async with priced(tmp_path, model=model) as table:
        client = await table.client()
        short = await estimate(client)
        long = await estimate(client, "Why? " * 100)
        assert (short.model, short.request, short.context_limit) == ("scripted/test", None, 8_000)
        assert long.input_tokens - short.input_tokens == pytest.approx(124, abs=2)
        assert short.cost == pytest.approx(short.input_tokens / 1e6)
        await answer(client, "hello " * 50)
        assert (await estimate(client)).input_tokens != short.input_tokens


async def test_what_was_pointed_at_is_read_once_while_one_types(tmp_path: Path) -> None:
    file = tmp_path / "load.py"
    file.write_text("x" * 4_000)
    contexts = (FileContext(path=str(file)),)
    async with priced(tmp_path) as table:
        client = await table.client()
        alone = await estimate(client)
        with_file = await estimate(client, contexts=contexts)
        assert with_file.input_tokens - alone.input_tokens == pytest.approx(1_000, abs=30)
        file.unlink()
        assert await estimate(client, contexts=contexts) == with_file
        assert "(not readable: " in str((await estimate(client, contexts=contexts, request=True)).request)


async def test_a_command_of_ours_costs_no_message(tmp_path: Path) -> None:
    async with priced(tmp_path) as table:
        client = await table.client()
        assert (await estimate(client, "/costs")).input_tokens < (await estimate(client, "/costs?")).input_tokens


async def test_a_price_that_is_not_known_is_not_made_up(tmp_path: Path) -> None:
    own: dict[str, Any] = {"api": "anthropic", "url": "http://127.0.0.1:9", "key": KEY, "models": {"own": {}}}
    async with priced(tmp_path, providers={"mine": own}) as table:
        client = await table.client()
        assert (await estimate(client, model="mine/own")).cost is None
        assert (await estimate(client)).cost is not None


async def test_a_model_that_nobody_has_is_named(tmp_path: Path) -> None:
    async with priced(tmp_path) as table:
        client = await table.client()
        with pytest.raises(RemoteError, match="no provider 'nobody'"):
            await estimate(client, model="nobody/none", request=True)


async def test_an_estimate_of_a_chat_that_is_not_there_yet_leaves_none_behind(tmp_path: Path) -> None:
    async with priced(tmp_path) as table:
        client = await table.client()
        params = ChatEstimateParams(message="Why?")
        assert (await client.request("chat/estimate", params, ChatEstimateResult)).input_tokens > 0
        assert await table.host.chats.list_rows() == []
