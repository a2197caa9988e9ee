"""What a user is shown of a call before it runs and after, and whether they are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import MemoryClient

pytestmark = pytest.mark.asyncio

STORY: list[dict[str, Any]] = [
    {"result": "There is no tool", "reply": [{"text": "I cannot."}]},
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "write", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "two\n"}}]},
    {"message": "edit", "reply": [{"tool": "edit_file", "arguments": {"path": "a.txt", "original_content": "one",
                                                                      "new_content": "1"}}]},
    {"message": "run", "reply": [{"tool": "shell_command", "arguments": {"command": "echo hi && pwd > out"}}]},
    {"message": "plan", "reply": [{"tool": "task", "arguments": {"op": "plan", "tasks": ["look", "write"]}}]},
    {"message": "look", "reply": [{"tool": "directory_tree", "arguments": {"path": "."}}]},
]  # fmt: skip


async def asked(at: MemoryClient, message: str, **more: Any) -> dict[str, Any]:
    """The call that the model makes, once it is to run."""
    await at.result("chat/prompt", {"chatId": "c", "message": message, **more})
    return await at.content("toolCallRun")


async def test_a_change_is_shown_with_its_diff_before_it_is_made_and_after(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with seat(tmp_path, STORY) as (_, at):
        call = await asked(at, "write", contexts=[{"type": "file", "path": "a.txt"}])
        shown = call["details"]
        assert (shown["type"], shown["path"]) == ("fileChange", "a.txt")
        assert (shown["linesAdded"], shown["linesRemoved"]) == (1, 1)
        assert "-one\n+two\n" in shown["diff"]
        assert (tmp_path / "a.txt").read_text() == "one\n"
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"]})
        assert (await at.content("toolCalled"))["details"] == shown
        await at.finished()


async def test_a_command_is_shown_by_its_parts_and_what_may_be_remembered_of_them(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (_, at):
        call = await asked(at, "run")
        first, second = call["details"]["commands"]
        assert (call["details"]["type"], call["details"]["background"]) == ("shellCommand", False)
        assert (first["command"], first["args"], first["remembered"]) == ("echo", ["hi"], False)
        assert first["approvalKey"]
        assert second["command"] == "pwd"
        assert "approvalKey" not in second
        await at.tell("chat/toolCallReject", {"chatId": "c", "toolCallId": call["id"]})
        await at.finished()


async def test_a_plan_is_shown_by_its_tasks(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        await asked(at, "plan")
        details = (await at.content("toolCalled"))["details"]
        assert details["type"] == "task"
        assert [(one["subject"], one["status"]) for one in details["tasks"]] == [
            ("look", "pending"),
            ("write", "pending"),
        ]
        assert details["summary"] == {"done": 0, "inProgress": 0, "pending": 2, "total": 2}
        await at.finished()


async def test_the_rules_of_the_configuration_decide_whether_a_user_is_asked(tmp_path: Path) -> None:
    rules: dict[str, Any] = {
        "deny": {"edit_file": {}},
        "ask": {"write_file": {}},
        "allow": {"eca": {}},
        "byDefault": "deny",
    }
    async with seat(tmp_path, STORY, toolCall={"approval": rules}) as (_, at):
        assert not (await asked(at, "look"))["manualApproval"]
        await at.finished()
        assert await prompt(at, "edit") == "I cannot."
        call = await asked(at, "write")
        assert call["manualApproval"]
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": call["id"], "save": "session"})
        await at.finished()
        assert not (await asked(at, "write"))["manualApproval"]
        await at.finished()
