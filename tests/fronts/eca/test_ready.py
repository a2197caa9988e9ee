"""`initialized` is when the server may begin to speak: before it, a client hears nothing but replies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.support.host_and_client import desk
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

ASK: list[dict[str, Any]] = [
    {"message": "ask", "reply": [{"tool": "ask_user", "arguments": {"question": "Which?"}}]},
    {"message": "", "reply": [{"text": "Hello"}]},
]
CAN = {"chat": True, "chatCapabilities": {"askQuestion": True}}
ALLOW = {"approval": {"byDefault": "allow"}}


async def test_a_client_is_sent_nothing_before_it_says_that_it_is_ready(tmp_path: Path) -> None:
    async with desk(tmp_path, ASK, toolCall=ALLOW) as table:
        early, at = connect(table), connect(table)
        await early.initialize(CAN)
        await at.initialize({"chat": True})
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.finished()
        await early.tell("initialized", {})
        await early.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
        assert early.methods[0] == "$/progress"
        assert not early.contents
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await early.finished()
        await early.close()
        await at.close()


async def test_a_client_is_asked_nothing_before_it_says_that_it_is_ready(tmp_path: Path) -> None:
    async with desk(tmp_path, ASK, toolCall=ALLOW) as table:
        early, at = connect(table), connect(table)
        await early.initialize(CAN)
        await at.initialize({"chat": True})
        await at.result("chat/prompt", {"chatId": "c", "message": "ask"})
        assert "There is no tool 'ask_user'" in (await at.content("toolCalled"))["outputs"][0]["text"]
        await at.finished()
        assert not [message for message in early.heard if isinstance(message, Request)]
        await early.close()
        await at.close()


async def test_a_client_that_asks_without_saying_so_is_ready(tmp_path: Path) -> None:
    async with desk(tmp_path, ASK) as table:
        at = connect(table)
        await at.initialize({"chat": True})
        await at.result("chat/prompt", {"chatId": "c", "message": "hi"})
        await at.content("text", text="Hello")
        await at.finished()
        await at.close()
