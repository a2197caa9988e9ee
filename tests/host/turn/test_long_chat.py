"""A conversation that outgrows its model, through the host: with a model that refuses what is too long for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.chat.export import format_chat
from jupyter_eca.engine.model.texts import SUMMARY
from tests.requirements.eca.seat import ALLOW_ALL, prompt, seat, words

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# About a thousand tokens of four characters.
PAGE = "All work and no play. " * 180

STORY: list[dict[str, Any]] = [
    {"message": "about to exceed your context window", "reply": [{"text": "They read pages."}]},
    {"result": "", "reply": [{"text": "Looked."}]},
    {"message": "look$", "times": 1, "reply": [{"tool": "read_file", "arguments": {"path": "big.txt"}}]},
    {"message": "", "reply": [{"text": "Read."}]},
]


def small(folder: Path, window: int) -> None:
    """The script's model has a window of so many tokens."""
    script = folder / "script.json"
    script.write_text(json.dumps({**json.loads(script.read_text()), "window": window}))


async def test_a_chat_goes_on_with_a_summary_and_all_of_it_stays_to_be_read(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (table, at):
        small(tmp_path, 3_800)
        for _ in range(3):
            assert await prompt(at, PAGE) == "Read."
        assert await prompt(at, "What did we do?") == "Read."
        asked = (await table.host.chats.load("c")).state.history[0].text
        assert asked == f"{SUMMARY}They read pages.What did we do?"
        assert "it goes on with a summary of what is above" in words(at, role="system")

        whole = await at.result("chat/history", {"chatId": "c"})
        assert [one["role"] for one in whole["contents"] if one["content"].get("contentId")] == ["user"] * 4
        since = await at.result("chat/history", {"chatId": "c", "after": "lastCompaction"})
        assert whole["meta"]["compactionCursor"] == since["meta"]["compactionCursor"]
        assert [one["content"]["text"] for one in since["contents"] if one["content"]["type"] == "text"] == ["Read."]
        assert format_chat("Chat", await table.host.chats.read_events("c")).count("All work and no play.") >= 540


async def test_going_back_to_before_a_summary_brings_the_conversation_back(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (table, at):
        small(tmp_path, 3_800)
        for _ in range(3):
            await prompt(at, PAGE)
        before = (await table.host.chats.load("c")).state.history
        await prompt(at, "What did we do?")
        assert (await table.host.chats.load("c")).state.history != before
        contents = (await at.result("chat/history", {"chatId": "c"}))["contents"]
        ids = [one["content"]["contentId"] for one in contents if one["content"].get("contentId")]
        await at.result("chat/rollback", {"chatId": "c", "contentId": ids[-1], "include": ["messages"]})
        assert (await table.host.chats.load("c")).state.history == before


async def test_a_result_that_is_too_long_for_the_model_does_not_end_the_turn(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text(PAGE * 4)
    async with seat(tmp_path, STORY, toolCall=ALLOW_ALL) as (_, at):
        small(tmp_path, 2_000)
        assert await prompt(at, "look") == "Read."
        assert "it goes on with a summary" in words(at, role="system")


async def test_compact_makes_a_summary_now(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY) as (table, at):
        await prompt(at, "Hello")
        assert await prompt(at, "/compact the names") == ""
        assert "it goes on with a summary" in words(at, role="system")
        await prompt(at, "And?")
        assert (await table.host.chats.load("c")).state.history[0].text == f"{SUMMARY}They read pages.And?"


async def test_with_a_percentage_of_0_nothing_is_summarised_until_it_must_be(tmp_path: Path) -> None:
    async with seat(tmp_path, STORY, autoCompactPercentage=0) as (_, at):
        small(tmp_path, 2_100)
        await prompt(at, PAGE)
        assert await prompt(at, PAGE) == "Read."
        assert "it goes on with a summary" not in words(at, role="system")
        assert await prompt(at, "More") == "Read."
