"""After its first answer a chat gets a title from a model: a real server of the Messages API on this machine."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.budget import GO_ON
from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.chats import ChatListParams, ChatListResult, ChatUpdateParams
from jupyter_eca.protocol.costs import ChatCostsParams, ChatCostsResult
from tests.host.costs.test_budgets import Person, spender
from tests.host.faults.vendor import Fault, vendor
from tests.plugins.providers.ask import KEY, script
from tests.support.anthropic_server import LoopbackAnthropic, Recorded
from tests.support.host_and_client import PATIENCE, Desk, answer, desk, outcomes, settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.plugins.providers.scripted import Script
    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = [pytest.mark.asyncio, pytest.mark.usefixtures("sdk")]

QUESTION = "Pourquoi la fusion perd-elle des lignes ?"
SONNET: dict[str, Any] = {"defaultModel": "anthropic/claude-sonnet-5-5"}
TITLED: dict[str, Any] = {"chat": {"title": True}}


def titles(title: str = "Lignes perdues lors de la fusion") -> Script:
    """A model that answers every message, and the request for a title with a title."""
    return script(
        {"message": "^<message>", "reply": [{"text": title}]},
        {"message": "", "reply": [{"text": "Because the keys differ."}]},
    )


def count_title_requests(server: LoopbackAnthropic) -> int:
    return sum(is_title_request(request) for request in server.requests)


def is_title_request(request: Recorded) -> bool:
    return bool(request.body) and "You write the title of a chat" in str(request.body["system"])


async def list_titles(client: EcaClient) -> list[str | None]:
    found = await client.request("chat/list", ChatListParams(), ChatListResult)
    return [chat.title for chat in found.chats]


async def end_title(table: Desk, chat: str = "chat") -> None:
    """Wait until the request for the title, if there is one, has ended."""
    live = table.host.chats.get_live(chat)
    assert live is not None
    await asyncio.wait_for(asyncio.gather(*live.tasks.values()), PATIENCE)


async def await_title(table: Desk, client: EcaClient) -> str | None:
    """The title of the only chat, once the request for it has ended."""
    await end_title(table)
    (title,) = await list_titles(client)
    return title


async def test_a_chat_is_named_by_a_small_request_after_its_first_answer(tmp_path: Path) -> None:
    async with vendor(tmp_path, script=titles(), **TITLED) as (table, server):
        client = await table.client()
        await answer(client, QUESTION)
        assert await await_title(table, client) == "Lignes perdues lors de la fusion"
        assert await list_titles(client) == ["Lignes perdues lors de la fusion"]
        sent = server.requests[-1].body
        assert "tools" not in sent
        assert "thinking" not in sent
        assert QUESTION in str(sent["messages"])
        assert "Because the keys differ." in str(sent["messages"])
        await answer(client, "And now?")
        await end_title(table)
        assert count_title_requests(server) == 1
    async with vendor(tmp_path, script=titles("Another"), **TITLED) as (table, server):
        client = await table.client()
        await answer(client, "And after a restart?")
        await end_title(table)
        assert count_title_requests(server) == 0
        assert await list_titles(client) == ["Lignes perdues lors de la fusion"]


async def test_a_title_costs_what_its_request_costs(tmp_path: Path) -> None:
    models = {"claude-sonnet-5-5": {"cost": {"input": 1.0, "output": 1.0}}}
    with LoopbackAnthropic(titles()) as server:
        providers = {"anthropic": {"url": server.url, "key": KEY, "models": models}}
        async with desk(tmp_path, [], providers=providers, **SONNET, **TITLED) as table:
            client = await table.client()
            await answer(client, QUESTION)
            await await_title(table, client)
            costs = await client.request("chat/costs", ChatCostsParams(chat_id="chat"), ChatCostsResult)
            assert costs.chat is not None
            assert costs.chat.requests == 2
            live = table.host.chats.get_live("chat")
            assert live is not None
            assert live.state.cost == pytest.approx(costs.chat.cost)


@pytest.mark.parametrize(
    ("made", "faults"),
    [
        pytest.param("", (None, Fault(500, "broken")), id="failed"),
        pytest.param("", (None, Fault(403, "not for you")), id="refused"),
        pytest.param("***", (), id="empty"),
        pytest.param("I would say that " * 40, (), id="too long"),
    ],
)
async def test_without_a_usable_title_the_first_message_stays_and_nothing_is_shown(
    tmp_path: Path, made: str, faults: Iterable[Fault | None]
) -> None:
    async with vendor(tmp_path, faults, titles(made), **TITLED) as (table, server):
        client = await table.client()
        await answer(client, QUESTION)
        await end_title(table)
        assert count_title_requests(server) == 1
        assert await list_titles(client) == [QUESTION]
        assert outcomes(await answer(client, "And now?")) == ["completed"]


@pytest.mark.parametrize(
    "setting", [{"chat": {"title": False}}, {"chat": {"title": True}, "defaultModel": "scripted/test"}]
)
async def test_no_title_is_requested_when_it_is_off_or_a_script_answers(
    tmp_path: Path, setting: dict[str, Any]
) -> None:
    rules: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "From the script."}]}]
    with LoopbackAnthropic(titles()) as server:
        scripted = settings(tmp_path, rules)["providers"]
        providers = {"anthropic": {"url": server.url, "key": KEY}, **scripted}
        async with desk(tmp_path, rules, providers=providers, **{**SONNET, **setting}) as table:
            client = await table.client()
            await answer(client, QUESTION)
            await end_title(table)
            assert count_title_requests(server) == 0
            assert await list_titles(client) == [QUESTION]


async def test_a_stopped_turn_requests_no_title_but_the_first_answer_does(tmp_path: Path) -> None:
    async with vendor(tmp_path, [Fault(stall=0)], titles(), **TITLED) as (table, server):
        client = await table.client()
        asking = asyncio.create_task(answer(client, QUESTION))
        await asyncio.to_thread(server.asked.wait, PATIENCE)
        await client.stop("chat")
        assert outcomes(await asking) == ["stopped"]
        await end_title(table)
        assert count_title_requests(server) == 0
        await answer(client, "Again?")
        assert await await_title(table, client) == "Lignes perdues lors de la fusion"


async def test_a_title_beyond_the_budget_is_not_requested_and_nobody_is_asked(tmp_path: Path) -> None:
    models = {"claude-sonnet-5-5": {"cost": {"input": 1000.0, "output": 1000.0}}}
    with LoopbackAnthropic(titles()) as server:
        providers = {"anthropic": {"url": server.url, "key": KEY, "models": models}}
        more: dict[str, Any] = {"budget": {"perChat": 0.01}, **SONNET, **TITLED}
        person = Person((GO_ON,))
        async with desk(tmp_path, [], providers=providers, **more) as table, spender(table, person) as client:
            assert outcomes(await answer(client, QUESTION)) == ["completed"]
            await end_title(table)
            assert count_title_requests(server) == 0
            assert len(person.asked) == 1


class HeldTitles(LoopbackAnthropic):
    """Answers the request for a title when `release` is set."""

    def __init__(self) -> None:
        super().__init__(titles())
        self.title_requested = threading.Event()
        self.release = threading.Event()

    def answered(self, asked: Recorded) -> tuple[Fault, Iterable[tuple[float, bytes]]]:
        if is_title_request(asked):
            self.title_requested.set()
            self.release.wait(PATIENCE)
        return super().answered(asked)


async def test_a_title_that_the_user_gives_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    with HeldTitles() as server:
        providers = {"anthropic": {"url": server.url, "key": KEY}}
        async with desk(tmp_path, [], providers=providers, **SONNET, **TITLED) as table:
            client = await table.client()
            await answer(client, QUESTION)
            await asyncio.to_thread(server.title_requested.wait, PATIENCE)
            await client.request("chat/update", ChatUpdateParams(chat_id="chat", title="Mine"), Done)
            server.release.set()
            await end_title(table)
            assert await list_titles(client) == ["Mine"]


async def test_a_request_for_a_title_does_not_hold_up_a_deletion_or_the_end_of_the_server(tmp_path: Path) -> None:
    with HeldTitles() as server:
        providers = {"anthropic": {"url": server.url, "key": KEY}}
        async with desk(tmp_path, [], providers=providers, **SONNET, **TITLED) as table:
            client = await table.client()
            await answer(client, QUESTION, chat="deleted")
            await asyncio.to_thread(server.title_requested.wait, PATIENCE)
            await table.host.chat_operations.delete("deleted")
            assert await list_titles(client) == []
            server.release.set()
            await answer(client, QUESTION)
            server.release.clear()
            live = table.host.chats.get_live("chat")
            assert live is not None
        assert live.tasks == {}
        server.release.set()
