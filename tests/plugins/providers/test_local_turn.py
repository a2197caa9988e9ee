"""A whole turn of a model in this process: it calls a tool, the tool runs, it answers. SmolLM2 imitates two examples
that the template shows it, and the grammar makes of that a call of the one tool there is."""

from __future__ import annotations

import asyncio
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest

from jupyter_eca.config import Config
from jupyter_eca.plugins import tools as native
from jupyter_eca.plugins.providers.local import BUNDLED
from jupyter_eca.protocol.content import ToolCalledContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import desk

pytestmark = [pytest.mark.asyncio, pytest.mark.weights, pytest.mark.nightly]

TEMPLATE = Path(__file__).parent.parent.parent / "fixtures" / "gguf" / "eager.jinja"
# Below what a desk allows.
PATIENCE = 14


async def test_a_tool_that_the_model_called_runs_and_the_model_goes_on(tmp_path: Path) -> None:
    (tmp_path / "Paris").mkdir()
    (tmp_path / "Paris" / "sunny.txt").touch()
    modules = [import_module(f"{native.__name__}.{found.name}") for found in iter_modules(native.__path__)]
    others = {one.spec.name for module in modules for one in getattr(module, "TOOLS", ())} - {"directory_tree"}
    async with desk(tmp_path, [], disabledTools=sorted(others)) as table:
        config = table.host.config.model_dump()
        config["providers"]["local"] = {"models": {BUNDLED: {"chat_template": str(TEMPLATE), "tools": True}}}
        await table.host.configure(Config.model_validate(config))
        client, received = await table.client(), list[object]()
        async with asyncio.timeout(PATIENCE):
            async for item in client.ask("chat", "What is the weather in Paris?", f"local/{BUNDLED}"):
                received.append(item.content)
                if isinstance(item.content, ToolCallRunContent) and item.content.manual_approval:
                    await client.decide("chat", item.content.id, CallDecision(approved=True))
    (called,) = [one for one in received if isinstance(one, ToolCalledContent)]
    assert (called.name, called.arguments, called.error) == ("directory_tree", {"path": "Paris"}, False)
    assert "sunny.txt" in repr(called.outputs)
