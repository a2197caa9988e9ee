"""What a client may do that shows nothing but the token of the server: code in a kernel can find this token."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.apps.server.cells import Watcher
from tests.apps.server.test_websocket import START, prompt, reply, until_finished
from tests.fronts.mcp.room import LEGACY, MODERN, User, call

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    Fetch = Callable[..., Awaitable[Any]]


def kinds(watcher: Watcher) -> list[str]:
    return [getattr(event.content, "type", "") for event in watcher.events]


async def tell(socket: Any, method: str, **params: Any) -> None:
    await socket.write_message(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}))


async def ask(socket: Any, method: str, **params: Any) -> dict[str, Any]:
    return await reply(socket, {"jsonrpc": "2.0", "id": 77, "method": method, "params": params})


@asynccontextmanager
async def by_token(jp_ws_fetch: Fetch) -> AsyncGenerator[Any]:
    """As code in a kernel comes in."""
    socket = await jp_ws_fetch("eca", "ws")
    try:
        assert "result" in await reply(socket, START)
        yield socket
    finally:
        socket.close()


@asynccontextmanager
async def by_cookie(jp_fetch: Fetch, jp_ws_fetch: Fetch, port: int) -> AsyncGenerator[Any]:
    """As a page in a browser comes in."""
    page = await jp_fetch("api", "status", headers={"Host": f"localhost:{port}"})  # a cookie is for one host
    cookies = "; ".join(value.split(";")[0] for value in page.headers.get_list("Set-Cookie"))
    headers = {"Cookie": cookies, "Authorization": ""}
    socket = await jp_ws_fetch("eca", "ws", headers=headers)
    try:
        assert "result" in await reply(socket, START)
        yield socket
    finally:
        socket.close()


async def test_code_with_the_servers_token_cannot_approve_its_own_call(
    jp_serverapp: Any, jp_fetch: Fetch, jp_ws_fetch: Fetch, jp_http_port: int
) -> None:
    async with by_cookie(jp_fetch, jp_ws_fetch, jp_http_port) as page, by_token(jp_ws_fetch) as code:
        watcher = await Watcher.of(jp_serverapp)
        assert "result" in await reply(page, prompt("write"))
        waiting = (await watcher.until("toolCallRun")).content
        about = {"chatId": "c", "toolCallId": getattr(waiting, "id", "")}
        await tell(code, "chat/toolCallApprove", **about)
        assert "result" in await ask(code, "chat/list")  # everything before it has been handled
        assert "toolCallRunning" not in kinds(watcher)
        await tell(page, "chat/toolCallApprove", **about)
        await watcher.until("toolCalled")


async def test_a_call_is_denied_where_only_code_with_the_token_is_there(
    jp_serverapp: Any, jp_ws_fetch: Fetch, jp_root_dir: Path
) -> None:
    async with by_token(jp_ws_fetch) as code:
        await Watcher.of(jp_serverapp)
        assert "result" in await reply(code, prompt("write"))
        contents = await until_finished(code)
        assert "toolCallRejected" in [content["type"] for content in contents]
        assert not (jp_root_dir / "new.txt").exists()


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("chat/prompt", {"chatId": "d", "message": "you", "trust": True}),
        ("chat/update", {"chatId": "c", "trust": True}),
        ("approvals/add", {"decision": "allow", "rule": "write_file", "scope": "workspace"}),
        ("mcp/addServer", {"name": "evil", "command": "evil"}),
        ("workspace/trust", {"folder": "/", "digest": "0"}),
    ],
)
async def test_code_with_the_token_cannot_loosen_the_rules(
    jp_ws_fetch: Fetch, jp_root_dir: Path, method: str, params: dict[str, Any]
) -> None:
    async with by_token(jp_ws_fetch) as code:
        before = (jp_root_dir / ".eca" / "config.json").read_text()
        assert "result" in await reply(code, prompt("you"))
        await until_finished(code)
        assert "error" in await ask(code, method, **params)
        assert (jp_root_dir / ".eca" / "config.json").read_text() == before


@pytest.mark.parametrize("name", ["JUPYTERHUB_API_TOKEN", "JUPYTER_TOKEN"])
async def test_a_token_of_the_environment_is_the_servers_own_and_another_one_is_a_persons(
    jp_serverapp: Any, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    from jupyter_eca.apps.server.authorization import is_own_token

    provider = jp_serverapp.identity_provider
    monkeypatch.setenv(name, "of-the-hub")
    assert is_own_token(provider, provider.token)
    assert is_own_token(provider, "of-the-hub")
    assert is_own_token(provider, None)
    assert not is_own_token(provider, "of-a-person")


@pytest.mark.parametrize("mode", [LEGACY, MODERN])
async def test_an_mcp_client_with_the_servers_token_is_not_asked_for_approval(
    jp_fetch: Fetch, jp_base_url: str, jp_http_port: int, jp_auth_header: dict[str, str], jp_root_dir: Path, mode: str
) -> None:
    await jp_fetch("api", "status")
    user = User({"decision": "approve"})
    url = f"http://127.0.0.1:{jp_http_port}{jp_base_url}eca/mcp"
    async with httpx2.AsyncClient(headers=jp_auth_header, timeout=30, trust_env=False) as http:
        transport = streamable_http_client(url, http_client=http)
        async with Client(transport, mode=mode, elicitation_callback=user) as client:
            refused = await call(client, "eca_file_write", path="new.txt", content="one")
    assert user.asked == []
    assert "the chat panel in JupyterLab" in str(refused)
    assert not (jp_root_dir / "new.txt").exists()


async def test_ahp_refuses_an_approval_by_the_servers_token(jp_serverapp: Any, jp_ws_fetch: Fetch) -> None:
    socket = await jp_ws_fetch("eca", "ahp")
    watcher = await Watcher.of(jp_serverapp)
    try:
        initialize = {"protocolVersions": ["0.1.0"], "clientId": "one", "initialSubscriptions": []}
        assert "result" in await ask(socket, "initialize", **initialize)
        refused = await ask(socket, "createSession", session="eca:/auto", provider="eca", config={"approval": "auto"})
        assert "may ask, but not approve" in str(refused)
    finally:
        socket.close()
    assert kinds(watcher) == []
