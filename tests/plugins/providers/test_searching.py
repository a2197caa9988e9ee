"""The vendors' own search of the web: when it is offered, and what goes back of it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import ModelConfig, ProviderConfig
from jupyter_eca.config.provider_schema import RatesConfig
from jupyter_eca.engine.model.delta import Delta, ReasoningEnd, UsageDelta
from jupyter_eca.engine.model.request import ReasoningPart
from jupyter_eca.plugins.providers import anthropic, ollama, openai
from jupyter_eca.plugins.providers.base import ShowsRequest
from jupyter_eca.plugins.providers.prices import apply_own_rates, look_up_cost
from jupyter_eca.protocol.chat import ChatPromptParams, ChatPromptResult, ChatPromptStopParams
from tests.plugins.providers.ask import KEY, asking, assistant, at, says
from tests.plugins.providers.ask import answer as ask
from tests.plugins.providers.dialects import strict
from tests.plugins.providers.dialects.speaking import Speaking
from tests.support.anthropic_server import Fault
from tests.support.host_and_client import PATIENCE, answer, desk, outcomes, said
from tests.support.openai_server import LoopbackOpenAI, recording

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.plugins.providers.base import Provider

pytestmark = pytest.mark.asyncio

SEARCHES = {
    "anthropic": (anthropic.PROVIDER, {"type": "web_search_20250305", "name": "web_search", "max_uses": 5}),
    "openai/responses": (openai.PROVIDER, {"type": "web_search"}),
}
each = pytest.mark.parametrize("dialect", SEARCHES)


def tools(provider: Provider, **settings: Any) -> list[Any]:
    assert isinstance(provider, ShowsRequest)
    asked = asking("hi", model=f"{provider.name}/m")
    return provider.request_body("m", asked, ProviderConfig.model_validate({"url": "https://x", **settings}))["tools"]


@each
async def test_a_search_is_offered_where_the_configuration_wants_it(dialect: str) -> None:
    provider, offered = SEARCHES[dialect]
    assert offered in tools(provider, webSearch=True)
    assert offered in tools(provider, models={"m": {"webSearch": True}})
    assert offered not in tools(provider)
    assert offered not in tools(provider, webSearch=True, models={"m": {"webSearch": False}})


async def test_a_server_that_only_speaks_the_api_is_offered_none() -> None:
    assert "web_search" not in str(tools(ollama.PROVIDER, webSearch=True))


@pytest.mark.parametrize(("dialect", "model"), [("anthropic", "claude-sonnet-4-5"), ("openai/responses", "gpt-5")])
async def test_a_search_costs_what_the_vendor_takes_for_it_or_what_the_user_has_written_down(
    dialect: str, model: str
) -> None:
    provider, _ = SEARCHES[dialect]
    stream, _ = recording(dialect, "the_web_is_searched")
    request = asking("hi", model=f"{provider.name}/{model}")
    with LoopbackOpenAI([stream]) as server:
        *_, usage = await ask(request, at(server, webSearch=True), provider)
    assert isinstance(usage, UsageDelta)
    tokens = look_up_cost(provider.name, model, replace(usage, web_searches=0))
    assert tokens is not None
    assert look_up_cost(provider.name, model, usage) == pytest.approx(tokens + 10 / 1_000)
    rates = RatesConfig(input=0, output=0, web_search=25)
    assert apply_own_rates(usage, ModelConfig(cost=rates)).cost == pytest.approx(25 / 1_000)


@each
async def test_what_was_found_goes_back_to_the_model_that_searched(dialect: str) -> None:
    provider, _ = SEARCHES[dialect]
    stream, _ = recording(dialect, "the_web_is_searched")
    with LoopbackOpenAI([stream]) as server:
        deltas: list[Delta] = await ask(asking("hi", model=f"{provider.name}/m"), at(server, webSearch=True), provider)
        (end,) = [delta for delta in deltas if isinstance(delta, ReasoningEnd)]
        story = ["hi", assistant(ReasoningPart("r", "Searched", end.signature), "18 degrees."), "more"]
        for model, search in (("m", True), ("m", False), ("other", True)):
            request = asking(*story, model=f"{provider.name}/{model}")
            await ask(request, at(server, webSearch=search), provider)
        again, off, other = (json.dumps(body) for body in server.asked_for[1:])
    assert ["encrypted_content" in body or "ws_1" in body for body in (again, off, other)] == [True, False, False]
    if dialect == "anthropic":
        body = server.asked_for[1]
        assert strict.problem(strict.messages, body, "", blind=False) == ""
        kinds = [block["type"] for block in body["messages"][1]["content"]]
        assert kinds == ["server_tool_use", "web_search_tool_result", "text"]


@pytest.mark.usefixtures("sdk")
@pytest.mark.parametrize("events", range(2, 12))
async def test_a_stop_around_a_search_leaves_a_chat_that_goes_on(tmp_path: Path, events: int) -> None:
    """ECA 5, 9: wherever it was stopped, no request holds half a search."""
    stream, _ = recording("anthropic", "the_web_is_searched")
    sent = stream.events[: events + 1]
    last = "I search." if events < 7 else "Searched the web" if events < 9 else "example.com"
    size = sum(len(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n") for one in sent)
    with Speaking("messages", says("Hello."), [Fault(events=sent, stall=size)]) as server:
        providers = {"anthropic": {"url": server.url, "key": KEY, "webSearch": True}}
        async with desk(tmp_path, [], providers=providers, defaultModel="anthropic/m") as table:
            client = await table.client()
            heard, ended = asyncio.Event(), asyncio.Event()

            def hear(item: Any) -> None:
                if last in str(item.content):
                    heard.set()
                if item.outcome is not None:
                    ended.set()

            client.listen("chat", hear)
            await client.request("chat/prompt", ChatPromptParams(chat_id="chat", message="hi"), ChatPromptResult)
            await asyncio.wait_for(heard.wait(), PATIENCE)
            await client.notify("chat/promptStop", ChatPromptStopParams(chat_id="chat"))
            await asyncio.wait_for(ended.wait(), PATIENCE)
            client.listen("chat", None)
            received = await answer(client, "go on")
            assert (said(received), outcomes(received)) == ("Hello.", ["completed"])
    assert server.refused == []
