"""The reference servers of the protocol, as people run them: `npm --prefix tests/npm ci` installs them."""

from __future__ import annotations

import shutil
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.mcp_client.server_requests import DECLINE
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.workspace.ports import Files
from tests.mcp_client.house import User, house

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.workspace.tool_result import Report
    from tests.mcp_client.house import House

PACKAGES = Path(__file__).parent.parent / "npm/node_modules/@modelcontextprotocol"
pytestmark = [
    pytest.mark.asyncio,
    pytest.mark.skipif(not PACKAGES.exists(), reason="`npm --prefix tests/npm ci` was not run"),
    pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is missing"),
]


@asynccontextmanager
async def running(folder: Path, name: str, *arguments: str, user: User | None = None) -> AsyncGenerator[House]:
    entry = PACKAGES / f"server-{name}/dist/index.js"
    settings: dict[str, Any] = {
        "command": "node",
        "args": [str(entry), *arguments],
        "env": {"MEMORY_FILE_PATH": str(folder / "memory.jsonl")},
    }
    async with house(folder, {name: settings}, user=user) as at:
        await at.running(name)
        yield at


async def test_everything_is_spoken_to_in_all_that_it_offers(tmp_path: Path) -> None:
    user = User([DECLINE, "Paris"])
    async with running(tmp_path, "everything", "stdio", user=user) as at:
        await at.until(lambda: {"trigger-elicitation-request", "trigger-sampling-request"} <= tools(at))
        assert (await at.call("everything__echo", message="hello")).text == "Echo: hello"
        assert len((await at.call("everything__get-tiny-image")).images) == 1
        structured = await at.call("everything__get-structured-content", location="Chicago")
        assert structured.details is not None
        assert tmp_path.as_uri() in (await at.call("everything__get-roots-list")).text
        assert "decline" in (await at.call("everything__trigger-elicitation-request")).text.lower()
        assert user.asked[0].question.startswith("The MCP server 'everything' asks: ")
        assert "Paris" in (await at.call("everything__trigger-sampling-request", prompt="The capital?")).text
        assert user.wanted[0].messages[0].text.endswith("The capital?")
        await at.until(lambda: bool(at.shown("everything").prompts) and bool(at.manager.list_templates()))
        assert "demo://resource/dynamic/text/{resourceId}" in [one.uri for one in at.manager.list_templates()]
        text, _ = await at.manager.read_resource("everything", "demo://resource/dynamic/text/7", "chat")
        assert "7" in text


async def test_everything_tells_how_far_it_is(tmp_path: Path) -> None:
    async with running(tmp_path, "everything", "stdio") as at:
        told: list[Report] = []
        context = ToolContext("chat", Files((tmp_path,)), "call", report=told.append)
        tool = at.tool("everything__trigger-long-running-operation")
        assert not (await tool.run(context, {"duration": 0.4, "steps": 4})).error
        assert [(report.done, report.total) for report in told][-1] == (4, 4)


async def test_files_are_read_inside_of_the_folder_that_was_given(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("inside")
    async with running(tmp_path, "filesystem", str(tmp_path)) as at:
        assert (await at.call("filesystem__read_text_file", path=str(tmp_path / "a.txt"))).text == "inside"
        outside = await at.call("filesystem__read_text_file", path="/etc/hostname")
        assert outside.error
        assert "denied" in outside.text


async def test_what_was_remembered_is_there_after_a_restart(tmp_path: Path) -> None:
    entities = [{"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}]
    async with running(tmp_path, "memory") as at:
        await at.call("memory__create_entities", entities=entities)
        tool = at.tool("memory__search_nodes")
        at.manager.stop("memory")
        at.manager.start("memory")
        await at.running("memory")
        found = await tool.run(ToolContext("chat", Files((tmp_path,))), {"query": "Ada"})
        assert "first program" in found.text
        assert (await at.call("memory__create_entities", entities="nonsense")).error


def tools(at: House) -> set[str]:
    return {tool.name for tool in at.shown("everything").tools or ()}
