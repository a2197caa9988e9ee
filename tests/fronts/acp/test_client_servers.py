"""MCP servers that a client brings: their tools belong to one session, and end with it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psutil
import pytest

from tests.fronts.acp.script import RULES
from tests.mcp_client.house import raw
from tests.mcp_client.web import web
from tests.support.access import ASKER
from tests.support.acp_client import CAPABILITIES, chatting_with, needs_schema
from tests.support.processes import have_ended

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.acp_client import AcpTestClient, Json

pytestmark = [pytest.mark.asyncio, needs_schema]

WORK: Json = {"tool": "acp_tour__work", "arguments": {}}
ADD: Json = {"tool": "acp_tour__add", "arguments": {"a": 40, "b": 2}}
STORY: list[dict[str, Any]] = [
    {"result": "42", "reply": [{"text": "It is 42."}]},
    {"result": "^done", "reply": [{"text": "It has worked."}]},
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "work", "reply": [WORK]},
    {"message": "add", "reply": [ADD]},
    *RULES,
]


def program(log: Path) -> Json:
    """A server with the tool `work`, as an editor hands it over. It writes what it receives to the file."""
    return {"name": "tour", "env": [], **raw("is well", log)}


async def work(client: AcpTestClient, message: str = "work", session: str = "") -> str:
    """Prompt, and approve the call of the server's tool."""
    since = len(client.heard)
    prompt = await client.start_prompt(message, session=session)
    request = await client.permission()
    await client.decide(request, "allow_once")
    assert await client.stop_reason(prompt) == "end_turn"
    return client.said(since, session=session)


async def test_a_program_gives_its_tools_to_its_session_only_and_ends_with_it(tmp_path: Path) -> None:
    before = psutil.Process().children(recursive=True)
    async with chatting_with(tmp_path, STORY) as client:
        bare = client.session
        await client.open(program(tmp_path / "log"))
        assert await work(client) == "It has worked."
        running = [child.pid for child in psutil.Process().children(recursive=True) if child not in before]
        assert running
        assert await client.prompt("work", session=bare) == "end_turn"
        assert "worked" not in client.said(session=bare)
        await client.result("session/close", {"sessionId": client.session})
        assert have_ended(*running)


async def test_a_rule_for_a_server_of_the_user_does_not_hold_for_that_of_a_client(tmp_path: Path) -> None:
    allow: Any = {"approval": {"allow": {"tour": {}}}}
    async with chatting_with(tmp_path, STORY, toolCall=allow) as client:
        await client.open(program(tmp_path / "log"))
        assert await work(client) == "It has worked."


async def test_a_server_at_an_address_gives_its_tools_too(tmp_path: Path) -> None:
    async with web() as site, chatting_with(tmp_path, STORY) as client:
        await client.open({"type": "http", "name": "tour", "url": site.url, "headers": []})
        assert await work(client, "add") == "It is 42."


async def test_a_resumed_session_gets_the_servers_of_its_new_client(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, STORY) as client:
        await client.prompt("you")
        params: Any = {"sessionId": client.session, "cwd": str(tmp_path), "mcpServers": [program(tmp_path / "log")]}
        await client.result("session/resume", params)
        assert await work(client) == "It has worked."


@pytest.mark.parametrize("shows_notices", [True, False])
async def test_a_server_that_does_not_start_is_named_and_the_session_works(tmp_path: Path, shows_notices: bool) -> None:
    can: Any = CAPABILITIES if shows_notices else {}
    async with chatting_with(tmp_path, STORY, can) as client:
        await client.open({"name": "gone", "command": str(tmp_path / "no-such"), "args": [], "env": []})
        assert await client.prompt("you") == "end_turn"
        assert client.said().endswith("Hello, you")
        if shows_notices:
            notice = await client.update("notice", severity="warning")
            assert "'gone' cannot be used" in notice["title"]
        else:
            await client.until(lambda message: "'gone' cannot be used" in repr(message))


async def test_a_connection_that_may_not_approve_starts_no_server(tmp_path: Path) -> None:
    async with chatting_with(tmp_path, STORY, access=ASKER) as client:
        await client.open(program(tmp_path / "log"))
        assert "not started" in (await client.update("notice"))["title"]
        await client.prompt("work")
        assert not (tmp_path / "log").exists()
