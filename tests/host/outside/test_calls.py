"""The tool calls of an outside agent: one card for each, one question, and the answer that stands for the decision."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.content import (
    FileChangeDetails,
    ShellCommandDetails,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunContent,
)
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.hooks.written import hook, says
from tests.host.outside.talking import talking
from tests.support.access import ASKER
from tests.support.host_and_client import outcomes, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams

pytestmark = pytest.mark.asyncio

RAN = ["toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"]
REJECTED = ["toolCallPrepare", "toolCallRun", "toolCallRejected"]


def yes(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(True)


def no(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(False)


def runs(received: list[ChatContentReceivedParams]) -> list[ToolCallRunContent]:
    return [item.content for item in received if isinstance(item.content, ToolCallRunContent)]


def results(received: list[ChatContentReceivedParams]) -> list[ToolCalledContent]:
    return [item.content for item in received if isinstance(item.content, ToolCalledContent)]


@pytest.mark.parametrize(
    ("step", "text"),
    [("opencode_write new.txt", "new file\n"), ("qwen_edit new.txt", "by qwen\n")],
)
async def test_a_question_is_one_card_and_the_approved_file_is_written(tmp_path: Path, step: str, text: str) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask(step, choose=yes)
        assert tool_states(received) == RAN
        assert [run.manual_approval for run in runs(received)] == [True, False][: len(runs(received))]
        details = runs(received)[0].details
        assert isinstance(details, FileChangeDetails)
        assert details.path == "new.txt"
        assert f"+{text}" in details.diff
        assert (tmp_path / "new.txt").read_text() == text


async def test_the_card_of_a_fragment_shows_the_change_of_the_whole_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    async with talking(tmp_path) as talk:
        received = await talk.ask("claude_edit a.txt two TWO", choose=yes)
        assert tool_states(received) == RAN
        details = runs(received)[0].details
        assert isinstance(details, FileChangeDetails)
        assert details.diff.splitlines()[2:] == ["@@ -1,3 +1,3 @@", " one", "-two", "+TWO", " three"]
        assert (tmp_path / "a.txt").read_text() == "one\nTWO\nthree\n"


@pytest.mark.parametrize("step", ["opencode_write new.txt", "qwen_edit new.txt", "claude_edit a.txt one ONE"])
async def test_a_rejected_call_changes_nothing_and_the_turn_ends(tmp_path: Path, step: str) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with talking(tmp_path) as talk:
        received = await talk.ask(step, choose=no)
        assert tool_states(received) == REJECTED
        assert outcomes(received) == ["completed"]
        assert not (tmp_path / "new.txt").exists()
        assert (tmp_path / "a.txt").read_text() == "one\n"


async def test_a_command_line_is_shown_and_decided_as_one(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("codex_shell echo hello", choose=yes)
        assert tool_states(received) == RAN
        details = runs(received)[0].details
        assert isinstance(details, ShellCommandDetails)
        assert details.line == "echo hello"
        assert results(received)[0].outputs is not None
        assert "hello" in results(received)[0].outputs[0].text


async def test_a_rule_denies_a_command_of_the_agent_without_a_question(tmp_path: Path) -> None:
    rules = {"approval": {"deny": {"fake": {"argsMatchers": {"command": ["rm .*"]}}}}}
    async with talking(tmp_path, toolCall=rules) as talk:
        (tmp_path / "a.txt").write_text("kept")
        received = await talk.ask("codex_shell rm a.txt")
        assert [item.content.reason for item in received if isinstance(item.content, ToolCallRejectedContent)] == [
            "user-config"
        ]
        assert (tmp_path / "a.txt").exists()


async def test_a_rule_allows_the_calls_of_the_agent_without_a_question(tmp_path: Path) -> None:
    async with talking(tmp_path, toolCall={"approval": {"allow": {"fake": {}}}}) as talk:
        received = await talk.ask("opencode_write new.txt")
        assert tool_states(received) == RAN
        assert not any(run.manual_approval for run in runs(received))
        assert (tmp_path / "new.txt").exists()


async def test_an_approval_for_the_session_is_our_memory_and_the_agent_is_allowed_each_call_once(
    tmp_path: Path,
) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.ask("codex_shell echo hello", choose=lambda _: CallDecision(True, session=True))
        second = await talk.ask("codex_shell echo hello")
        assert runs(first)[0].manual_approval
        assert not runs(second)[0].manual_approval
        answers = [frame["result"] for frame in talk.list_frames("client") if "outcome" in str(frame.get("result"))]
        assert [answer["outcome"]["optionId"] for answer in answers] == ["once", "once"]


@pytest.mark.parametrize(
    ("kinds", "approve", "chosen"),
    [
        ("allow_always,allow_once,reject_once", True, "1-allow_once"),
        ("allow_always,allow_once,reject_once", False, "2-reject_once"),
        ("allow_once,allow_once,allow_always,reject_always,reject_once", True, "0-allow_once"),
        ("allow_once,allow_always,allow_always,reject_once", False, "3-reject_once"),
        ("allow_once,allow_always", False, "nothing"),
        ("surely,allow_once,never", True, "1-allow_once"),
        ("surely,allow_once,never", False, "nothing"),
    ],
)
async def test_the_option_says_exactly_what_was_decided(
    tmp_path: Path, kinds: str, *, approve: bool, chosen: str
) -> None:
    async with talking(tmp_path) as talk:
        talk.checks_frames = False  # the kinds of some options are none of the schema
        received = await talk.ask(f"options {kinds}", choose=lambda _: CallDecision(approve))
        assert said(received).endswith(f"chose {chosen}")


async def test_nothing_is_allowed_where_the_agent_only_offers_to_allow_more(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("only_always")
        assert said(received) == "chose reject"
        assert [result.error for result in results(received)] == [True]
        assert not any(run.manual_approval for run in runs(received))


async def test_nobody_is_there_so_nothing_is_allowed(tmp_path: Path) -> None:
    async with talking(tmp_path, access=ASKER) as talk:
        received = await talk.ask("opencode_write new.txt")
        assert outcomes(received) == ["completed"]
        assert tool_states(received) == REJECTED
        assert not (tmp_path / "new.txt").exists()


async def test_what_the_agent_does_without_asking_is_marked(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("unasked echo hello")
        assert tool_states(received) == RAN
        cause = runs(received)[0].cause
        assert cause is not None
        assert (cause.kind, cause.agent) == ("unasked", "fake")


async def test_a_call_that_begins_with_an_update_has_a_whole_chain(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("update_only")
        assert tool_states(received) == RAN
        assert results(received)[0].outputs is not None
        assert results(received)[0].outputs[0].text == "done"


async def test_a_call_that_the_agent_forgets_ends_with_the_turn(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("never_ends", "say done")
        assert tool_states(received)[-1] == "toolCalled"
        assert [result.error for result in results(received)] == [True]
        assert outcomes(received) == ["completed"]


async def test_the_same_id_in_two_sessions_is_two_calls(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        first = await talk.ask("unasked true")
        talk.host.outside_agents.close()
        second = await talk.ask("unasked true")
        ids = [runs(received)[0].id for received in (first, second)]
        assert len(set(ids)) == 2


async def test_a_hook_of_the_user_denies_a_call_of_the_agent(tmp_path: Path) -> None:
    hooks = {"guard": hook("preToolCall", says(approval="deny", additionalContext="Not in this house."))}
    async with talking(tmp_path, hooks=hooks) as talk:
        received = await talk.ask("opencode_write new.txt")
        assert tool_states(received) == REJECTED
        assert not (tmp_path / "new.txt").exists()


async def test_a_hook_that_changes_arguments_cannot_change_those_of_an_agents_call_which_is_refused(
    tmp_path: Path,
) -> None:
    hooks = {"changer": hook("preToolCall", says(updatedInput={"path": "other.txt"}))}
    async with talking(tmp_path, hooks=hooks) as talk:
        received = await talk.ask("opencode_write new.txt")
        assert [result.error for result in results(received)] == [True]
        assert not (tmp_path / "new.txt").exists()


@pytest.mark.parametrize(
    ("fields", "summary"),
    [
        ({"rawInput": {"command": "rm -rf precious"}}, "Running rm -rf precious"),
        ({"content": [{"type": "diff", "path": "a.txt", "oldText": None, "newText": "x"}]}, "Editing a.txt"),
    ],
)
async def test_a_rule_for_reading_lets_no_command_and_no_change_through(
    tmp_path: Path, fields: dict[str, Any], summary: str
) -> None:
    approval: dict[str, Any] = {"approval": {"allow": {"fake__read": {}}}}
    asked: list[ToolCallRunContent] = []

    def reject(call: ToolCallRunContent) -> CallDecision:
        asked.append(call)
        return CallDecision(False)

    async with talking(tmp_path, toolCall=approval) as talk:
        received = await talk.ask(f"kind_liar {json.dumps(fields)}", choose=reject)
        assert said(received) == "chose reject"
        assert [call.summary for call in asked] == [summary]
        assert said(await talk.ask("kind_liar {}", choose=reject)) == "chose once"
