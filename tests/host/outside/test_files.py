"""The files that an outside agent reads and writes: in the workspace, when allowed, and each can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.changes import ChangeExtent
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.transport.eca_client import CallDecision
from tests.host.outside.talking import talking
from tests.support.host_and_client import answer, said, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio

CHAT = ChangeExtent.CHAT


def yes(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(True)


@pytest.mark.parametrize("step", ["opencode_write a.txt", "qwen_edit a.txt", "claude_edit a.txt old new"])
async def test_an_edit_of_the_agent_is_listed_and_undone(tmp_path: Path, step: str) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask(step, choose=yes)
        assert (tmp_path / "a.txt").read_text() != "old\n"
        shown = said(await answer(talk.client, "/diff"), "system")
        assert "a.txt" in shown
        await answer(talk.client, "/undo")
        assert (tmp_path / "a.txt").read_text() == "old\n"


@pytest.mark.parametrize("step", ["opencode_write a.txt", "qwen_edit a.txt", "claude_edit a.txt old new"])
async def test_an_edit_that_the_user_has_approved_needs_no_second_decision(tmp_path: Path, step: str) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask(step, choose=yes)
        (change,) = await talk.host.changes.list("chat")
        assert change.settled
        await talk.ask("claude_edit a.txt new newer", "stray_write b.txt", choose=yes)
        assert all(change.settled for change in await talk.host.changes.list("chat"))


async def test_an_edit_that_a_rule_allows_is_left_to_the_user(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path, toolCall={"approval": {"allow": {"fake": {}}}}) as talk:
        await talk.ask("claude_edit a.txt old new")
        (change,) = await talk.host.changes.list("chat")
        assert (change.settled, change.made_although_refused) == (None, None)


async def test_what_the_card_did_not_show_is_left_to_the_user(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    (tmp_path / "b.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask("stubborn_edit a.txt old new quite-another", choose=yes)
        await talk.ask("claude_edit b.txt old new", "stray_write c.txt", "unasked echo more >> b.txt", choose=yes)
        changes = {change.path: change.settled for change in await talk.host.changes.list("chat", extent=CHAT)}
        assert changes == {"a.txt": None, "b.txt": None, "c.txt": True}


async def test_a_write_that_was_refused_and_made_all_the_same_is_marked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask("stubborn_edit a.txt old new", choose=lambda _: CallDecision(False))
        assert (tmp_path / "a.txt").read_text() == "new\n"
        (change,) = await talk.host.changes.list("chat")
        assert (change.settled, change.made_although_refused) == (None, True)
        shown = said(await answer(talk.client, "/diff"), "system")
        assert "made although it was refused" in shown
        await talk.ask("claude_edit a.txt new newer", choose=yes)
        (change,) = await talk.host.changes.list("chat")
        assert (change.settled, change.made_although_refused) == (True, None)


async def test_an_edit_that_is_approved_after_another_was_refused_is_not_marked(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    decisions = [CallDecision(False), CallDecision(True)]
    async with talking(tmp_path) as talk:
        await talk.ask("claude_edit a.txt old odd", "claude_edit a.txt old new", choose=lambda _: decisions.pop(0))
        (change,) = await talk.host.changes.list("chat")
        assert (change.settled, change.made_although_refused) == (True, None)


async def test_a_new_file_of_the_agent_is_removed_by_undo(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("opencode_write new.txt", choose=yes)
        await answer(talk.client, "/undo")
        assert not (tmp_path / "new.txt").exists()


async def test_a_file_that_the_user_has_changed_since_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    async with talking(tmp_path) as talk:
        await talk.ask("claude_edit a.txt old new", choose=yes)
        (tmp_path / "a.txt").write_text("mine\n")
        await answer(talk.client, "/undo")
        assert (tmp_path / "a.txt").read_text() == "mine\n"


async def test_a_file_that_no_call_has_named_is_asked_about(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        received = await talk.ask("stray_write b.txt", choose=yes)
        assert tool_states(received) == ["toolCallPrepare", "toolCallRun", "toolCallRunning", "toolCalled"]
        assert said(received) == "written"
        assert (tmp_path / "b.txt").read_text() == "stray\n"
        refused = await talk.ask("stray_write c.txt", choose=lambda _: CallDecision(False))
        assert said(refused) == "refused"
        assert not (tmp_path / "c.txt").exists()


async def test_what_is_not_the_approved_change_is_asked_about(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    asked: list[ToolCallRunContent] = []

    def first_only(call: ToolCallRunContent) -> CallDecision:
        asked.append(call)
        return CallDecision(len(asked) == 1)

    async with talking(tmp_path) as talk:
        received = await talk.ask("diff_liar a.txt", choose=first_only)
        assert said(received) == "refused"
        assert (tmp_path / "a.txt").read_text() == "old\n"
        shown = [call.details.diff for call in asked if isinstance(call.details, FileChangeDetails)]
        assert ["+good" in diff for diff in shown] == [True, False]
        assert "+evil" in shown[1]


async def test_a_path_outside_of_the_workspace_is_neither_read_nor_written(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    async with talking(folder) as talk:
        received = await talk.ask("read ../secret.txt", "read link.txt", "stray_write ../x.txt", choose=yes)
        assert said(received) == "refusedrefusedrefused"
        assert not (tmp_path / "x.txt").exists()


async def test_the_agent_reads_a_file_of_the_workspace(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    async with talking(tmp_path) as talk:
        assert said(await talk.ask("read a.txt")) == "alpha"


async def test_what_a_command_changes_makes_and_removes_is_listed_and_undone(tmp_path: Path) -> None:
    for name in ("a.txt", "b.txt", "same.txt"):
        (tmp_path / name).write_text(f"{name} as it was\n")
    async with talking(tmp_path) as talk:
        await talk.ask("codex_shell echo more >> a.txt; rm b.txt; echo made > c.txt", choose=yes)
        assert not (tmp_path / "b.txt").exists()
        shown = said(await answer(talk.client, "/diff"), "system")
        assert [name for name in ("a.txt", "b.txt", "c.txt", "same.txt") if name in shown] == [
            "a.txt",
            "b.txt",
            "c.txt",
        ]
        await answer(talk.client, "/undo")
        assert (tmp_path / "a.txt").read_text() == "a.txt as it was\n"
        assert (tmp_path / "b.txt").read_text() == "b.txt as it was\n"
        assert not (tmp_path / "c.txt").exists()
