"""What cannot be spawned, and how far one that is may go."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from tests.fronts.eca.editor_client import book
from tests.host.turn.subagents.family import children, house, mine, result, spawn
from tests.support.host_and_client import Notebook, answer, outcomes, said

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams as Received

pytestmark = pytest.mark.asyncio

RUN: dict[str, Any] = {"tool": "run_code", "arguments": {"code": "x = 1"}}
BACK: dict[str, Any] = {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]}


async def _spawned(folder: Path, call: dict[str, Any], *rules: dict[str, Any], **more: Any) -> list[Received]:
    asked = {"message": "share it", "reply": [call]}
    async with house(folder, [asked, *rules, BACK], "run_code", **more) as table:
        return await answer(await table.client(Notebook()), "share it", agent=more.get("defaultAgent", ""))


async def test_an_agent_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    received = await _spawned(tmp_path, spawn("ghost", "the part"))
    assert result(received) == "There is no agent 'ghost' to spawn. Name one of: explorer, general."
    assert children(received) == []


async def test_a_primary_agent_cannot_be_spawned(tmp_path: Path) -> None:
    received = await _spawned(tmp_path, spawn("code", "the part"))
    assert result(received).startswith("There is no agent 'code' to spawn.")


async def test_only_those_it_names_may_spawn_an_agent(tmp_path: Path) -> None:
    helper = {"mode": "subagent", "spawnableBy": "lead", "prompt": "Help."}
    agents = {"lead": {}, "helper": helper}
    rules: dict[str, Any] = {"message": "the part", "reply": [{"text": "Helped."}]}
    by_code = await _spawned(tmp_path, spawn("helper", "the part"), rules, agent=agents)
    assert result(by_code).startswith("There is no agent 'helper' to spawn.")
    by_lead = await _spawned(tmp_path, spawn("helper", "the part"), rules, agent=agents, defaultAgent="lead")
    assert result(by_lead) == "## Agent 'helper' Result\n\nHelped."


async def test_a_model_that_was_asked_for_and_is_not_there_is_an_error_for_the_model(tmp_path: Path) -> None:
    received = await _spawned(tmp_path, spawn("general", "the part", model="nowhere/at-all"))
    assert "There is no provider 'nowhere'" in result(received)
    assert outcomes(mine(received)) == ["completed"]


async def test_a_subagent_that_tries_to_spawn_has_no_such_tool(tmp_path: Path) -> None:
    rules = [
        {"message": "the part", "reply": [spawn("general", "the part of the part")]},
        {"result": "There is no tool 'spawn_agent'", "reply": [{"text": "Then alone."}]},
    ]
    received = await _spawned(tmp_path, spawn("general", "the part"), *rules)
    assert result(received) == "## Agent 'general' Result\n\nThen alone."
    assert len(children(received)) == 1


async def test_one_that_has_had_its_steps_fails_with_what_it_had_said(tmp_path: Path) -> None:
    agents = {"short": {"mode": "subagent", "maxSteps": 1, "prompt": "Be short."}}
    rules: dict[str, Any] = {"message": "the part", "reply": [{"text": "I begin."}, RUN]}
    received = await _spawned(tmp_path, spawn("short", "the part"), rules, agent=agents)
    assert result(received).startswith("## Agent 'short' failed: The agent has used up its 1 steps (`maxSteps`).")
    assert result(received).endswith("Until then it said:\n\nI begin.")


async def test_in_plan_mode_what_is_spawned_changes_nothing_either(tmp_path: Path) -> None:
    rules = [
        {"message": "the part", "reply": [RUN]},
        {"result": "There is no tool 'run_code'", "reply": [{"text": "I may not."}]},
    ]
    received = await _spawned(tmp_path, spawn("general", "the part"), *rules, defaultAgent="plan")
    assert result(received) == "## Agent 'general' Result\n\nI may not."


async def test_a_task_is_no_command(tmp_path: Path) -> None:
    rules: dict[str, Any] = {"message": "^/costs$", "reply": [{"text": "What costs?"}]}
    received = await _spawned(tmp_path, spawn("general", "/costs"), rules)
    assert result(received) == "## Agent 'general' Result\n\nWhat costs?"


async def test_nobody_else_asks_in_a_subagents_chat(tmp_path: Path) -> None:
    rules = [{"message": "the part", "reply": [{"text": "Seen."}]}]
    asked: dict[str, Any] = {"message": "share it", "reply": [spawn("general", "the part")]}
    async with house(tmp_path, [asked, *rules, BACK]) as table:
        client = await table.client()
        (id,) = children(await answer(client, "share it"))
        for chat in (id, "subagent-of-mine"):
            with pytest.raises(RemoteError, match="This chat is a subagent's"):
                await answer(client, "the part", chat=chat)


async def test_what_an_agent_names_and_nobody_has_is_told_once_by_name(tmp_path: Path) -> None:
    agents: dict[str, Any] = {
        "odd": {
            "mode": "subagent",
            "inherit": "nobody",
            "defaultModel": "nowhere/x",
            "disabledTools": ["eca__git", "no_such_tool"],
            "toolCall": {"approval": {"allow": {"missing__tool": {}, "eca__read_file": {}}}},
        }
    }
    asked: dict[str, Any] = {"message": "share it", "reply": [spawn("odd", "the part")]}
    rules = [asked, {"message": "the part", "reply": [{"text": "Seen."}]}, BACK]
    async with house(tmp_path, rules, agent=agents) as table, book(table) as client:
        await client.prompt("share it")
        await client.prompt("share it")
        assert [call["outputs"][0]["text"] for call in client.contents("toolCalled")] == [
            "## Agent 'odd' Result\n\nSeen."
        ] * 2
    assert sorted(told["message"] for told in client.notices("$/showMessage")) == [
        "The agent 'odd' inherits from 'nobody', which does not exist. It works without a parent.",
        "The agent 'odd' names the model 'nowhere/x', which no provider offers. Another model answers instead.",
        "The agent 'odd' names the tool 'missing__tool', which does not exist. This setting has no effect.",
        "The agent 'odd' names the tool 'no_such_tool', which does not exist. This setting has no effect.",
    ]


async def test_the_agents_that_can_be_spawned_are_listed(tmp_path: Path) -> None:
    agents: dict[str, Any] = {
        "helper": {"mode": "both", "description": "Helps\n a lot.", "maxSteps": 3, "defaultModel": "scripted/test"},
        "private": {"mode": "subagent", "spawnableBy": ["lead"]},
    }
    async with house(tmp_path, [BACK], agent=agents) as table:
        listed = said(await answer(await table.client(), "/subagents"), "system")
    assert [line.partition(":")[0] for line in listed.splitlines()[2:]] == ["- `explorer`", "- `general`", "- `helper`"]
    assert listed.endswith("- `helper`: Helps a lot. (model `scripted/test`, at most 3 steps)")
