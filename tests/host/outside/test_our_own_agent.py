"""Our client drives our own agent, `jupyter-eca acp`, as a real program over its pipes."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.content import FileChangeDetails, ReasonTextContent, TaskDetails, ToolCalledContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.fronts.acp.script import RULES
from tests.host.outside.test_calls import RAN, runs
from tests.support.editor_process import environment
from tests.support.host_and_client import answer, desk, outcomes, said, settings, tool_states

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.content import ToolCallRunContent

pytestmark = pytest.mark.asyncio


def yes(_: ToolCallRunContent) -> CallDecision:
    return CallDecision(True)


async def test_our_own_agent_answers_thinks_plans_and_writes_what_was_approved(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    (folder / ".eca").mkdir(parents=True)
    (folder / ".eca" / "config.json").write_text(json.dumps(settings(tmp_path, RULES)))
    added = {name: value for name, value in environment(folder).items() if os.environ.get(name) != value}
    ours = {"command": sys.executable, "args": ["-m", "jupyter_eca", "acp"], "env": added}
    async with desk(folder, [], acpAgents={"ours": ours}) as table:
        client = await table.client()
        received = await answer(client, "you", agent="ours")
        assert said(received) == "Hello, you"
        thoughts = await answer(client, "think", agent="ours")
        assert "".join(item.content.text for item in thoughts if isinstance(item.content, ReasonTextContent)) == (
            "Hm. Well."
        )
        planned = await answer(client, "plan", yes, agent="ours")
        assert any(
            isinstance(item.content, ToolCalledContent) and isinstance(item.content.details, TaskDetails)
            for item in planned
        )
        written = await answer(client, "write a.txt one", yes, agent="ours")
        assert tool_states(written) == RAN
        details = runs(written)[0].details
        assert isinstance(details, FileChangeDetails)
        assert "+one" in details.diff
        assert outcomes(written) == ["completed"]
        assert (folder / "a.txt").read_text() == "one\n"
        await answer(client, "/undo")
        assert not (folder / "a.txt").exists()
