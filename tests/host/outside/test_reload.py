"""After a reload of the page, the usage and the plan of an outside agent are there again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.host.outside.talking import talking
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

    from tests.host.outside.talking import Talking

pytestmark = pytest.mark.asyncio


async def reload(talk: Talking, **page: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The answer to a page that opens the chat, and the contents that it gets."""
    at = connect(talk.table)
    await at.initialize({"chat": True, "envelope": True})
    opened = await at.result("chat/open", {"chatId": "chat", **page})
    contents = [params["content"] for params in at.params("chat/contentReceived")]
    await at.close()
    return opened, contents


async def test_the_whole_chat_is_replayed_with_its_usage_and_its_plan(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("plan", "usage USD")
        opened, contents = await reload(talk)
        assert [content["sessionCost"] for content in contents if content["type"] == "usage"] == ["0.2500"]
        plans = [content["details"] for content in contents if content["type"] == "toolCalled"]
        assert [task["subject"] for task in plans[0]["tasks"]] == ["Load", "Draw", "Save"]
        assert "usage" not in opened


async def test_the_newest_page_of_a_long_chat_comes_with_the_usage_and_the_plan_before_it(tmp_path: Path) -> None:
    async with talking(tmp_path) as talk:
        await talk.ask("plan", "usage USD")
        await talk.ask('say "type":"usage" "type":"task"')
        await talk.ask("say Hello")
        opened, contents = await reload(talk, limit=1)
        assert [content["type"] for content in contents if content["type"] in {"usage", "toolCalled"}] == []
        assert opened["usage"]["sessionCost"] == "0.2500"
        assert opened["usage"]["agent"] == "fake"
        assert [task["subject"] for task in opened["tasks"]["tasks"]] == ["Load", "Draw", "Save"]
