"""Two clients decide about the same call: the first answer counts, and the client of the late one is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.support.host_and_client import desk
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.jsonrpc import Message

pytestmark = pytest.mark.asyncio

READ: dict[str, Any] = {"tool": "read_file", "arguments": {"path": "a.txt"}}
# The second call stays undecided, so that the turn does not end.
STORY: list[dict[str, Any]] = [{"message": "read", "reply": [READ, READ]}]


async def hear_warning(client: MemoryClient) -> str:
    def is_warning(message: Message) -> bool:
        return isinstance(message, Notification) and message.method == "$/showMessage"

    warning = await client.until(is_warning)
    assert isinstance(warning, Notification)
    return str(warning.params["message"])


@pytest.mark.parametrize(
    ("first", "end", "late", "words"),
    [
        ("Approve", "toolCalled", "Reject", "Your rejection came too late: the call was approved before it."),
        ("Reject", "toolCallRejected", "Approve", "Your approval came too late: the call was rejected or stopped"),
    ],
)
async def test_whoever_decides_too_late_and_otherwise_is_told(
    tmp_path: Path, first: str, end: str, late: str, words: str
) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    async with desk(tmp_path, STORY) as table:
        one, other = connect(table), connect(table)
        await one.initialize()
        await other.initialize()
        await one.result("chat/prompt", {"chatId": "c", "message": "read"})
        id = (await one.content("toolCallRun", "c"))["id"]
        await one.tell(f"chat/toolCall{first}", {"chatId": "c", "toolCallId": id})
        await one.content(end, "c", id=id)
        await other.tell(f"chat/toolCall{late}", {"chatId": "c", "toolCallId": id})
        assert (await hear_warning(other)).startswith(words)
        await one.tell("chat/promptStop", {"chatId": "c"})
        await one.finished("c")
        assert not any("too late" in str(message) for message in one.heard)
        await one.close()
        await other.close()
