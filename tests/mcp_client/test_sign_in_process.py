"""Signing in to an MCP server from an editor: a real process, a server of the SDK behind OAuth, and a browser."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Notification
from tests.config.test_credentials import holding
from tests.mcp_client.door import SECRET, state_of
from tests.mcp_client.web import web
from tests.support.editor_process import Editor, editor
from tests.support.file_keyring import read
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

# A browser whose user says yes to everything; it writes down where it was sent. Whatever page it gets it is content
# with: where one browser fails, `webbrowser` tries the next, which may be a real one.
BROWSER = """
import contextlib, sys, urllib.error, urllib.request
with open(sys.argv[1], "a") as book:
    book.write(sys.argv[2] + "\\n")
with contextlib.suppress(urllib.error.HTTPError):
    urllib.request.urlopen(sys.argv[2]).read()
"""


@pytest.fixture
def visited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "browser.py").write_text(BROWSER)
    book = tmp_path / "visited"
    monkeypatch.setenv("BROWSER", f"{sys.executable} {tmp_path / 'browser.py'} {book} %s")
    return book


def workspace(folder: Path, url: str) -> Path:
    (folder / "ws" / ".eca").mkdir(parents=True)
    config = settings(folder, [], mcpServers={"far": {"url": url}})
    (folder / "ws" / ".eca" / "config.json").write_text(json.dumps(config))
    return folder / "ws"


async def shown(at: Editor, status: str) -> dict[str, Any]:
    def far(message: Any) -> bool:
        is_update = isinstance(message, Notification) and message.method == "tool/serverUpdated"
        return is_update and message.params.get("name") == "far" and message.params["status"] == status

    message = await at.until(far)
    assert isinstance(message, Notification)
    return message.params


async def tell(at: Editor, method: str) -> None:
    await at.send(Notification(method, {"name": "far"}))


def text(file: Path) -> str:
    return file.read_text()


def messages(at: Editor) -> list[dict[str, Any]]:
    return [m.params for m in at.heard if isinstance(m, Notification) and m.method == "$/showMessage"]


async def secretive(at: Editor) -> bool:
    """Whether all that it said and logged is free of codes and tokens. Ends it."""
    if at.process.returncode is None:
        at.process.kill()
    assert at.process.stderr is not None
    logged = (await at.process.stderr.read()).decode()
    assert "Traceback" not in logged
    return SECRET not in logged + "".join(map(repr, at.heard))


async def test_an_editors_user_signs_in_once_and_out(tmp_path: Path, visited: Path, system_keyring: Path) -> None:
    async with web(gated=True) as site:
        folder = workspace(tmp_path, site.url)
        async with editor(folder) as at:
            await at.initialize(folder)
            assert (await shown(at, "requires-auth"))["hasAuth"] is False
            await tell(at, "mcp/connectServer")
            running = await shown(at, "running")
            assert running["hasAuth"] is True
            assert {"add"} <= {tool["name"] for tool in running["tools"]}
            (told,) = messages(at)
            assert told["type"] == "info"
            assert told["message"].startswith("Sign in to the MCP server 'far': http")
            assert told["message"].rpartition(" ")[2] == text(visited).strip()
            assert await secretive(at)
        assert SECRET in str(read(system_keyring))
        assert holding(tmp_path, SECRET) == []
        async with editor(folder) as at:
            await at.initialize(folder)
            assert (await shown(at, "running"))["hasAuth"] is True
            await tell(at, "mcp/logoutServer")
            assert (await shown(at, "requires-auth"))["hasAuth"] is False
            assert SECRET not in str(read(system_keyring))
            assert await secretive(at)
        assert holding(tmp_path, SECRET) == []
        assert len(text(visited).splitlines()) == 1


@pytest.mark.nightly
async def test_a_refusal_is_told_and_an_end_in_mid_sign_in_is_no_hang(tmp_path: Path, visited: Path) -> None:
    async with web(gated=True) as site:
        site.gate.says_no = "not you"
        folder = workspace(tmp_path, site.url)
        async with editor(folder) as at:
            await at.initialize(folder)
            await shown(at, "requires-auth")
            await tell(at, "mcp/connectServer")
            assert (await shown(at, "requires-auth"))["error"] == "its authorization server said no: not you"
            sent, warned = messages(at)
            assert (sent["type"], warned["type"]) == ("info", "warning")
            assert "not you" in warned["message"]
            assert state_of(text(visited).strip()) not in warned["message"]
            site.gate.silent = True
            await tell(at, "mcp/connectServer")
            await shown(at, "starting")
            await at.request(2, "shutdown", {})
            await at.send(Notification("exit", {}))
            async with asyncio.timeout(20):
                assert await at.process.wait() == 0
            assert await secretive(at)
