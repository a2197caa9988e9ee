"""The moment at which a tool begins: a stop may come before its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine import inputs
from tests.support.host_and_client import desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path


pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "a"}}]},
]


async def test_a_stop_right_after_an_approval_ends_the_turn_and_the_tool_does_not_run(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as client:
        await client.result("chat/prompt", {"chatId": "c", "message": "write"})
        call = await client.content("toolCallRun")
        chat = table.host.chats.get_live("c")
        assert chat is not None
        table.host.chats.feed(chat, inputs.Approved(1, call["id"]))
        table.host.chats.feed(chat, inputs.Stopped(2))
        assert (await client.content("toolCalled"))["error"]
        await client.finished("c")
    assert not (tmp_path / "a.txt").exists()
