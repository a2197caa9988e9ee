"""The assistant as an MCP server at `<base_url>eca/mcp`: behind Jupyter's own door, on Jupyter's own port."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import httpx2
import psutil
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tornado.httpclient import HTTPClientError

from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_notebook_kernels import opened
from tests.fronts.mcp.room import LEGACY, MODERN, User, call, ok

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]
    Connect = Callable[..., Any]

HELLO: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}},
}
# Read-only, because `jp_fetch` adds the login to the headers that it is given.
JSON: Final = MappingProxyType({"Content-Type": "application/json", "Accept": "application/json, text/event-stream"})


@pytest.fixture
def approve_with_token() -> bool:
    return True


@pytest.fixture
def connect(jp_fetch: Fetch, jp_base_url: str, jp_http_port: int, jp_auth_header: dict[str, str]) -> Connect:
    del jp_fetch  # it has the server listen

    @asynccontextmanager
    async def connected(mode: str = MODERN, user: User | None = None) -> AsyncGenerator[Client]:
        url = f"http://127.0.0.1:{jp_http_port}{jp_base_url}eca/mcp"
        async with httpx2.AsyncClient(headers=jp_auth_header, timeout=30, trust_env=False) as http:
            transport = streamable_http_client(url, http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=user) as client:
                yield client

    return connected


async def said(answer: Any) -> Any:
    (line,) = [line for line in answer.body.decode().splitlines() if line.startswith("data: {")]
    return json.loads(line.removeprefix("data: "))


@pytest.mark.parametrize("authorization", ["", "token wrong", "Bearer wrong"])
async def test_without_the_token_nobody_comes_in(jp_fetch: Fetch, authorization: str) -> None:
    for method, body in (("POST", json.dumps(HELLO)), ("GET", None), ("DELETE", None)):
        headers = {**JSON, "Authorization": authorization}
        with pytest.raises(HTTPClientError) as refused:
            await jp_fetch("eca", "mcp", method=method, body=body, headers=headers)
        assert refused.value.code == 403


async def test_the_oldest_version_is_spoken_as_it_is_asked_for(jp_fetch: Fetch, jp_root_dir: Path) -> None:
    (jp_root_dir / "a.txt").write_text("one\n")
    began = await jp_fetch("eca", "mcp", method="POST", body=json.dumps(HELLO), headers={**JSON}, request_timeout=60)
    assert (await said(began))["result"]["protocolVersion"] == "2024-11-05"
    session = {**JSON, "Mcp-Session-Id": began.headers["Mcp-Session-Id"]}
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    await jp_fetch("eca", "mcp", method="POST", body=json.dumps(ready), headers=session)
    params = {"name": "eca_file_read", "arguments": {"path": "a.txt"}}
    body = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": params}
    result = (await said(await jp_fetch("eca", "mcp", method="POST", body=json.dumps(body), headers=session)))["result"]
    assert result["content"] == [{"type": "text", "text": '{\n  "text": "one\\n"\n}'}]
    assert "structuredContent" not in result


async def test_nothing_listens_on_another_port(connect: Connect) -> None:
    def listening() -> set[int]:
        found = psutil.Process().net_connections("tcp")
        return {one.laddr.port for one in found if one.status == psutil.CONN_LISTEN}

    before = listening()
    async with connect() as client:
        await ok(client, "eca_session_list")
        assert listening() == before


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_a_live_notebook_is_read_edited_and_run(
    connect: Connect, jp_serverapp: Any, jp_root_dir: Path, mode: str
) -> None:
    user = User({"decision": "approve"})
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "x = 1", "x + 1") as kernel, connect(mode, user) as client:
        assert "x + 1" in (await ok(client, "eca_notebook_read", path="a.ipynb"))["text"]
        await ok(client, "eca_notebook_edit_cell", path="a.ipynb", cell="cell-0", source="x = 41")
        await ok(client, "eca_notebook_run_cells", path="a.ipynb", cells=["cell-0", "cell-1"])
        assert "42" in (await ok(client, "eca_notebook_read", path="a.ipynb", cells="2"))["text"]
        assert (await kernel.run("print(x)")).stdout == "41\n"
        held: dict[str, Any] = {}
        async with asyncio.timeout(PATIENCE):
            while "variables" not in held:  # to the server the kernel may be busy a moment longer than to the page
                held = json.loads(getattr((await client.read_resource("eca://kernel/a.ipynb")).contents[0], "text", ""))
        assert {one["name"]: one["preview"] for one in held["variables"]}["x"] == "41"
    asked = [one.partition("? ")[2].partition(":")[0] for one in user.asked]
    assert asked == ["notebook_edit_cell", "notebook_run_cells"]


async def test_a_run_of_cells_starts_the_kernel_of_a_notebook_that_nobody_has_open(
    connect: Connect, jp_serverapp: Any, jp_root_dir: Path
) -> None:
    user = User({"decision": "approve"})
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", "40 + 2"):
        pass
    async with connect(LEGACY, user) as client:
        for name, arguments in (("run_code", {"code": "1", "path": "a.ipynb"}), ("restart", {"path": "a.ipynb"})):
            failed, data = await call(client, f"eca_kernel_{name}", **arguments)
            assert failed
            assert "a.ipynb has no running kernel" in data["error"]
        assert user.asked == []  # nobody is asked about a call that must fail
        await ok(client, "eca_notebook_run_cells", path="a.ipynb", cells=[1])
        assert "40 + 2" in user.asked[0]
        assert "42" in (await ok(client, "eca_notebook_read", path="a.ipynb"))["text"]
    (session,) = await jp_serverapp.session_manager.list_sessions()
    await jp_serverapp.session_manager.delete_session(session["id"])


async def test_a_kernel_tool_without_a_path_works_only_where_exactly_one_kernel_runs(
    connect: Connect, jp_serverapp: Any, jp_root_dir: Path
) -> None:
    user = User({"decision": "approve"})
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb") as one, connect(LEGACY, user) as client:
        await one.run("x = 1")
        assert (await ok(client, "eca_kernel_run_code", code="x"))["text"] == "In the kernel of a.ipynb:\n1"
        async with opened(jp_serverapp, jp_root_dir, "b.ipynb") as two:
            await two.run("x = 2")
            async with asyncio.timeout(PATIENCE):
                while "busy" in (await call(client, "eca_kernel_state"))[1]["error"]:
                    """To the server a kernel may be busy a moment longer than to the page."""
            for name, arguments in (("restart", {}), ("interrupt", {}), ("run_code", {"code": "x = 3"}), ("state", {})):
                failed, data = await call(client, f"eca_kernel_{name}", **arguments)
                assert failed
                assert data["error"].endswith("a.ipynb (idle), b.ipynb (idle).")
                assert data["suggestions"] == ["Give the path of the notebook whose kernel is meant."]
            await ok(client, "eca_kernel_restart", path="b.ipynb")
            await two.reopen()
            assert (await one.run("print(x)")).stdout == "1\n"
            assert "NameError" in (await two.run("print(x)")).error


async def test_a_cell_that_is_left_running_is_interrupted(
    connect: Connect, jp_serverapp: Any, jp_root_dir: Path
) -> None:
    user, code = User({"decision": "approve"}), "open('began', 'w'); import time; time.sleep(60)"
    async with opened(jp_serverapp, jp_root_dir, "a.ipynb", code) as at, connect(LEGACY, user) as client:
        running = asyncio.ensure_future(call(client, "eca_notebook_run_cells", path="a.ipynb", cells=["cell-0"]))
        async with asyncio.timeout(PATIENCE * 4):
            while not (jp_root_dir / "began").exists():
                await ok(client, "eca_session_list")
        running.cancel()
        assert (await asyncio.wait_for(at.run("print('free')"), PATIENCE * 2)).stdout == "free\n"
