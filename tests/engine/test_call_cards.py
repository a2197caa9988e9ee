"""What the card of a call shows, and which calls count as reads."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.call_targets import CallTargets
from jupyter_eca.engine.effects import RunTool
from jupyter_eca.engine.model.request import ApprovalCoverage, ToolSpec
from jupyter_eca.protocol.content import (
    FileChangeDetails,
    Origin,
    ToolCalledContent,
    ToolCallPrepareContent,
    ToolCallRunContent,
)
from tests.engine.talk import ACT, FAR, LOOK, POLICY, Talk, call

CHANGE = FileChangeDetails(path="a.ipynb", diff="+x", lines_added=1, lines_removed=0)
SEVERAL = ToolSpec("several", "", {}, summary="Change cells", parts={"edit": ACT})
SPAWN = ToolSpec("spawn", "", {}, reading_agents=("explorer",))
SHELL = ToolSpec("shell", "", {}, approval_covers=ApprovalCoverage.COMMANDS)
TOOLS = (LOOK, ACT, FAR, SEVERAL, SPAWN, SHELL)


def reply(*calls: tuple[str, dict[str, Any]], finished: dict[str, Any] | None = None, **setup: Any) -> Talk:
    talk = Talk()
    settings = inputs.Setup("maker/model", tools=TOOLS, policy=POLICY, **setup)
    talk.feed(inputs.Prompted(talk.now, "t1", "Hi", "c1", settings)).gathers()
    pieces = (call(name, str(at), json.dumps(arguments), at) for at, (name, arguments) in enumerate(calls, start=1))
    talk.says(*pieces)
    return talk.feed(inputs.ModelFinished(talk.now, talk.state.request, **(finished or {})))


def summary(name: str, arguments: dict[str, Any], details: FileChangeDetails | None = None) -> str | None:
    talk = reply((name, arguments), finished={"details": {"1": details}} if details else {})
    return talk.shown(ToolCallRunContent)[0].summary


def test_a_card_says_whose_tool_is_called() -> None:
    talk = reply(("far", {}), ("look", {}))
    shown = [(content.server, content.origin) for content in talk.shown(ToolCallRunContent)]
    assert shown == [("away", Origin.MCP), ("eca", Origin.NATIVE)]
    (called,) = reply(("none", {})).shown(ToolCalledContent)
    assert (called.server, called.origin) == ("eca", Origin.UNKNOWN)


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("x", "Looking at x"),
        (["x", 2], "Looking at x, 2"),
        ("x\ny", "Looking at x ↵ y"),
        ("x\n\n  y\nz", "Looking at x ↵ y ↵ z"),
        ("", "Looking at"),
    ],
)
def test_a_summary_names_the_arguments_in_one_line(what: Any, text: str) -> None:
    assert summary("look", {"what": what}) == text


def test_there_is_no_summary_before_the_arguments_are_complete_or_without_one_of_the_tool() -> None:
    talk = Talk().asks().says(call("look", arguments='{"what":'))
    assert [content.summary for content in talk.shown(ToolCallPrepareContent)] == [None]
    assert summary("act", {}) is None
    assert summary("look", {}) == "Looking at"


def test_a_tool_that_changes_several_cells_says_what_happens_to_them() -> None:
    assert summary("several", {}, CHANGE) == CHANGE.describe_cells()
    assert summary("several", {}) == "Change cells"
    assert summary("act", {}, CHANGE) is None
    assert summary("look", {"what": "x"}, CHANGE) == "Looking at x"


@pytest.mark.parametrize(
    ("name", "arguments", "targets", "reads"),
    [
        ("look", {}, None, True),
        ("act", {}, None, False),
        ("act", {"command": "ls"}, None, False),
        ("spawn", {"agent": "explorer"}, None, True),
        ("spawn", {"agent": "writer"}, None, False),
        ("spawn", {"Agent": "explorer"}, None, False),
        ("shell", {"command": "git log"}, CallTargets(), True),
        ("shell", {"command": "git log"}, CallTargets(git_program="diff.external"), False),
        ("shell", {"command": "git commit"}, CallTargets(), False),
    ],
)
def test_a_later_read_runs_beside_a_read_and_waits_for_anything_else(
    name: str, arguments: dict[str, Any], targets: CallTargets | None, reads: bool
) -> None:
    talk = reply(("look", {}), (name, arguments), ("look", {}), finished={"targets": {"2": targets} if targets else {}})
    runs = [effect.call for effect in talk.effects if isinstance(effect, RunTool)]
    assert ("3" in runs) == reads


@pytest.mark.parametrize(("agent", "runs"), [("explorer", True), ("writer", False)])
def test_in_plan_mode_a_task_may_be_given_to_an_agent_that_only_reads(agent: str, runs: bool) -> None:
    talk = reply(("spawn", {"agent": agent}), plan_mode=True, trust=True)
    assert any(isinstance(effect, RunTool) for effect in talk.effects) == runs


def test_a_read_of_another_server_is_believed_in_plan_mode_only() -> None:
    claims = replace(FAR, read_only_hint=True)
    settings = inputs.Setup("maker/model", tools=(claims, LOOK), trust=True, plan_mode=True)
    talk = Talk().feed(inputs.Prompted(1, "t1", "Hi", "c1", settings)).gathers()
    talk.calls(call("far", "1"), call("look", "2", index=1))
    assert [effect.call for effect in talk.effects if isinstance(effect, RunTool)] == ["1"]
