"""Hooks around a tool call: before anybody is asked about it, and before the model reads what came of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.turn import direct_calls
from jupyter_eca.protocol.content import HookActionFinishedContent, ToolCalledContent, ToolCallRejectedContent
from jupyter_eca.protocol.event import Outcome
from jupyter_eca.protocol.notebook import KernelExecuteResult, RunStatus
from tests.host.hooks.written import KEEPS, blocks, given, hook, says
from tests.requirements.eca.seat import prompt, seat, words
from tests.support.host_and_client import Notebook, answer, desk

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

READS: list[dict[str, Any]] = [
    {"message": "twice", "reply": [{"tool": "read_file", "arguments": {"path": path}} for path in ("a.txt", "b.txt")]},
    {"message": "gone", "reply": [{"tool": "read_file", "arguments": {"path": "gone.txt"}}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "new.txt", "content": "x"}}]},
    {"message": "read", "reply": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]},
    {"result": "", "reply": [{"text": "[{result}]"}]},
    {"message": "", "reply": [{"text": "Yes."}]},
]
RUNNING: dict[str, Any] = {"approval": {"allow": {"run_code": {}}}}
READING: dict[str, Any] = {"approval": {"allow": {"read_file": {}}}}
STOP = {"continue": False, "stopReason": "Enough"}


@pytest.fixture(autouse=True)
def files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    (tmp_path / "b.txt").write_text("beta")


@dataclass
class Interruptible(Notebook):
    """A kernel whose code ends with the status that is set."""

    status: RunStatus = RunStatus.OK

    async def execute(self, code: str) -> KernelExecuteResult:
        return (await super().execute(code)).model_copy(update={"status": self.status})


def calls(at: MemoryClient) -> list[dict[str, Any]]:
    """What was shown of calls, without what only prepares them."""
    contents = [params["content"] for params in at.params("chat/contentReceived")]
    return [one for one in contents if one["type"].startswith("toolCall") and one["type"] != "toolCallPrepare"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("echo Not that file. >&2; exit 2", "Not that file."),
        (says(approval="deny", additionalContext="Not that file."), "Not that file."),
        (says(approval="deny"), "The hook 'no' gave no reason."),
    ],
)
async def test_a_call_that_a_hook_denies_does_not_run_and_the_model_is_told_why(
    tmp_path: Path, line: str, why: str
) -> None:
    hooks = {"no": hook("preToolCall", line, matcher="eca__read_.*")}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (_, at):
        answer = await prompt(at, "read")
        assert answer == f"[A hook of the user's forbids this call. It did not run; nothing was changed. {why}]"
        assert [one["type"] for one in calls(at)] == ["toolCallRun", "toolCallRejected"]
        assert calls(at)[-1]["reason"] == "hookRejected"


async def test_a_hook_is_told_of_the_call_and_of_what_the_rules_say(tmp_path: Path) -> None:
    hooks = {"log": hook("preToolCall", KEEPS)}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (_, at):
        await prompt(at, "read")
        await at.result("chat/prompt", {"chatId": "c", "message": "write"})
        asks = await at.content("toolCallRun", manualApproval=True)
        await at.tell("chat/toolCallReject", {"chatId": "c", "toolCallId": asks["id"]})
        await at.finished()
        names = ("server", "tool_name", "tool_input", "approval")
        assert [tuple(one[name] for name in names) for one in given(tmp_path)] == [
            ("eca", "read_file", {"path": "a.txt"}, "allow"),
            ("eca", "write_file", {"path": "new.txt", "content": "x"}, "ask"),
        ]
        assert [one["toolCallId"] for one in blocks(at)] == [one["tool_call_id"] for one in given(tmp_path)]


async def test_what_a_hook_changes_is_what_is_shown_asked_about_and_run(tmp_path: Path) -> None:
    """Also what the next hook judges."""
    hooks = {
        "a": hook("preToolCall", says(updatedInput={"path": "b.txt"}), matcher={"write_file": {}}),
        "b": hook("preToolCall", KEEPS),
    }
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (_, at):
        known = [{"type": "file", "path": "b.txt"}]
        await at.result("chat/prompt", {"chatId": "c", "message": "write", "contexts": known})
        asks = await at.content("toolCallRun", manualApproval=True)
        assert asks["arguments"] == {"path": "b.txt", "content": "x"}
        assert asks["details"]["path"].endswith("b.txt")
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": asks["id"]})
        await at.finished()
        assert (tmp_path / "b.txt").read_text() == "x"
        assert not (tmp_path / "new.txt").exists()
        assert [one["tool_input"]["path"] for one in given(tmp_path)] == ["b.txt"]


async def test_a_hook_can_have_the_user_asked_about_what_the_rules_allow(tmp_path: Path) -> None:
    hooks = {"ask": hook("preToolCall", says(approval="ask"))}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "read", "trust": True})
        asks = await at.content("toolCallRun", manualApproval=True)
        await at.tell("chat/toolCallReject", {"chatId": "c", "toolCallId": asks["id"]})
        await at.finished()


@pytest.mark.parametrize(("rule", "last"), [("ask", "toolCallRun"), ("deny", "toolCallRejected")])
async def test_a_hook_cannot_allow_what_the_rules_do_not(tmp_path: Path, rule: str, last: str) -> None:
    hooks = {"yes": hook("preToolCall", says(approval="allow"))}
    rules = {"approval": {rule: {"read_file": {"argsMatchers": {"path": [".*"]}}}}}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=rules) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "read"})
        await at.content(last)
        assert "toolCallRunning" not in at.contents


async def test_a_hook_that_stops_the_turn_before_a_call_leaves_none_to_run(tmp_path: Path) -> None:
    hooks = {"no": hook("preToolCall", says(**STOP))}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (table, at):
        assert await prompt(at, "twice") == ""
        assert "Turn stopped by hook 'no': Enough" in words(at, role="system")
        assert [one["type"] for one in calls(at)] == ["toolCallRejected"] * 2
        assert "Enough" not in str((await table.host.turns.draft("c")).messages)
        assert await prompt(at, "hello") == "Yes."


@pytest.mark.parametrize(
    ("line", "read"),
    [
        (says(replacedOutput="[REDACTED]"), "[REDACTED]"),
        (says(replacedOutput=""), ""),
        ("echo Hidden. >&2; exit 2", "Hidden."),
        ("exit 2", "[Tool output hidden by hook]"),
        (says(additionalContext="Old."), 'alpha\n\n<additionalContext from="h">\nOld.\n</additionalContext>'),
        ("echo plain words", "alpha"),
        ("exit 1", "alpha"),
    ],
)
async def test_what_the_model_reads_of_a_call_is_what_hooks_leave_of_it(tmp_path: Path, line: str, read: str) -> None:
    async with seat(tmp_path, READS, hooks={"h": hook("postToolCall", line)}, toolCall=READING) as (_, at):
        assert await prompt(at, "read") == f"[{read}]"
        assert calls(at)[-1]["outputs"][0]["text"] == read


@pytest.mark.parametrize(("more", "ran"), [({}, 0), ({"runOnError": True}, 1)])
async def test_only_a_hook_that_wants_to_hears_of_a_call_that_failed(
    tmp_path: Path, more: dict[str, Any], ran: int
) -> None:
    async with seat(tmp_path, READS, hooks={"h": hook("postToolCall", KEEPS, **more)}, toolCall=READING) as (_, at):
        await prompt(at, "gone")
        assert [(one["error"], "gone.txt" in one["tool_response"]) for one in given(tmp_path)] == [(True, True)] * ran


async def test_a_stop_behind_a_call_ends_that_turn_and_not_the_next(tmp_path: Path) -> None:
    line = f"grep -q alpha && {says(**STOP)}; exit 0"
    async with seat(tmp_path, READS, hooks={"h": hook("postToolCall", line)}, toolCall=READING) as (_, at):
        assert await prompt(at, "read") == ""
        assert "Turn stopped by hook 'h': Enough" in words(at, role="system")
        assert [one["type"] for one in calls(at)] == ["toolCallRun", "toolCallRunning", "toolCalled"]
        (tmp_path / "a.txt").write_text("omega")
        assert await prompt(at, "read") == "[omega]"
        assert await prompt(at, "hello") == "Yes."


async def test_a_stop_behind_one_of_two_calls_ends_the_turn_with_an_end_for_both(tmp_path: Path) -> None:
    line = f"grep -q alpha && {says(**STOP)}; exit 0"
    async with seat(tmp_path, READS, hooks={"h": hook("postToolCall", line)}, toolCall=READING) as (_, at):
        assert await prompt(at, "twice") == ""
        assert [one["type"] for one in calls(at)].count("toolCalled") == 2
        assert await prompt(at, "hello") == "Yes."


RUNS: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "[{result}]"}]},
    {"message": "", "reply": [{"tool": "run_code", "arguments": {"code": "work()"}}]},
]


@pytest.mark.parametrize("by_hand", [True, False], ids=["the code is interrupted", "the turn is stopped"])
async def test_no_hook_hears_of_code_that_the_user_stops(tmp_path: Path, by_hand: bool) -> None:
    """Not even a hook that wants to hear of calls that fail."""
    release = asyncio.Event()
    kernel = Interruptible(hold=release)
    config: dict[str, Any] = {"hooks": {"h": hook("postToolCall", KEEPS, runOnError=True)}, "toolCall": RUNNING}
    async with desk(tmp_path, RUNS, **config) as table:
        client = await table.client(kernel)
        turn = asyncio.ensure_future(answer(client, "go"))
        await kernel.started.wait()
        if by_hand:
            kernel.status = RunStatus.INTERRUPTED
            release.set()
        else:
            await client.stop("chat")
        received = await turn
        assert [one.outcome for one in received if one.outcome] == [Outcome.STOPPED]
        assert any(isinstance(one.content, ToolCalledContent) for one in received)
        # The hook hears of code that fails by itself.
        kernel.status = RunStatus.ERROR
        release.set()
        await answer(client, "go")
        assert [one["tool_response"] for one in given(tmp_path)] == ["ran work()"]


async def test_a_call_from_outside_has_to_pass_the_same_hooks(tmp_path: Path) -> None:
    line = f"grep -q alpha.txt && exit 2; {says(updatedInput={'path': 'b.txt'})}"
    hooks = {"h": hook("preToolCall", line)}
    async with seat(tmp_path, READS, hooks=hooks, toolCall=READING) as (table, _):
        tool = table.host.toolbox.get("read_file")
        assert tool is not None
        for path in ("alpha.txt", "a.txt"):
            chat = await table.host.direct_calls.call(
                direct_calls.DirectCall("o", tool, {"path": path}, "A program asks")
            )
            await asyncio.gather(*chat.tasks.values())
        contents = [event.content for event in await table.host.chats.read_events("o")]
        ended = [one for one in contents if isinstance(one, ToolCallRejectedContent | ToolCalledContent)]
        assert [one.type for one in ended] == ["toolCallRejected", "toolCalled"]
        assert isinstance(ended[1], ToolCalledContent)
        assert "beta" in ended[1].outputs[0].text
        assert [one.status for one in contents if isinstance(one, HookActionFinishedContent)] == [2, 0]
