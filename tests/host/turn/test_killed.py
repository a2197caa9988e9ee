"""After a kill in the middle of a turn its prompt is stored, and each of its calls has an end."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.content import (
    TextContent,
    ToolCallContent,
    ToolCalledContent,
    ToolCallRejectedContent,
)
from tests.host.turn.killed import RULES
from tests.support.host_and_client import answer, desk, outcomes, said
from tests.support.samples import sample
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio


@pytest.mark.parametrize("moment", sample(["reply", "waiting", "running", "queued", "rejected"], every=2))
async def test_after_a_kill_the_prompt_is_there_and_each_call_has_one_end(tmp_path: Path, moment: str) -> None:
    command = [sys.executable, "-m", "tests.host.turn.killed", str(tmp_path), moment]
    done = await asyncio.to_thread(subprocess.run, command, check=False, timeout=PATIENCE * 3, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    async with desk(tmp_path, [{"message": "", "reply": [{"text": "Hello."}]}, *RULES]) as table:
        client = await table.client()
        received = await answer(client, "next")
        assert outcomes(received) == ["completed"], said(received, "system")
        events = await table.host.chats.read_events("chat")
    prompts = [
        event.content.text for event in events if event.role == "user" and isinstance(event.content, TextContent)
    ]
    assert prompts == ["my words", "next"]
    calls = {event.content.id for event in events if isinstance(event.content, ToolCallContent)}
    ended = Counter(
        event.content.id for event in events if isinstance(event.content, ToolCalledContent | ToolCallRejectedContent)
    )
    assert ended == dict.fromkeys(calls, 1)
    assert len(calls) == (0 if moment == "reply" else 3)
