"""A client that reads nothing of a real process, while much is shown to it in many chats."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from jupyter_eca.protocol.jsonrpc import Notification, Request
from jupyter_eca.transport import send_limit
from tests.support.editor_process import PATIENCE, Editor, editor
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32", reason="it has no such command"),
]

MIB = 2**20
# Twice as many as are needed until too much waits.
CHATS = 2 * send_limit.MAX_CHARACTERS // MIB
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "go (?P<id>\\w+)", "reply": [{"tool": "shell_command", "arguments": {
        "command": f"head -c {MIB} /dev/zero | tr '\\0' x; echo; echo $id >> marks"}}]},
]  # fmt: skip


def write_settings(workspace: Path) -> None:
    (workspace / ".eca").mkdir(parents=True)
    approval: dict[str, Any] = {"approval": {"byDefault": "allow"}, "outputTruncation": {"sizeKb": 2_000}}
    (workspace / ".eca" / "config.json").write_text(json.dumps(settings(workspace.parent, RULES, toolCall=approval)))


async def ask_everywhere(at: Editor) -> None:
    """Ask in each chat, and read nothing of what is answered."""
    with suppress(ConnectionError):  # the program has ended by now
        for number in range(CHATS):
            params = {"chatId": f"c{number}", "message": f"go c{number}"}
            await at.send(Request(f"ask {number}", "chat/prompt", params))


async def list_outputs(at: Editor, chat: str) -> list[str]:
    """Open a chat, and return the outputs of its calls."""
    since = len(at.heard)
    assert (await at.request(len(at.heard) + 2, "chat/open", {"chatId": chat}))["found"]
    shown = [message.params for message in at.heard[since:] if isinstance(message, Notification)]
    contents: list[dict[str, Any]] = [params["content"] for params in shown if params.get("chatId") == chat]
    return [content["outputs"][0]["text"] for content in contents if content["type"] == "toolCalled"]


async def test_a_program_whose_client_does_not_read_ends_before_it_needs_much_memory(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    write_settings(workspace)
    async with editor(workspace, errors=subprocess.PIPE) as at:
        await at.initialize(workspace)
        process = psutil.Process(at.process.pid)
        before = highest = process.memory_info().rss
        asking = asyncio.ensure_future(ask_everywhere(at))
        ending = asyncio.ensure_future(at.process.wait())
        async with asyncio.timeout(10 * PATIENCE):
            while not ending.done():
                with suppress(psutil.Error):  # it has ended just now
                    highest = max(highest, process.memory_info().rss)
                await asyncio.wait([ending], timeout=0.1)
            await asking
        assert ending.result() == 1
        assert at.process.stderr is not None
        errors = (await at.process.stderr.read()).decode()
        assert errors.count(send_limit.NOT_READING) == 1
        # What waits twice, as it is also written into messages, and the chats themselves.
        assert highest - before < 6 * send_limit.MAX_CHARACTERS
    ran = (workspace / "marks").read_text().split()
    assert len(ran) == len(set(ran))
    async with editor(workspace) as at:
        await at.initialize(workspace)
        outputs = [await list_outputs(at, chat) for chat in ran]
    # Each call has one end. All that waited for the client is whole; calls that ran at the end were stopped.
    assert all(len(ends) == 1 for ends in outputs)
    whole = sum(text.count("x") == MIB for (text,) in outputs)
    assert (whole + 1) * MIB > send_limit.MAX_CHARACTERS
