"""The setup of a turn is that of the turn before, until something changes from which it follows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.config import Config
from jupyter_eca.plugins.tools.base import ToolContext, tool
from tests.support.host_and_client import Desk, Notebook, answer, desk, settings

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
