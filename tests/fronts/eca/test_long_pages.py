"""A long chat that is read page by page, through the front."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.requirements.eca.seat import TODAY, prompt, seat

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# Each answer is stored in pieces, as they come.
RULES: list[dict[str, Any]] = [
    {"message": "", "reply": [{"text": "One two three. {message}", "chunk": 5, "delay": 0.01}]}
]


async def test_pages_that_are_read_one_after_the_other_are_the_whole_chat(tmp_path: Path) -> None:
    async with seat(tmp_path, RULES, {**TODAY, "envelope": True}) as (table, at):
        for n in range(4):
            await prompt(at, f"Question {n}")
        whole = (await at.result("chat/history", {"chatId": "c"}))["contents"]
        said: list[dict[str, Any]] = []
        before: dict[str, Any] = {}
        while True:
            table.host.chats.forget("c")
            page = await at.result("chat/history", {"chatId": "c", "limit": 3, **before})
            assert page["contents"][0]["content"]["text"].startswith("Question"), "a page begins with a turn"
            assert table.host.chats.get_live("c") is None, "a chat is not brought to memory to be read"
            said = page["contents"] + said
            if (cursor := page["meta"].get("beforeCursor")) is None:
                break
            before = {"before": cursor}
        assert said == whole


async def test_a_chat_that_is_opened_in_part_tells_where_there_is_more_and_what_it_is_run_with(tmp_path: Path) -> None:
    async with seat(tmp_path, RULES, {**TODAY, "envelope": True}) as (table, at):
        for n in range(3):
            await prompt(at, f"Question {n}", agent="plan")
        table.host.chats.forget("c")
        opened = await at.result("chat/open", {"chatId": "c", "limit": 2})
        assert (opened["selection"]["agent"], "beforeCursor" in opened["meta"]) == ("plan", True)
        assert (await prompt(at, "Question 3")).startswith("One two three. Question 3")
