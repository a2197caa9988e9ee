"""Hooks of sessions, of chats and of summaries."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.texts import SUMMARY
from jupyter_eca.host.hooks import runner
from tests.host.hooks.written import KEEPS, given, hook, says
from tests.requirements.eca.seat import prompt, seat, words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# About a thousand tokens of four characters.
PAGE = "All work and no play. " * 180
STORY: list[dict[str, Any]] = [
    {"message": "about to exceed your context window", "reply": [{"text": "They read pages."}]},
    {"message": "read", "reply": [{"tool": "read_file", "arguments": {"path": "a.txt"}}]},
    {"message": "", "reply": [{"text": "Read."}]},
    {"result": "", "reply": [{"text": "Done."}]},
]


def small(folder: Path, window: int) -> None:
    """The script's model has a window of so many tokens."""
    script = folder / "script.json"
    script.write_text(json.dumps({**json.loads(script.read_text()), "window": window}))


def kinds(folder: Path) -> list[str]:
    return [one["hook_type"] for one in given(folder)]


async def test_a_session_and_a_chat_have_a_beginning_and_an_end(tmp_path: Path) -> None:
    moments = ("sessionStart", "sessionEnd", "chatStart", "chatEnd")
    hooks = {kind: hook(kind, KEEPS) for kind in moments}
    async with seat(tmp_path, STORY, hooks=hooks) as (_, at):
        await prompt(at, "Hello")
        await at.result("chat/delete", {"chatId": "c"})
    ran = kinds(tmp_path)
    # The first chat does not wait for the programs that run when a session starts.
    assert (set(ran[:2]), ran[2:]) == ({"sessionStart", "chatStart"}, ["chatEnd", "sessionEnd"])
    of = {one["hook_type"]: one for one in given(tmp_path)}
    assert (of["chatEnd"]["chat_id"], of["chatEnd"]["agent"], "chat_id" in of["sessionStart"]) == ("c", "code", False)


async def test_the_status_of_a_chat_is_told_once_each_time_it_changes(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("alpha")
    hooks = {"status": hook("chatStatusChanged", KEEPS)}
    async with seat(tmp_path, STORY, hooks=hooks) as (_, at):
        await at.result("chat/prompt", {"chatId": "c", "message": "read"})
        asks = await at.content("toolCallRun", manualApproval=True)
        await at.tell("chat/toolCallApprove", {"chatId": "c", "toolCallId": asks["id"]})
        await at.finished()
    seen = [(one["status"], len(one["pending_approvals"]), len(one["running_tool_calls"])) for one in given(tmp_path)]
    assert seen == [("running", 0, 0), ("running", 1, 0), ("running", 0, 1), ("running", 0, 0), ("idle", 0, 0)]


async def test_the_end_of_the_server_waits_for_no_hook_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "END_SECONDS", 0.2)
    before = time.monotonic()
    async with seat(tmp_path, STORY, hooks={"end": hook("sessionEnd", "sleep 60")}):
        pass
    assert time.monotonic() - before < 5


# -- summaries


async def test_a_hook_can_keep_a_conversation_whole_and_add_to_what_is_left_of_it(tmp_path: Path) -> None:
    line = f"{KEEPS}; test -e keep && exit 2; exit 0"
    hooks = {
        "pre": hook("preCompact", line),
        "post": hook("postCompact", f"{KEEPS}; {says(additionalContext='The goal is fun.')}", matcher="manual"),
        "never": hook("postCompact", "touch never", matcher="auto"),
    }
    async with seat(tmp_path, STORY, hooks=hooks) as (table, at):
        await prompt(at, "Hello")
        (tmp_path / "keep").touch()
        await prompt(at, "/compact")
        assert "Compaction blocked by hook 'pre'." in words(at, role="system")
        assert (await table.host.turns.draft("c")).messages[0].text == "Hello"

        (tmp_path / "keep").unlink()
        await prompt(at, "/compact the names")
        wrapped = '\n\n<additionalContext from="post">\nThe goal is fun.\n</additionalContext>'
        assert (await table.host.turns.draft("c")).messages[0].text.startswith(f"{SUMMARY}They read pages.{wrapped}")
        seen = [
            (one["triggered"], one.get("custom_instructions"), one.get("compact_summary")) for one in given(tmp_path)
        ]
        assert seen == [("manual", "", None), ("manual", "the names", None), ("manual", None, "They read pages.")]
        assert not (tmp_path / "never").exists()


async def test_a_summary_that_was_due_is_done_without_when_a_hook_blocks_it(tmp_path: Path) -> None:
    hooks = {"pre": hook("preCompact", f"{KEEPS}; exit 2", matcher="auto")}
    async with seat(tmp_path, STORY, hooks=hooks) as (table, at):
        small(tmp_path, 3_800)
        for _ in range(3):
            assert await prompt(at, PAGE) == "Read."
        assert await prompt(at, "What now?") == "Read."
        assert [one["triggered"] for one in given(tmp_path)] == ["auto"]
        assert (await table.host.turns.draft("c")).messages[0].text == PAGE


@pytest.mark.parametrize(("type", "left"), [("preCompact", PAGE), ("postCompact", SUMMARY)])
async def test_a_stop_around_a_summary_ends_the_turn(tmp_path: Path, type: str, left: str) -> None:
    """Behind it, the summary stays."""
    hooks = {"h": hook(type, says(**{"continue": False, "stopReason": "Enough"}))}
    async with seat(tmp_path, STORY, hooks=hooks) as (table, at):
        small(tmp_path, 3_800)
        for _ in range(3):
            await prompt(at, PAGE)
        assert await prompt(at, "What now?") == ""
        assert "Turn stopped by hook 'h': Enough" in words(at, role="system")
        assert (await table.host.turns.draft("c")).messages[0].text.startswith(left)
