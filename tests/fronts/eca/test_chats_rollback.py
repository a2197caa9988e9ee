"""Going back in a chat, as two clients see it: messages, files, or both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.fronts.eca.pair import both_show, two

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


async def test_rolling_back_messages_leaves_the_files(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        await plain.prompt("first")
        id = await plain.prompt("write a.txt one")
        assert await plain.ask("chat/rollback", contentId=id, include=["messages"]) == {}
        await both_show(plain, envelope, "> first", "You said first")
        assert (tmp_path / "a.txt").read_text() == "one"


async def test_rolling_back_tools_leaves_the_messages(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await plain.prompt("write a.txt one")
        await plain.ask("chat/rollback", contentId=id, include=["tools"])
        await both_show(plain, envelope, "> write a.txt one", "Done.", "# Deleted: a.txt, which the assistant had made")
        assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("include", [[], None, ["messages", "tools"]])
async def test_rolling_back_both_goes_to_before_the_first_of_the_turns(
    tmp_path: Path, include: list[str] | None
) -> None:
    (tmp_path / "a.txt").write_text("zero")
    async with two(tmp_path) as (_, plain, envelope):
        known = [{"type": "file", "path": "a.txt"}]
        await plain.prompt("hello")
        id = await plain.prompt("write a.txt one", contexts=known)
        await plain.prompt("write a.txt two")
        await plain.ask("chat/rollback", contentId=id, include=include)
        await both_show(plain, envelope, "> hello", "You said hello", "# Restored: a.txt")
        assert (tmp_path / "a.txt").read_text() == "zero"
        await plain.prompt("write a.txt three", contexts=known)
        assert (tmp_path / "a.txt").read_text() == "three"


async def test_a_file_the_user_changed_since_is_left_alone_and_told(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await plain.prompt("write a.txt one")
        (tmp_path / "a.txt").write_text("mine")
        await plain.ask("chat/rollback", contentId=id)
        await both_show(plain, envelope, "# Not restored: a.txt (it was changed since)")
        assert (tmp_path / "a.txt").read_text() == "mine"


async def test_what_cannot_be_taken_back_is_told(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        id = await plain.prompt("shell")
        await plain.ask("chat/rollback", contentId=id)
        await both_show(plain, envelope, "# Not taken back: what shell_command did.")


async def test_the_plan_after_a_rollback_is_that_of_what_remains(tmp_path: Path) -> None:
    async with two(tmp_path) as (table, plain, _):
        await plain.prompt("plan sow")
        id = await plain.prompt("plan reap")
        live = table.host.chats.get_live("chat")
        assert live is not None
        assert [task.subject for task in live.plan.tasks] == ["reap"]
        await plain.ask("chat/rollback", contentId=id)
        live = table.host.chats.get_live("chat")
        assert live is not None
        assert [task.subject for task in live.plan.tasks] == ["sow"]


async def test_a_rollback_to_words_that_steered_takes_back_their_whole_turn(tmp_path: Path) -> None:
    async with two(tmp_path) as (_, plain, envelope):
        plain.approves = False
        await plain.prompt("hello")
        await plain.ask("chat/prompt", message="write a.txt one")
        (call,) = await plain.until(plain.waiting)
        await plain.tell("chat/promptSteer", message="faster")
        await plain.tell("chat/toolCallApprove", toolCallId=call)
        await plain.until(lambda: len(plain.ends()) == 2)
        await plain.ask("chat/rollback", contentId=plain.message("faster"))
        await both_show(plain, envelope, "> hello", "You said hello", "# Deleted: a.txt, which the assistant had made")
