"""A program that is killed in the middle of a turn: `python -m tests.host.turn.killed FOLDER MOMENT`. `test_killed.py`
runs it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.chat import ChatPromptParams, ChatPromptResult
from jupyter_eca.protocol.content import ToolCallRejectedContent, ToolCallRunContent, ToolCallRunningContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import desk

if TYPE_CHECKING:
    from jupyter_eca.transport.eca_client import EcaClient

CALLS: list[dict[str, Any]] = [
    {"tool": "shell_command", "arguments": {"command": "sleep 3; exit 3"}},
    {"tool": "write_file", "arguments": {"path": "it.txt", "content": "new\n"}},
    {"tool": "read_file", "arguments": {"path": "it.txt"}},
]
RULES: list[dict[str, Any]] = [{"result": "", "reply": [{"text": "Done."}]}, {"message": "", "reply": CALLS}]


async def wait_for(client: EcaClient, moment: str) -> None:
    """Return at the moment. The last call is approved first."""
    async for item in client.ask("chat", "my words"):
        content = item.content
        if isinstance(content, ToolCallRunContent) and content.manual_approval:
            match moment, content.name:
                case "waiting", "read_file":
                    return
                case _, "shell_command" if moment == "rejected":
                    await client.decide("chat", content.id, CallDecision(approved=False))
                case _, "shell_command" if moment != "running":
                    pass
                case _:
                    await client.decide("chat", content.id, CallDecision(approved=True))
        if moment == "rejected" and isinstance(content, ToolCallRejectedContent):
            return
        if moment == "running" and isinstance(content, ToolCallRunningContent):
            return
        is_queued = isinstance(content, ToolCallRunContent) and content.waits_for and not content.manual_approval
        if moment == "queued" and is_queued:
            return


async def main(folder: Path, moment: str) -> None:
    async with desk(folder, RULES) as table:
        client = await table.client()
        if moment == "reply":
            await client.request("chat/prompt", ChatPromptParams(chat_id="chat", message="my words"), ChatPromptResult)
        else:
            await wait_for(client, moment)
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
