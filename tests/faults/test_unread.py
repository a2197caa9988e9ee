"""A client that reads nothing of a real process, while much is shown to it in many chats."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

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

SIZE = 10_000
# Thoughts and texts in turn, so that no two are joined: a million characters in all.
PIECES = [piece for _ in range(50) for piece in ({"reasoning": "t" * SIZE}, {"text": "w" * SIZE})]
WHOLE = 50 * SIZE
# Twice as many as are needed until too much waits.
CHATS = send_limit.MAX_CHARACTERS // WHOLE


def write_settings(workspace: Path) -> None:
    (workspace / ".eca").mkdir(parents=True)
    rules = [{"message": "", "reply": PIECES}]
    (workspace / ".eca" / "config.json").write_text(json.dumps(settings(workspace.parent, rules)))


async def ask_everywhere(at: Editor) -> None:
    """Ask in each chat, and read nothing of what is answered."""
    with suppress(ConnectionError):  # the program has ended by now
        for number in range(CHATS):
            await at.send(Request(f"ask {number}", "chat/prompt", {"chatId": f"c{number}", "message": "go"}))


async def count_written(at: Editor, id: int) -> int:
    """Open a chat, and return how many characters of its answer are there; 0 when there is no such chat."""
    since, chat = len(at.heard), f"c{id}"
    if not (await at.request(id + 2, "chat/open", {"chatId": chat}))["found"]:
        return 0
    shown = [message.params for message in at.heard[since:] if isinstance(message, Notification)]
    texts = [params["content"].get("text", "") for params in shown if params.get("role") == "assistant"]
    return sum(text.count("w") for text in texts)


async def test_a_program_whose_client_does_not_read_ends_before_it_needs_much_memory(tmp_path: Path) -> None:
    workspace = tmp_path / "ws"
    write_settings(workspace)
    async with editor(workspace, errors=subprocess.PIPE) as at:
        await at.initialize(workspace)
        process = psutil.Process(at.process.pid)
        before = highest = process.memory_info().rss
        asking = asyncio.ensure_future(ask_everywhere(at))
        async with asyncio.timeout(3 * PATIENCE):
            # `wait` of asyncio would also wait for the end of stdout, which is not read.
            while at.process.returncode is None:
                with suppress(psutil.Error):  # it has ended just now
                    highest = max(highest, process.memory_info().rss)
                await asyncio.sleep(0.1)
            await asking
        assert at.process.returncode == 1
        assert at.process.stderr is not None
        errors = (await at.process.stderr.read()).decode()
        assert errors.count(send_limit.NOT_READING) == 1
        # What waits twice, as it is also written into messages, and the chats themselves.
        assert highest - before < 6 * send_limit.MAX_CHARACTERS
    async with editor(workspace) as at:
        await at.initialize(workspace)
        written = [await count_written(at, number) for number in range(CHATS)]
    # All that waited for the client is stored. Answers that were under way at the end are cut.
    assert max(written) == WHOLE
    assert 2 * sum(written) > send_limit.MAX_CHARACTERS - CHATS * SIZE
