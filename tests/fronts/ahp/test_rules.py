"""The rules of approval in a session: those of the agent whose call it is, as they are when the call is decided."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.config import Config
from tests.fronts.ahp.place import APPROVE, Json, calls_of, place
from tests.fronts.ahp.test_lent import S, client_of
from tests.host.turn.subagents.family import spawn
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ALLOW: Json = {"approval": {"allow": {"spawn_agent": {}, "write_file": {}}}}


@pytest.mark.parametrize(
    ("rules", "runs"),
    [
        ({}, True),
        ({"deny": {"write_file": {"argsMatchers": {"path": [r".*\.txt"]}}}}, False),
        ({"byDefault": "deny", "allow": {"read_file": {}}}, True),  # the rule that allows it for all agents counts
    ],
)
async def test_the_calls_of_a_subagent_are_decided_by_the_rules_of_its_own_agent(
    tmp_path: Path, rules: Json, runs: bool
) -> None:
    careful = {"careful": {"mode": "subagent", "prompt": "Be careful.", "toolCall": {"approval": rules}}}
    async with place(tmp_path, _share_work(), toolCall=ALLOW, agent=careful) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "share it")
        await client.settled(S, 1)
    assert (tmp_path / "made.txt").exists() is runs


async def test_a_call_of_a_subagent_whose_agent_asks_does_not_run_unasked(tmp_path: Path) -> None:
    rules: Json = {"ask": {"write_file": {}}}
    careful = {"careful": {"mode": "subagent", "prompt": "Be careful.", "toolCall": {"approval": rules}}}
    async with place(tmp_path, _share_work(), toolCall=ALLOW, agent=careful) as at:
        at.host.unattended_calls.grace = 0.05
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "share it")
        await client.settled(S, 1)
    assert not (tmp_path / "made.txt").exists()


def _share_work() -> list[Json]:
    write: Json = {"tool": "write_file", "arguments": {"path": "made.txt", "content": "x"}}
    return [
        {"message": "share it", "reply": [spawn("careful", "the part")]},
        {"message": "the part", "reply": [write]},
        {"result": "", "tool": "write_file", "reply": [{"text": "Done."}]},
        {"result": "", "tool": "spawn_agent", "reply": [{"text": "Back."}]},
    ]


async def test_a_rule_that_is_written_while_a_turn_waits_holds_for_its_next_call(tmp_path: Path) -> None:
    rules: list[Json] = [
        {"message": "go", "reply": [{"tool": "write_file", "arguments": {"path": "1.txt", "content": "1"}}]},
        {
            "result": "",
            "tool": "write_file",
            "reply": [{"tool": "shell_command", "arguments": {"command": "touch evil"}}],
        },
        {"result": "", "reply": [{"text": "End."}]},
    ]
    async with place(tmp_path, rules, toolCall={"approval": {"allow": {"shell_command": {}}}}) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "go")
        call = await client.call(S, "pending-confirmation")
        denial: Json = {"deny": {"shell_command": {"argsMatchers": {"command": [".*evil.*"]}}}}
        await at.host.configure(Config.model_validate(settings(tmp_path, rules, toolCall={"approval": denial})))
        await client.decide(S, "t1", call, **APPROVE)
        state = await client.settled(S, 1)
        assert [call["status"] for call in calls_of(state["turns"][0])] == ["completed", "cancelled"]
    assert not (tmp_path / "evil").exists()


async def test_a_rule_that_denies_a_call_which_waits_holds_for_this_call_whoever_approves_it(tmp_path: Path) -> None:
    rules: list[Json] = [
        {"message": "go", "reply": [{"tool": "write_file", "arguments": {"path": "1.txt", "content": "1"}}]},
        {"result": "", "reply": [{"text": "End."}]},
    ]
    async with place(tmp_path, rules) as at:
        client, other = await at.connect(), await at.connect("other")
        await client.create(S)
        await client.ask(S, "t1", "go")
        call = await client.call(S, "pending-confirmation")
        await other.subscribe(S)
        denial: Json = {"deny": {"write_file": {}}}
        await at.host.configure(Config.model_validate(settings(tmp_path, rules, toolCall={"approval": denial})))
        await other.decide(S, "t1", call, **APPROVE)
        (call,) = calls_of((await client.settled(S, 1))["turns"][0])
        assert (call["status"], call["reason"]) == ("cancelled", "denied")
    assert not (tmp_path / "1.txt").exists()


async def test_a_call_that_waits_for_another_one_is_asked_about_when_the_rule_that_allowed_it_is_withdrawn(
    tmp_path: Path,
) -> None:
    rules: list[Json] = [
        {
            "message": "go",
            "reply": [
                {"tool": "write_file", "arguments": {"path": "1.txt", "content": "1"}},
                {"tool": "shell_command", "arguments": {"command": "touch evil"}},
            ],
        },
        {"result": "", "reply": [{"text": "End."}]},
    ]
    async with place(tmp_path, rules, toolCall={"approval": {"allow": {"shell_command": {}}}}) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "go")
        first = await client.call(S, "pending-confirmation")
        await at.host.configure(Config.model_validate(settings(tmp_path, rules)))
        await client.decide(S, "t1", first, **APPROVE)
        second = await client.call(S, "pending-confirmation", 1)
        assert not (tmp_path / "evil").exists()
        await client.decide(S, "t1", second, **APPROVE)
        state = await client.settled(S, 1)
        assert [call["status"] for call in calls_of(state["turns"][0])] == ["completed", "completed"]
    assert (tmp_path / "evil").exists()


async def test_a_default_that_denies_holds_for_the_tools_of_a_client_too(tmp_path: Path) -> None:
    async with place(tmp_path, toolCall={"approval": {"byDefault": "deny"}}) as at:
        client = await at.connect()
        await client.create(S, activeClient=client_of("one"))
        await client.ask(S, "t1", "lent")
        (call,) = calls_of((await client.settled(S, 1))["turns"][0])
        assert (call["status"], call["reason"]) == ("cancelled", "denied")
