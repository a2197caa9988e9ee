"""A configuration that is changed while the server runs."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Message, Notification
from tests.support.editor_process import Editor, editor
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "here"}]}]


def configured(folder: Path, text: str) -> None:
    (folder / ".eca").mkdir(exist_ok=True)
    (folder / ".eca" / "config.json").write_text(text)


async def told(at: Editor, method: str) -> Any:
    def wanted(message: Message) -> bool:
        return isinstance(message, Notification) and message.method == method

    message = await at.until(wanted)
    assert isinstance(message, Notification)
    return message.params


async def test_a_changed_configuration_holds_without_a_restart_and_a_broken_one_is_told(tmp_path: Path) -> None:
    first = settings(tmp_path, RULES, welcomeMessage="One")
    configured(tmp_path, json.dumps(first))
    async with editor(tmp_path) as at, asyncio.timeout(60):
        await at.initialize(tmp_path)
        assert (await told(at, "config/updated"))["chat"]["welcomeMessage"] == "One"
        configured(tmp_path, json.dumps({**first, "welcomeMessage": "Two"}))
        assert (await told(at, "config/updated"))["chat"]["welcomeMessage"] == "Two"
        configured(tmp_path, "{ this is no JSON")
        shown = await told(at, "$/showMessage")
        assert (shown["type"], "config.json" in shown["message"]) == ("error", True)
        await at.request(2, "chat/prompt", {"chatId": "c", "message": "hello"})
        await at.content("progress", state="finished")
        assert at.said() == "here"
