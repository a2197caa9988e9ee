"""More chats than a server can answer at the same time: who asks is told, and nothing is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from tests.support.host_and_client import answer, desk, said
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

RULES: list[dict[str, Any]] = [
    {"message": "ask", "reply": [{"tool": "write_file", "arguments": {"path": "a.txt", "content": "a"}}]},
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "", "reply": [{"text": "Hello."}]},
]


async def test_one_chat_too_many_is_refused_until_another_one_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("jupyter_eca.host.turn.turns.MAX_RUNNING", 1)
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as first:
        await first.result("chat/prompt", {"chatId": "one", "message": "ask"})
        call = await first.content("toolCallRun")
        client = await table.client()
        with pytest.raises(RemoteError, match="1 chats are being answered"):
            await answer(client, "Hello", chat="two")
        await first.tell("chat/toolCallReject", {"chatId": "one", "toolCallId": call["id"]})
        await first.finished("one")
        assert said(await answer(client, "Hello", chat="two")) == "Hello."
