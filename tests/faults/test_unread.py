"""A client that reads nothing of a real process, while much is shown to it."""

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
from tests.support.editor_process import PATIENCE, editor
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.nightly,
    pytest.mark.skipif(sys.platform == "win32", reason="it has no such command"),
]

MIB = 2**20
# The model calls the tool again after each result, so it is asked until the server ends.
AGAIN: dict[str, Any] = {
    "tool": "shell_command",
    "arguments": {"command": f"head -c {MIB} /dev/zero | tr '\\0' x; echo; echo ran >> marks"},
}


def write_settings(workspace: Path) -> None:
    (workspace / ".eca").mkdir(parents=True)
    approval: dict[str, Any] = {"approval": {"byDefault": "allow"}, "outputTruncation": {"sizeKb": 2_000}}
    rules = [{"result": "", "reply": [AGAIN]}, {"message": "", "reply": [AGAIN]}]
    (workspace / ".eca" / "config.json").write_text(json.dumps(settings(workspace.parent, rules, toolCall=approval)))


async def test_a_program_whose_client_does_not_read_ends_before_it_needs_much_memory(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    write_settings(workspace)
    async with editor(workspace, errors=subprocess.PIPE) as at:
        await at.initialize(workspace)
        process = psutil.Process(at.process.pid)
        before = highest = process.memory_info().rss
        await at.send(Request("ask", "chat/prompt", {"chatId": "c", "message": "go"}))
        ending = asyncio.ensure_future(at.process.wait())
        async with asyncio.timeout(10 * PATIENCE):
            while not ending.done():
                with suppress(psutil.Error):  # it has ended just now
                    highest = max(highest, process.memory_info().rss)
                await asyncio.wait([ending], timeout=0.1)
        assert ending.result() == 1
        assert at.process.stderr is not None
        errors = (await at.process.stderr.read()).decode()
        assert errors.count(send_limit.NOT_READING) == 1
        # What waits twice, as it is also written into messages, and the chat itself.
        assert highest - before < 6 * send_limit.MAX_CHARACTERS
    ran = (workspace / "marks").read_text().split()
    assert len(ran) * MIB > send_limit.MAX_CHARACTERS
    async with editor(workspace) as at:
        await at.initialize(workspace)
        opened = await at.request(2, "chat/open", {"chatId": "c"})
        assert opened["found"]
        shown = [message.params for message in at.heard if isinstance(message, Notification)]
        contents: list[dict[str, Any]] = [params["content"] for params in shown if "content" in params]
        outputs = [content["outputs"][0]["text"] for content in contents if content["type"] == "toolCalled"]
        assert len(ran) - len([output for output in outputs if output.count("x") == MIB]) <= 1
