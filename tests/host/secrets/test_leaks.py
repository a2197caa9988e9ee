"""A secret goes to whom it is for and nowhere else: not to clients, the store, the log, nor any file."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import ErrorResponse, Notification, Request
from tests.host.secrets.house import ENVIRONMENT, HELD, MARK, PLUG, PLUGS, secret, servers, traces, written
from tests.plugins.test_loader import install
from tests.support.editor_process import Editor, editor

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.asyncio

WISHES = ("be well", "be wrong", "be down", "break off")
COMMANDS = ("/config", "/doctor", "/prompt-show hi", "/costs", "/model", "/export", "/login login secret")


async def test_no_secret_is_told_logged_or_kept_whatever_its_source_and_whatever_fails(tmp_path: Path) -> None:
    workspace, site, log = tmp_path / "ws", tmp_path / "site", tmp_path / "stderr"
    workspace.mkdir()
    site.mkdir()
    (site / "somebodys_leaky_plug.py").write_text(PLUG)
    install(site, "providers", **{name: f"somebodys_leaky_plug:{name.upper()}" for name in PLUGS})
    echo, compatible = servers()
    with echo, compatible, log.open("wb") as errors:
        written(tmp_path, echo.url, compatible.url)
        folders = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "JUPYTER_DATA_DIR": str(tmp_path / "data")}
        options = ("--log-level", "debug")
        async with editor(workspace, *options, path=site, errors=errors, **folders, **ENVIRONMENT) as at:
            await at.initialize(workspace)
            await _signs_in(at)
            for name in (*HELD, "login", *PLUGS):
                for wish in WISHES:
                    await _turn(at, wish, f"{name}/m")
            for command in COMMANDS:
                await _turn(at, command, "payload/m")
            await _asks_for_help(at)
            for method in ("mcp/servers", "providers/list"):
                await at.send(Request(method, method, {}))
            for server in ("ends", "arguments", "web"):
                await at.send(Request(f"log of {server}", "mcp/serverLog", {"name": server}))
            await at.until(lambda message: getattr(message, "id", "") == "log of web")
            await at.send(Request("end", "shutdown", None))
            await at.until(lambda message: getattr(message, "id", "") == "end")
            await at.send(Notification("exit", {}))
            async with asyncio.timeout(20):
                await at.process.wait()
        sent = json.dumps([[asked.headers, asked.body] for asked in (*echo.requests, *compatible.requests)])
    assert [name for name in (*HELD, "login", "mcp-header") if not any(one in sent for one in _sent(name))] == []
    said = "\n".join(map(repr, at.heard))
    assert _leaks(said) == []
    logged = log.read_text("utf-8")
    assert "Request options" in logged  # the SDKs do log theirs
    assert "is odd" in logged  # and so does the plug, with its traceback
    assert _leaks(logged) == []
    files = {path: path.read_bytes().decode("latin-1") for path in _files(tmp_path / "data", workspace)}
    assert any(path.name == "chats.db" for path in files)
    assert [path for path in files if MARK in files[path]] == []


def _sent(name: str) -> tuple[str, ...]:
    return (secret(name), *traces(name)[1:])


def _leaks(text: str) -> list[str]:
    """Each with what stands around it."""
    wanted = {trace for name in (*HELD, "login") for trace in traces(name)}
    places = [text.index(trace) for trace in wanted if trace in text]
    return [text[max(0, place - 300) : place + 60] for place in places]


def _files(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


async def _turn(at: Editor, message: str, model: str) -> None:
    params: dict[str, Any] = {"chatId": "c", "message": message, "model": model}
    await at.send(Request(f"{model} {message}", "chat/prompt", params))
    await at.content("progress", state="finished")


async def _asks_for_help(at: Editor) -> None:
    """Of providers that say their key when they fail."""
    await at.send(Request("rewrite", "rewrite/prompt", {"id": "1", "text": "x = 1", "prompt": "better"}))
    await at.until(lambda told: getattr(told, "method", "") == "rewrite/contentReceived" and "failed" in repr(told))
    cursor = {"docText": "x", "docVersion": 1, "position": {"line": 1, "character": 2}}
    await at.send(Request("completion", "completion/inline", cursor))
    await at.until(lambda message: getattr(message, "id", "") == "completion")


async def _signs_in(at: Editor) -> None:
    """With what is no key, with a wrong one, with the right one."""
    for number, data in enumerate(({"key": [secret("odd")]}, {"key": secret("wrong")}, {"key": f"{secret('x')} y"})):
        await at.send(Request(f"wrong {number}", "providers/loginInput", {"provider": "login", "data": data}))
        answer = await at.until(lambda message, id=f"wrong {number}": getattr(message, "id", "") == id)
        assert isinstance(answer, ErrorResponse)
    await at.request(900, "providers/loginInput", {"provider": "login", "data": {"key": secret("login")}})
