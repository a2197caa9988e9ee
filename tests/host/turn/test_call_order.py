"""The calls of one answer run in the order in which the model wrote them, through the engine of a desk."""

from __future__ import annotations

import asyncio
from itertools import groupby
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.protocol.content import (
    RejectReason,
    ToolCallContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.turn.subagents.family import mine, spawn
from tests.mcp_client.house import tour_server
from tests.support.host_and_client import Desk, answer, desk, outcomes, said
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio


def write(content: str) -> dict[str, Any]:
    return {"tool": "write_file", "arguments": {"path": "it.txt", "content": content}}


def run(command: str) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command}}


READ: dict[str, Any] = {"tool": "read_file", "arguments": {"path": "it.txt"}}
RULES: list[dict[str, Any]] = [
    {"result": "(?s)(?P<whole>.*)", "reply": [{"text": "The last result: {result}"}]},
    {"message": "^change and run", "reply": [write("new\n"), run("cat it.txt")]},
    {"message": "^change and read", "reply": [write("new\n"), READ]},
    {"message": "^three changes", "reply": [write("new\n"), run("echo two >> it.txt"), run("cat it.txt")]},
    {"message": "^fail", "reply": [run("exit 3"), write("new\n"), READ]},
    {"message": "^nothing there", "reply": [{"tool": "edit_cel", "arguments": {}}, run("echo ran > it.txt")]},
    {"message": "^meet", "reply": [{"tool": "meet", "arguments": {}}, {"tool": "meet", "arguments": {}}]},
]
ASKS: dict[str, Any] = {"toolCall": {"approval": {"allow": {"read_file": {}}}}}
SHELL_ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"allow": {"shell_command": {}, "read_file": {}}}}}
ALL_ALLOWED: dict[str, Any] = {"toolCall": {"approval": {"byDefault": "allow"}}}


class Decider:
    """Decides about the calls of a turn, the last one first, when all that must be decided are known."""

    def __init__(self, table: Desk, decisions: Sequence[CallDecision]) -> None:
        self._table = table
        self._decisions = list(decisions)
        self.asked: list[ToolCallRunContent] = []

    async def run(self, message: str) -> list[ChatContentReceivedParams]:
        client = await self._table.client()
        received: list[ChatContentReceivedParams] = []
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", message):
                received.append(item)
                if isinstance(item.content, ToolCallRunContent) and item.content.manual_approval:
                    self.asked.append(item.content)
                    if len(self.asked) == len(self._decisions):
                        for call, decision in reversed(list(zip(self.asked, self._decisions, strict=True))):
                            await client.decide("chat", call.id, decision)
        return received


YES = CallDecision(approved=True)
NO = CallDecision(approved=False)


def list_steps(received: list[ChatContentReceivedParams]) -> list[str]:
    """Return what started and what ended, in order."""
    words = {"toolCallRunning": "runs", "toolCalled": "ended", "toolCallRejected": "not run"}
    calls = (one.content for one in received if isinstance(one.content, ToolCallContent))
    kinds = ((call.name, str(getattr(call, "type", ""))) for call in calls)
    return [f"{name} {words[kind]}" for name, kind in kinds if kind in words]


def list_refused(received: list[ChatContentReceivedParams]) -> list[tuple[str, RejectReason]]:
    rejected = [one.content for one in received if isinstance(one.content, ToolCallRejectedContent)]
    return [(one.name, one.reason) for one in rejected]


IN_ORDER = ["write_file runs", "write_file ended", "shell_command runs", "shell_command ended"]


async def test_a_run_that_is_approved_before_the_edit_in_front_of_it_runs_after_it(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    async with desk(tmp_path, RULES, **ASKS) as table:
        received = await Decider(table, [YES, YES]).run("change and run @it.txt")
        assert list_steps(received) == IN_ORDER
        assert said(received) == "The last result: new"


async def test_a_run_that_needs_no_approval_waits_for_the_undecided_edit_in_front_of_it(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    async with desk(tmp_path, RULES, **SHELL_ALLOWED) as table:
        received = await Decider(table, [YES]).run("change and run @it.txt")
        assert list_steps(received) == IN_ORDER
        assert said(received) == "The last result: new"


async def test_a_read_behind_a_change_shows_what_the_change_left(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    async with desk(tmp_path, RULES, **ASKS) as table:
        received = await Decider(table, [YES]).run("change and read @it.txt")
        assert list_steps(received) == ["write_file runs", "write_file ended", "read_file runs", "read_file ended"]
        assert said(received) == "The last result: new\n"


async def test_changes_that_need_no_approval_run_one_after_the_other(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "three changes")
        assert list_steps(received) == [*IN_ORDER, *IN_ORDER[2:]]
        assert said(received) == "The last result: new\ntwo"


async def test_when_a_change_is_rejected_those_behind_it_do_not_run_and_nobody_is_asked_any_more(
    tmp_path: Path,
) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    async with desk(tmp_path, RULES, **ASKS) as table:
        client = await table.client()
        received = await answer(client, "three changes @it.txt", lambda call: NO if call.name == "write_file" else None)
        assert list_refused(received) == [
            ("write_file", RejectReason.USER),
            ("shell_command", RejectReason.ORDER),
            ("shell_command", RejectReason.ORDER),
        ]
        assert (tmp_path / "it.txt").read_text() == "old\n"
        assert outcomes(received) == ["completed"]
        assert "Not run: a call before it in the same answer failed or was rejected." in said(received)


async def test_an_approval_that_came_first_does_not_run_a_call_behind_a_rejected_one(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ASKS) as table:
        received = await Decider(table, [NO, YES]).run("change and run")
        assert list_steps(received) == ["write_file not run", "shell_command not run"]


async def test_when_a_change_fails_nothing_behind_it_runs(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    async with desk(tmp_path, RULES, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "fail @it.txt")
        assert list_steps(received) == [*IN_ORDER[2:], "write_file not run", "read_file not run"]
        assert (tmp_path / "it.txt").read_text() == "old\n"


async def test_behind_a_call_of_a_tool_that_is_not_there_nothing_runs(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "nothing there")
        assert list_steps(received) == ["edit_cel ended", "shell_command not run"]
        assert not (tmp_path / "it.txt").exists()


async def test_with_nobody_there_the_calls_behind_a_denied_one_end_too(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ASKS) as table:
        received = await answer(await table.client(unattended=True), "three changes")
        assert [reason for _, reason in list_refused(received)] == [RejectReason.NOBODY, *[RejectReason.ORDER] * 2]
        assert outcomes(received) == ["completed"]


async def test_reads_of_one_answer_run_side_by_side(tmp_path: Path) -> None:
    both = asyncio.Barrier(2)

    @tool(reads=True)
    async def meet(context: ToolContext) -> str:  # noqa: ARG001
        """Wait for the other call."""
        await both.wait()
        return "We met."

    async with desk(tmp_path, RULES, **ALL_ALLOWED) as table:
        table.host.toolbox.set_client_tools("chat", (meet,))
        received = await answer(await table.client(), "meet")
        assert said(received) == "The last result: We met."


async def test_a_call_that_is_approved_early_says_for_which_call_it_waits(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ASKS) as table:
        decider = Decider(table, [YES, YES])
        received = await decider.run("change and run")
        first, second = decider.asked
        assert (first.waits_for, second.waits_for) == (None, first.id)
        shown = [one.content for one in received if isinstance(one.content, ToolCallRunContent)]
        assert [(one.id, one.manual_approval, one.waits_for) for one in shown[2:]] == [(second.id, False, first.id)]


async def test_a_stop_ends_a_call_that_is_approved_and_waits(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ASKS) as table:
        client = await table.client()
        received: list[ChatContentReceivedParams] = []
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "change and run"):
                received.append(item)
                if isinstance(item.content, ToolCallRunContent) and item.content.name == "shell_command":
                    if item.content.manual_approval:
                        await client.decide("chat", item.content.id, YES)
                    else:
                        await client.stop("chat")
        assert list_refused(received) == [("write_file", RejectReason.STOP), ("shell_command", RejectReason.STOP)]
        assert outcomes(received) == ["stopped"]


async def test_after_a_restart_the_model_knows_the_calls_in_their_order(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES, **ASKS) as table:
        await Decider(table, [YES, YES]).run("change and run")
        before = (await table.host.turns.draft("chat")).messages
    async with desk(tmp_path, RULES, **ASKS) as table:
        assert (await table.host.turns.draft("chat")).messages == before


async def test_a_search_that_finds_nothing_stops_no_call_behind_it(tmp_path: Path) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    rules = [
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [run("grep -n missing it.txt"), run("echo ran >> it.txt")]},
    ]
    async with desk(tmp_path, rules, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "go")
        assert list_steps(received) == [*IN_ORDER[2:], *IN_ORDER[2:]]
        assert (tmp_path / "it.txt").read_text() == "old\nran\n"


@pytest.mark.parametrize(
    "command", ["grep -n missing it.txt > out.txt", "sh -c false", "python3 -c 'exit(1)'", "ls $HOME/none"]
)
async def test_a_command_that_may_change_something_stops_those_behind_it_when_it_fails(
    tmp_path: Path, command: str
) -> None:
    (tmp_path / "it.txt").write_text("old\n")
    rules = [
        {"result": "", "reply": [{"text": "Done."}]},
        {"message": "", "reply": [run(command), run("echo ran >> it.txt")]},
    ]
    async with desk(tmp_path, rules, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "go")
        assert list_steps(received) == [*IN_ORDER[2:], "shell_command not run"]


async def test_subagents_that_can_change_things_work_one_after_the_other_and_one_that_fails_stops_the_rest(
    tmp_path: Path,
) -> None:
    tasks = [spawn("general", "part a"), spawn("general", "part b"), spawn("general", "part c")]
    rules: list[dict[str, Any]] = [
        {"message": "share", "reply": tasks},
        {"message": "part a", "reply": [{"text": "Done."}]},
        {"message": "part b", "reply": [{"error": "the vendor is down"}]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with desk(tmp_path, rules, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "share")
    steps = [step for step, _ in groupby(list_steps(mine(received)))]
    assert steps == ["spawn_agent runs", "spawn_agent ended"] * 2 + ["spawn_agent not run"]


async def test_subagents_that_only_look_work_side_by_side_and_one_that_fails_stops_nothing(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [
        {"message": "share", "reply": [spawn("explorer", "part a"), spawn("explorer", "part b"), write("new\n")]},
        {"message": "part a", "reply": [{"error": "the vendor is down"}]},
        {"message": "part b", "reply": [{"text": "Done."}]},
        {"result": "", "reply": [{"text": "Done."}]},
    ]
    async with desk(tmp_path, rules, **ALL_ALLOWED) as table:
        received = await answer(await table.client(), "share")
    assert list_steps(mine(received))[:2] == ["spawn_agent runs"] * 2
    assert list_refused(received) == []
    assert (tmp_path / "it.txt").read_text() == "new\n"


async def test_a_tool_that_its_server_calls_read_only_runs_in_the_order_of_the_answer(tmp_path: Path) -> None:
    adds = [{"tool": "tour__add", "arguments": arguments} for arguments in ({"a": 1, "b": 2}, {"a": 1}, {"a": 1})]
    rules = [{"message": "", "reply": adds}, {"result": "", "reply": [{"text": "Done."}]}]
    async with desk(tmp_path, rules, **ALL_ALLOWED, mcpServers={"tour": tour_server()}) as table:
        await table.host.mcp.await_started(PATIENCE)
        received = await answer(await table.client(), "add")
    assert list_steps(received) == [*["tour__add runs", "tour__add ended"] * 2, "tour__add not run"]
