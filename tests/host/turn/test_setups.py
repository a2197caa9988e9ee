"""The setup of a turn is that of the turn before, until something changes from which it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.host.host import Host
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.workspace.kernels.local import LocalKernel
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files, Workspace
from tests.support.host_and_client import Desk, Notebook, answer, desk, desk_of, settings

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.engine.inputs import Setup
    from jupyter_eca.transport.eca_client import EcaClient

pytestmark = pytest.mark.asyncio

RULES = [{"message": "", "reply": [{"text": "Hello."}]}]


@tool(reads=True)
async def look(context: ToolContext) -> str:
    """Look."""
    return context.chat


async def ask(table: Desk, client: EcaClient, agent: str = "") -> Setup:
    await answer(client, "hello", agent=agent)
    chat = table.host.chats.get_live("chat")
    assert chat is not None
    return chat.state.setup


def names(setup: Setup) -> set[str]:
    return {spec.name for spec in setup.tools}


def get_arguments(setup: Setup, name: str) -> set[str]:
    """Return the arguments that the model is told of."""
    (spec,) = [spec for spec in setup.tools if spec.name == name]
    return set(spec.parameters["properties"])


async def test_the_setup_is_not_built_again_for_the_next_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        assert await ask(table, client) is await ask(table, client)


async def test_a_tool_that_a_client_lends_or_takes_back_counts_for_the_next_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        assert "look" not in names(await ask(table, client))
        table.host.toolbox.set_client_tools("chat", (look,))
        assert "look" in names(await ask(table, client))
        table.host.toolbox.set_client_tools("chat", ())
        assert "look" not in names(await ask(table, client))


async def test_a_changed_configuration_counts_for_the_next_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        before = await ask(table, client)
        more: dict[str, Any] = {
            "disabledTools": ["read_file"],
            "customTools": {"say": {"description": "Say.", "command": "echo", "schema": {}}},
        }
        await table.host.configure(Config.model_validate(settings(tmp_path, RULES, **more)))
        after = await ask(table, client)
        assert names(before) - names(after) == {"read_file"}
        assert names(after) - names(before) == {"say"}


async def test_another_agent_counts_for_the_next_question(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        client = await table.client()
        acting, planning = await ask(table, client), await ask(table, client, "plan")
        assert planning.plan_mode
        assert not acting.plan_mode
        assert names(await ask(table, client, "code")) == names(acting)


async def test_a_question_of_a_cell_has_the_tools_of_its_kernel(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table:
        panel, cell = await table.client(), await table.client(Notebook())
        assert "run_code" not in names(await ask(table, panel))
        assert "run_code" in names(await ask(table, cell))
        assert "run_code" not in names(await ask(table, panel))


async def test_cells_run_and_kernels_are_controlled_only_where_the_host_has_kernels_of_notebooks(
    tmp_path: Path,
) -> None:
    files, kernel = Files((tmp_path,)), LocalKernel(tmp_path)
    beside = Host(
        Config.model_validate(settings(tmp_path, RULES)),
        Workspace(files, kernel, NotebookFiles(files, kernel), kernel),
        tmp_path / "chats.db",
    )
    async with desk_of(beside, tmp_path) as table:
        setups = [await ask(table, await table.client(notebook)) for notebook in (None, Notebook())]
    for setup in setups:
        assert names(setup) >= {"notebook_run_cells", "kernel_interrupt", "kernel_restart"}
        assert "run" in get_arguments(setup, "notebook_change")
    async with desk(tmp_path, RULES, NotebookFiles(files)) as table:
        inside = await ask(table, await table.client(Notebook()))
    assert not names(inside) & {"notebook_run_cells", "kernel_interrupt", "kernel_restart"}
    assert get_arguments(inside, "notebook_change") == {"changes", "preview", "path"}


async def test_an_agent_without_the_tool_that_runs_cells_is_not_told_that_a_change_can_run_them(
    tmp_path: Path,
) -> None:
    files, kernel = Files((tmp_path,)), LocalKernel(tmp_path)
    config = Config.model_validate(settings(tmp_path, RULES, disabledTools=["notebook_run_cells"]))
    workspace = Workspace(files, kernel, NotebookFiles(files, kernel), kernel)
    async with desk_of(Host(config, workspace, tmp_path / "chats.db"), tmp_path) as table:
        assert "run" not in get_arguments(await ask(table, await table.client()), "notebook_change")
