"""MCP servers whose names mean something else in rules of approval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.mcp import ServerStatus
from tests.fronts.ahp.place import place
from tests.mcp_client.house import puppet

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

S = "eca:/s1"


@pytest.mark.parametrize("name", ["client", "client__x", "eca", "python", "grep"])
async def test_a_server_whose_name_stands_for_other_tools_in_rules_does_not_start(tmp_path: Path, name: str) -> None:
    async with place(tmp_path, mcpServers={name: puppet("legacy"), "other": puppet("legacy")}) as at:
        client = await at.connect()
        await client.create(S)
        await at.host.mcp.servers_known.wait()
        await at.host.mcp.await_started(60)
        await client.until(lambda: any("do" in tool["name"] for tool in client.states[S]["serverTools"]))
        status = {server.name: (server.status, server.error) for server in at.host.mcp.list_servers()}
        assert status["other"] == (ServerStatus.RUNNING, None)
        assert status[name][0] is ServerStatus.FAILED
        assert "another name" in str(status[name][1])
        offered = [tool["name"] for tool in client.states[S]["serverTools"]]
        assert "other__do" in offered
        assert not [tool for tool in offered if tool.startswith(f"{name}__")]
