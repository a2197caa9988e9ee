"""What was echoed to a client is there after its server was killed, however soon."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.fronts.ahp.place import place
from tests.support.samples import sample
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


@pytest.mark.parametrize(
    "what", sample(["new prompt", "prompt", "new rename", "rename", "queue", "new queue"], every=2)
)
async def test_what_was_echoed_survives_a_kill_right_after_it(tmp_path: Path, what: str) -> None:
    command = [sys.executable, "-m", "tests.fronts.ahp.killed", str(tmp_path), what]
    done = await asyncio.to_thread(subprocess.run, command, check=False, timeout=PATIENCE * 3, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()
    async with place(tmp_path) as at:
        client = await at.connect()
        state = await client.subscribe(S)
        assert "my words" in json.dumps(state)
        assert "activeTurn" not in state


async def test_a_message_that_was_refused_does_not_come_back_after_a_restart(tmp_path: Path) -> None:
    async with place(tmp_path) as at:
        client = await at.connect()
        await client.create(S)
        await client.ask(S, "t1", "one")
        await client.settled(S, 1)
        with (await at.host.chats.load("s1")).hold():
            await client.ask(S, "t2", "my words")
            state = await client.settled(S, 2)
            assert state["turns"][1]["state"] == "error"
    async with place(tmp_path) as at:
        client = await at.connect()
        assert "my words" not in json.dumps(await client.subscribe(S))
