"""Our own commands know that an outside agent answers in the chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.costs import ChatCostsParams, ChatCostsResult
from tests.host.outside.talking import talking
from tests.support.host_and_client import answer, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


async def command(talk: Talking, text: str) -> str:
    """What a command of ours answers in the chat. It never fails."""
    received = await answer(talk.client, text, agent="fake")
    assert outcomes(received) == ["completed"]
    return said(received, "system")


async def test_the_agent_chooses_its_model_itself(tmp_path: Path) -> None:
    async with talking(tmp_path, "options") as talk:
        await talk.ask("say Hello")
        for text in ("/model", "/model scripted/test"):
            shown = await command(talk, text)
            assert "`/options`" in shown
            assert "scripted/test" not in shown


async def test_the_context_is_what_the_agent_says(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("say Hello")
        assert "has not said" in await command(talk, "/context")
        await talk.ask("usage USD")
        assert "1,000 of 100,000 tokens (1 %)" in await command(talk, "/context")


async def test_a_chat_of_the_agent_is_not_summarised_and_that_is_no_error(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        for _ in range(4):
            await talk.ask("say Hello")
        assert "not summarised" in await command(talk, "/compact")
        assert said(await talk.ask("say Hello")) == "Hello"


async def test_the_costs_have_a_line_of_what_the_agent_says_and_no_budget_counts_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("usage USD")
        await talk.ask("usage USD")
        shown = await command(talk, "/costs")
        assert "fake says that it has cost 0.50 USD" in shown
        assert "not counted in budgets" in shown
    async with talking(tmp_path) as talk:
        assert "fake says that it has cost 0.50 USD" in await command(talk, "/costs")


async def test_clients_get_what_the_agent_says_apart_from_what_our_models_cost(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("usage USD")
        costs = await talk.client.request("chat/costs", ChatCostsParams(chat_id="chat"), ChatCostsResult)
        assert [(cost.agent, cost.cost) for cost in costs.outside or ()] == [("fake", 0.25)]
        assert costs.chat.cost == costs.today.cost == 0.0


async def test_costs_that_are_not_in_dollars_are_not_added_up(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("usage EUR")
        assert "fake says that it has used an unknown amount of USD" in await command(talk, "/costs")
