"""A real Jupyter server that is killed in the middle of an answer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tornado.httpclient import HTTPClientError
from tornado.websocket import WebSocketClientConnection, websocket_connect

from jupyter_eca.config.trust import trusted_folders
from tests.apps.server.cells import PATIENCE
from tests.support.editor_process import environment

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path


@contextmanager
def server(folder: Path, root: Path, **variables: str) -> Generator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "jupyter_server", "--no-browser", "--allow-root", "--ServerApp.port=0"]
    options = [f"--ServerApp.root_dir={root}", "--IdentityProvider.token=secret", "--EcaApp.approve_with_token=True"]
    extension = "--ServerApp.jpserver_extensions={'jupyter_eca': True}"
    runtime = {"JUPYTER_RUNTIME_DIR": str(folder / "runtime"), "JUPYTER_CONFIG_DIR": str(folder / "etc")}
    runtime[trusted_folders.VARIABLE] = str(root)
    process = subprocess.Popen(
        [*command, *options, extension], env=environment(folder) | runtime | variables, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


async def connect(folder: Path, process: subprocess.Popen[bytes]) -> WebSocketClientConnection:
    """Once the server listens; it notes its port in its runtime folder."""
    note = folder / "runtime" / f"jpserver-{process.pid}.json"
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                port = json.loads(note.read_text())["port"]
                return await websocket_connect(f"ws://127.0.0.1:{port}/eca/ws?token=secret")
            except (OSError, ValueError, HTTPClientError):
                await asyncio.sleep(0.05)


async def send(socket: WebSocketClientConnection, method: str, params: dict[str, Any], id: int) -> None:
    await socket.write_message(json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))


async def hear(socket: WebSocketClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(PATIENCE):
        message = await socket.read_message()
    assert message is not None
    return json.loads(message)


async def until(socket: WebSocketClientConnection, is_wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    while not is_wanted(message := await hear(socket)):
        pass
    return message


def text_of(message: dict[str, Any]) -> str:
    params = message.get("params", {})
    return params["content"].get("text", "") if params.get("role") == "assistant" else ""


async def test_after_a_kill_in_mid_answer_the_chat_opens_with_everything_that_was_shown(
    jp_root_dir: Path, tmp_path: Path
) -> None:
    shown = ""
    with server(tmp_path, jp_root_dir) as first:
        socket = await connect(tmp_path, first)
        await send(socket, "initialize", {}, 1)
        await send(socket, "chat/prompt", {"message": "slow", "chatId": "c"}, 2)
        while shown.count("word") < 50:
            shown += text_of(await hear(socket))
        first.kill()
        first.wait()
        while (late := await socket.read_message()) is not None:
            shown += text_of(json.loads(late))
        socket.close()
    with server(tmp_path, jp_root_dir) as second:
        socket = await connect(tmp_path, second)
        await send(socket, "initialize", {}, 1)
        await send(socket, "chat/open", {"chatId": "c"}, 2)
        heard: list[dict[str, Any]] = []
        while not heard or heard[-1].get("id") != 2:
            heard.append(await hear(socket))
        assert heard[-1]["result"]["found"]
        assert "".join(map(text_of, heard)).startswith(shown)
        assert "The server ended during this answer" in str(heard)
        socket.close()
