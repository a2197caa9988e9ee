"""Outside agents in a Jupyter server: they reach our tools on Jupyter's port, by a token of their own."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest

from tests.apps.server.cells import Watcher
from tests.host.outside.talking import Talking, fake
from tests.support.host_and_client import Desk, said

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}},
}


@pytest.fixture
def agent_in_config(request: pytest.FixtureRequest, eca_config: None, jp_root_dir: Path) -> None:
    """Its parameter is a quirk of the agent."""
    del eca_config  # it writes the file
    file = jp_root_dir / ".eca" / "config.json"
    quirks = (request.param,) if hasattr(request, "param") else ()
    config = json.loads(file.read_text()) | {"acpAgents": fake(jp_root_dir, *quirks)}
    config["toolCall"] = {"approval": {"allow": {"notebook_read": {}}}}
    file.write_text(json.dumps(config))


@asynccontextmanager
async def talking_to(serverapp: Any, folder: Path) -> AsyncGenerator[Talking]:
    """A client of the host of a server."""
    host = (await Watcher.of(serverapp)).host
    async with asyncio.TaskGroup() as tasks:
        desk = Desk(host, tasks, folder)
        yield Talking(desk, await desk.client(), folder.parent / f"{folder.name}-frames.jsonl")
        await desk.close()


@pytest.mark.usefixtures("agent_in_config")
async def test_an_agent_reads_a_notebook_by_a_token_that_opens_nothing_else(
    jp_serverapp: Any, jp_root_dir: Path, jp_fetch: Any, jp_http_port: int, jp_base_url: str
) -> None:
    del jp_fetch  # it has the server listen
    cell: dict[str, Any] = {
        "id": "c1",
        "cell_type": "code",
        "source": "x = 41",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
    }
    book: dict[str, Any] = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    (jp_root_dir / "a.ipynb").write_text(json.dumps(book))
    read = json.dumps({"path": "a.ipynb"})
    async with talking_to(jp_serverapp, jp_root_dir) as talk:
        assert "x = 41" in said(await talk.ask(f"mcp silent eca_notebook_read {read}"))
        server = talk.list_frames("client", "session/new")[0]["params"]["mcpServers"][0]
        url, own = server["url"], {"Authorization": server["headers"][0]["value"]}
        accept = {"Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(trust_env=False, headers=accept) as http:
            assert (await http.post(url, json=HELLO, headers=own)).status_code == 200
            assert (await http.post(url, json=HELLO)).status_code == 401
            of_jupyter = {"Authorization": f"Bearer {jp_serverapp.identity_provider.token}"}
            assert (await http.post(url, json=HELLO, headers=of_jupyter)).status_code == 401
            page = {**own, "Origin": "http://elsewhere.example"}
            assert (await http.post(url, json=HELLO, headers=page)).status_code == 403
            # The token of the session is none of Jupyter's.
            base = f"http://127.0.0.1:{jp_http_port}{jp_base_url}"
            assert (await http.get(f"{base}api/contents", headers=own)).status_code == 403
            assert (await http.post(f"{base}eca/mcp", json=HELLO, headers=own)).status_code == 403
            talk.host.outside_agents.close()
            assert (await http.post(url, json=HELLO, headers=own)).status_code == 401


@pytest.mark.usefixtures("agent_in_config")
async def test_the_token_of_jupyter_reaches_no_agent(jp_serverapp: Any, jp_root_dir: Path, jp_fetch: Any) -> None:
    del jp_fetch
    async with talking_to(jp_serverapp, jp_root_dir) as talk:
        steps = [f"environment {name}" for name in ("JUPYTER_TOKEN", "JPY_API_TOKEN")]
        assert said(await talk.ask("where", *steps)).endswith("(not set)(not set)")
        assert jp_serverapp.identity_provider.token not in talk.frames.read_text()


@pytest.mark.parametrize("agent_in_config", ["no addresses"], indirect=True)
@pytest.mark.usefixtures("agent_in_config")
async def test_an_agent_that_connects_to_no_addresses_starts_a_program_in_its_place(
    jp_serverapp: Any, jp_root_dir: Path, jp_fetch: Any
) -> None:
    del jp_fetch
    async with talking_to(jp_serverapp, jp_root_dir) as talk:
        assert "eca_notebook_read" in said(await talk.ask("mcp_tools"))
        server = talk.list_frames("client", "session/new")[0]["params"]["mcpServers"][0]
        assert "url" not in server
