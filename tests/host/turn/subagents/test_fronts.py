"""Fronts that show no chat within a chat: they tell of a subagent by its call, and are not confused by the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.ahp.place import calls_of, place, text_of
from tests.host.turn.subagents.family import house, result, spawn
from tests.support.host_and_client import answer
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"message": "share it", "reply": [spawn("general", "the part")]},
    {"message": "the part", "reply": [{"tool": "shell_command", "arguments": {"command": "true"}}]},
    {"result": "nobody is there", "tool": "shell_command", "reply": [{"text": "Nobody let me."}]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
]
S = "eca:/s1"


async def test_in_the_agent_host_protocol_it_is_one_call_of_one_session(tmp_path: Path) -> None:
    allowed: dict[str, Any] = {"approval": {"allow": {"spawn_agent": {}}}}
    async with place(tmp_path, RULES, toolCall=allowed) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "share it")
        (turn,) = (await client.settled(S, 1))["turns"]
        listed = (await client.request("listSessions"))["items"]
        at.same(client, S)
    (call,) = calls_of(turn)
    assert call["content"][0]["text"] == "## Agent 'general' Result\n\nNobody let me."
    assert text_of(turn) == "Back."
    assert [one["resource"] for one in listed] == [S]


async def test_a_client_of_an_older_revision_is_told_of_the_call_alone_and_not_waited_for(tmp_path: Path) -> None:
    async with house(tmp_path, RULES) as table:
        at = connect(table)
        await at.initialize({"chat": True, "doc": True})
        await at.tell("initialized", {})
        await at.ask("chat/prompt", {"chatId": "old", "message": "share it", "requestId": "1"})
        await at.finished()
        received = at.params("chat/contentReceived")
        await at.close()
    assert {one["chatId"] for one in received} == {"old"}
    assert "toolCalled" in {one["content"]["type"] for one in received}


async def test_another_client_that_shows_subagents_can_still_approve(tmp_path: Path) -> None:
    rules = [RULES[0], RULES[1], {"result": "", "tool": "shell_command", "reply": [{"text": "Ran."}]}, RULES[3]]
    async with house(tmp_path, rules) as table:
        at = connect(table)
        await at.initialize({"chat": True, "doc": True})
        await at.tell("initialized", {})
        received = await answer(await table.client(), "share it", lambda _: CallDecision(approved=True))
        await at.close()
    assert result(received) == "## Agent 'general' Result\n\nRan."
