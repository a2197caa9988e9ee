"""What is beside the chat: contexts of each type, settings pages, tool servers, jobs, as clients see them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from tests.mcp_client.house import raw as mcp
from tests.requirements.eca.seat import TODAY, prompt, seat, told
from tests.support.host_and_client import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# The model answers with what it was given beside the question.
ECHO: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "{message}"}]}]
AT = {"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 3}}


@pytest.mark.parametrize(
    ("context", "words"),
    [
        ({"type": "file", "path": "PLACE/a.py"}, "x = 1\ny = 2\nz = 3"),
        ({"type": "file", "path": "PLACE/a.py", "linesRange": {"start": 2, "end": 2}}, "y = 2"),
        ({"type": "directory", "path": "PLACE"}, "a.py"),
        ({"type": "web", "url": "http://127.0.0.1:9/"}, "not readable"),
        ({"type": "repoMap"}, "a.py"),
        ({"type": "repoMap", "path": "PLACE", "content": "old"}, "a.py"),
        ({"type": "cursor", "path": "PLACE/a.py", "position": AT}, "y = 2"),
        ({"type": "mcpResource", "server": "none", "uri": "none://x"}, "not readable"),
        ({"type": "text", "label": "log", "content": "panic at 42"}, "panic at 42"),
        ({"type": "image", "mediaType": "image/png", "base64": "bm8="}, "not readable"),
        ({"type": "hologram", "depth": 3}, "hologram"),
        ({"type": "file"}, "file"),
        ({"type": "file", "path": "PLACE/../../etc/shadow"}, "not readable"),
    ],
)
async def test_a_context_of_any_type_reaches_the_model_or_says_why_not(
    tmp_path: Path, context: dict[str, Any], words: str
) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\nz = 3\n")
    here = {name: v.replace("PLACE", str(tmp_path)) if isinstance(v, str) else v for name, v in context.items()}
    async with seat(tmp_path, ECHO) as (_, at):
        assert words in await prompt(at, "Look", contexts=[here])
        shown = [p["content"].get("text") for p in at.params("chat/contentReceived") if p["role"] == "user"]
        assert shown == ["Look"]


async def test_a_file_that_is_mentioned_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\ny = 2\n")
    async with seat(tmp_path, ECHO) as (_, at):
        answer = await prompt(at, "What is in @a.py?")
        assert "y = 2" in answer


async def test_settings_pages_are_answered_when_there_is_nothing_to_show(tmp_path: Path) -> None:
    async with seat(tmp_path, ECHO) as (_, at):
        assert await at.result("jobs/list") == {"jobs": []}
        assert await at.result("jobs/kill", {"jobId": "none"}) == {"killed": False}
        assert (await at.result("jobs/readOutput", {"jobId": "none"}))["lines"] == []
        providers = (await at.result("providers/list", {}))["providers"]
        assert {"anthropic", "ollama"} <= {one["id"] for one in providers}
        assert {one["auth"]["status"] for one in providers} <= {
            "authenticated", "expiring", "expired", "unauthenticated", "local", "not-running",
        }  # fmt: skip


async def test_a_tool_server_is_told_from_its_start_on_with_what_a_settings_page_shows(tmp_path: Path) -> None:
    servers = {"one": mcp("good"), "off": mcp("good", disabled=True)}
    async with seat(tmp_path, ECHO, TODAY, mcpServers=servers) as (_, at):
        await at.tell("initialized", {})
        async with asyncio.timeout(PATIENCE * 2):
            while not any(p.get("status") == "running" and p["name"] == "one" for p in at.params("tool/serverUpdated")):
                await told(at, "tool/serverUpdated")
        running = next(p for p in reversed(at.params("tool/serverUpdated")) if p["name"] == "one")
        assert (running["type"], running["disabled"], running["hasAuth"]) == ("mcp", False, False)
        assert [tool["name"] for tool in running["tools"]] == ["work"]
        off = next(p for p in at.params("tool/serverUpdated") if p["name"] == "off")
        assert (off["status"], off["disabled"]) == ("disabled", True)
        (native, *_) = [p for p in at.params("tool/serverUpdated") if p["type"] == "native"]
        assert (native["name"], native["status"]) == ("ECA", "running")
        assert {"name", "description", "parameters"} <= native["tools"][0].keys()


async def test_a_tool_that_the_configuration_disables_is_shown_as_disabled(tmp_path: Path) -> None:
    off = ["shell_command", "one__work"]
    async with seat(tmp_path, ECHO, mcpServers={"one": mcp("good")}, disabledTools=off) as (_, at):
        await at.tell("initialized", {})
        native = await told(at, "tool/serverUpdated", type="native")
        disabled = {tool["name"]: tool["disabled"] for tool in native["tools"]}
        assert (disabled["shell_command"], disabled["read_file"]) == (True, False)
        async with asyncio.timeout(PATIENCE * 2):
            running = await told(at, "tool/serverUpdated", name="one", status="running")
        assert [(tool["name"], tool["disabled"]) for tool in running["tools"]] == [("work", True)]


async def test_what_is_disabled_for_one_agent_is_shown_when_it_is_selected(tmp_path: Path) -> None:
    agents = {"careful": {"disabledTools": ["one__work"]}}
    async with seat(tmp_path, ECHO, mcpServers={"one": mcp("good")}, agent=agents) as (_, at):
        await at.tell("initialized", {})
        async with asyncio.timeout(PATIENCE * 2):
            running = await told(at, "tool/serverUpdated", name="one", status="running")
        assert [tool["disabled"] for tool in running["tools"]] == [False]
        await at.tell("chat/selectedAgentChanged", {"agent": "careful"})
        running = await told(at, "tool/serverUpdated", name="one")
        assert [tool["disabled"] for tool in running["tools"]] == [True]
