"""Signing in to an MCP server from Jupyter: the browser comes back to Jupyter's own door."""

from __future__ import annotations

import asyncio
import json
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_websocket import START, reply
from tests.config.test_credentials import holding
from tests.mcp_client.door import SECRET, visit
from tests.mcp_client.web import web

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from tests.mcp_client.web import Web

    Fetch = Callable[..., Awaitable[Any]]

HUB = "https://hub.example"


@pytest.fixture
def approve_with_token() -> bool:
    """Signing in to a server that all chats share needs the right to approve."""
    return True


class Page:
    """A client that keeps what it is told."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket
        self.heard: list[dict[str, Any]] = []

    async def tell(self, method: str) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": {"name": "far"}}
        await self._socket.write_message(json.dumps(message))

    async def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        message = {"jsonrpc": "2.0", "id": 7, "method": method, "params": params}
        await self._socket.write_message(json.dumps(message))
        await self.next(lambda _method, _params: self.heard[-1].get("id") == 7)
        return self.heard[-1]["result"]

    async def next(self, wanted: Callable[[str, dict[str, Any]], bool]) -> dict[str, Any]:
        async with asyncio.timeout(PATIENCE):
            while True:
                self.heard.append(json.loads(await self._socket.read_message()))
                method, params = self.heard[-1].get("method", ""), self.heard[-1].get("params", {})
                if wanted(method, params):
                    return params

    async def shown(self, status: str) -> dict[str, Any]:
        return await self.next(lambda _, it: (it.get("name"), it.get("status")) == ("far", status))

    async def sent(self) -> str:
        """Where its user shall sign in."""
        await self.tell("mcp/connectServer")
        said = await self.next(lambda method, it: method == "$/showMessage" and it["type"] == "info")
        return said["message"].rpartition(" ")[2]


def denies(_handler: Any, _user: Any, _action: str, _resource: str) -> bool:
    return False


@pytest.fixture
def token(jp_auth_header: dict[str, str]) -> str:
    return jp_auth_header["Authorization"]


@asynccontextmanager
async def opened(fetch: Fetch, **headers: str) -> AsyncGenerator[Page]:
    socket = await fetch("eca", "ws", headers=headers)
    try:
        await reply(socket, START)
        await socket.write_message(json.dumps({"jsonrpc": "2.0", "method": "initialized", "params": {}}))
        yield Page(socket)
    finally:
        socket.close()


@asynccontextmanager
async def gated(root: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[Web]:
    """A server behind OAuth, in the configuration of this Jupyter."""
    monkeypatch.setenv("BROWSER", "false")
    file = root / ".eca" / "config.json"
    async with web(gated=True) as site:
        config = json.loads(file.read_text())
        file.write_text(json.dumps({**config, "mcpServers": {"far": {"url": site.url}}}))
        yield site


async def test_the_browser_comes_back_through_jupyters_own_door(
    jp_root_dir: Path,
    jp_ws_fetch: Fetch,
    token: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with gated(jp_root_dir, monkeypatch) as site, opened(jp_ws_fetch) as page:
        assert (await page.shown("requires-auth"))["hasAuth"] is False
        back = site.gate.sent_back(await page.sent())
        # Whoever has no token sees Jupyter's login, and nothing comes of it before they have logged in.
        stranger = await visit(back)
        assert stranger.url.path.endswith("/login")
        after = str(stranger.url.copy_with(path="/", query=None))[:-1] + stranger.url.params["next"]
        wrong = await visit(back.replace("state=", "state=x"), Authorization=token)
        assert (wrong.status_code, "No sign-in waits" in wrong.text) == (404, True)
        assert site.gate.granted == []
        done = await visit(after, Authorization=token)
        assert (done.status_code, "Signed in" in done.text) == (200, True)
        assert done.headers["Cache-Control"] == "no-store"
        assert (await page.shown("running"))["hasAuth"] is True
        assert (await visit(back, Authorization=token)).status_code == 404
        assert site.gate.granted == ["authorization_code"]
        assert SECRET not in json.dumps(page.heard)
        ours = [record.getMessage() for record in caplog.records if not record.name.startswith("http")]
        assert any("oauth/callback" in line for line in ours)
        assert [record for record in caplog.records if record.levelno >= logging.ERROR] == []
        assert [line for line in ours if SECRET in line] == []
        assert holding(tmp_path, SECRET) == []
        await page.tell("mcp/logoutServer")
        assert (await page.shown("requires-auth"))["hasAuth"] is False
        assert holding(tmp_path, SECRET) == []


async def test_the_browser_comes_back_to_where_its_user_has_this_server(
    jp_root_dir: Path, jp_ws_fetch: Fetch, jp_base_url: str, jp_http_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(jp_root_dir, monkeypatch) as site:
        for said, origin in ((HUB, HUB), ("null", f"http://localhost:{jp_http_port}")):
            async with opened(jp_ws_fetch, Origin=said) as page:
                query = parse_qs(urlsplit(await page.sent()).query)
                assert query["redirect_uri"] == [f"{origin}{jp_base_url}eca/oauth/callback"]
        assert [one["application_type"] for one in site.gate.registered] == ["web", "native"]


async def test_what_the_authorization_server_says_is_shown_as_text(
    jp_root_dir: Path, jp_ws_fetch: Fetch, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(jp_root_dir, monkeypatch) as site, opened(jp_ws_fetch) as page:
        site.gate.says_no = "<script>alert(1)</script>"
        await page.shown("requires-auth")
        answer = await visit(site.gate.sent_back(await page.sent()), Authorization=token)
        assert answer.status_code == 400
        assert "<script>" not in answer.text
        assert "&lt;script&gt;" in answer.text
        assert "said no" in (await page.shown("requires-auth"))["error"]


async def test_an_authorizer_that_says_no_keeps_a_browser_out(
    jp_root_dir: Path, jp_serverapp: Any, jp_ws_fetch: Fetch, token: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(jp_root_dir, monkeypatch) as site, opened(jp_ws_fetch) as page:
        await page.shown("requires-auth")
        back = site.gate.sent_back(await page.sent())
        with monkeypatch.context() as denied:
            denied.setattr(jp_serverapp.authorizer, "is_authorized", denies)
            assert (await visit(back, Authorization=token)).status_code == 403
        assert site.gate.granted == []
        assert (await visit(back, Authorization=token)).status_code == 200


async def test_only_who_asked_is_sent_to_sign_in(
    jp_root_dir: Path, jp_ws_fetch: Fetch, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with gated(jp_root_dir, monkeypatch), opened(jp_ws_fetch) as page, opened(jp_ws_fetch) as other:
        await page.shown("requires-auth")
        await other.shown("requires-auth")
        await page.sent()
        await other.shown("starting")
        await page.tell("mcp/stopServer")
        await other.shown("stopped")
        assert [it for it in other.heard if it.get("method") == "$/showMessage"] == []
