"""Real outside agents, whose model is a script: each asks, changes a file and a live cell, and all is undone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.fronts.mcp.agent_endpoint import open_agent_endpoint
from jupyter_eca.protocol.content import FileChangeDetails, ShellCommandDetails
from tests.host.outside.test_calls import RAN, runs, yes
from tests.support.host_and_client import answer, desk, said, tool_states
from tests.support.notebook_page import PATH, Nobody, Page, code
from tests.support.real_agents import find_missing, make_agent, serving_model

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.chat import ChatContentReceivedParams
    from tests.support.real_agents import RealAgent

pytestmark = [pytest.mark.asyncio, pytest.mark.nightly]


@pytest.mark.parametrize("name", ["opencode", "qwen"])
async def test_it_asks_edits_a_file_and_a_live_cell_and_all_is_undone(tmp_path: Path, name: str) -> None:
    if missing := find_missing(name):
        pytest.skip(missing)
    with serving_model() as url:
        home = tmp_path / "home"
        home.mkdir()
        await tell(tmp_path / "folder", make_agent(name, home, url))


async def tell(folder: Path, agent: RealAgent) -> None:
    """The story."""
    name = agent.name
    (folder / "work").mkdir(parents=True)
    (folder / PATH).write_text("the file, which is older")
    page = Page({PATH: [code("c1", "x = 1")]})
    reading: dict[str, Any] = {"approval": {"allow": {"notebook_read": {}}}}
    async with (
        desk(folder, [], Nobody(), acpAgents={name: agent.settings}, toolCall=reading) as table,
        open_agent_endpoint(table.host, table.tasks),
    ):
        await page.join(table)
        client = await table.client()

        async def ask(tool: str, **arguments: Any) -> list[ChatContentReceivedParams]:
            return await answer(client, f"TOOL {tool} {json.dumps(arguments)}", yes, agent=name)

        assert said(await answer(client, "hello", agent=name)) == "Hello from the model."
        written = await ask(agent.write, **{agent.path: str(folder / "a.txt"), "content": "hi\n"})
        assert tool_states(written) == RAN
        assert isinstance(runs(written)[0].details, FileChangeDetails)
        assert (folder / "a.txt").read_text() == "hi\n"
        ran = await ask(agent.shell, command="echo made > b.txt", **agent.shell_arguments)
        assert isinstance(runs(ran)[0].details, ShellCommandDetails)
        if agent.searches:
            names = ("mcp__jupyter__eca_notebook_read", "mcp__jupyter__eca_notebook_change")
            await ask("tool_search", query=f"select:{','.join(names)}")
        assert "x = 1" in said(await ask("eca_notebook_read", path=PATH))
        change = {"do": "edit", "cell": "c1", "source": "x = 2"}
        changed = await ask("eca_notebook_change", path=PATH, changes=[change])
        assert sum(run.manual_approval for run in runs(changed)) == 1
        assert page.cells() == [("c1", "x = 2")]
        await ask(agent.write, **{agent.path: str(folder / PATH), "content": "{}"})
        assert (folder / PATH).read_text() == "the file, which is older"
        await answer(client, "/undo all")
        assert page.cells() == [("c1", "x = 1")]
        assert not (folder / "a.txt").exists()
        assert not (folder / "b.txt").exists()
        table.host.outside_agents.close()
        await page.leave()
