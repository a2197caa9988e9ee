"""A Jupyter server, as a process, that is ended while the gateway of its models says nothing."""

from __future__ import annotations

import asyncio
import signal
import socket as sockets
from typing import TYPE_CHECKING

import pytest

from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_kill import connect, send, server, until
from tests.support.anthropic_server import Fault
from tests.support.gateway_server import CLAUDE, LoopbackGateway
from tests.support.processes import have_ended

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

    from tornado.websocket import WebSocketClientConnection

pytestmark = pytest.mark.nightly

TOKEN = "a-token-of-the-hub"  # noqa: S105  # only these tests have it


async def ask(folder: Path, process: subprocess.Popen[bytes]) -> WebSocketClientConnection:
    """Ask a model of the gateway as a panel does, which stays open."""
    socket = await connect(folder, process)
    await send(socket, "initialize", {"capabilities": {"codeAssistant": {"chat": True}}}, 1)
    await until(socket, lambda heard: heard.get("id") == 1)
    await send(socket, "chat/prompt", {"message": "hi", "chatId": "c", "model": f"hub/{CLAUDE}"}, 2)
    return socket


def wait_for_question(gateway: LoopbackGateway) -> None:
    """Wait until the gateway is asked for an answer, and not only for its models."""
    gateway.asked.clear()
    while not gateway.asked_for:
        assert gateway.asked.wait(PATIENCE)
        gateway.asked.clear()


def end_server(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    assert have_ended(process.pid)


async def test_a_server_ends_while_the_gateway_of_its_models_answers_nothing(jp_root_dir: Path, tmp_path: Path) -> None:
    with sockets.create_server(("127.0.0.1", 0)) as gateway:
        url = f"http://127.0.0.1:{gateway.getsockname()[1]}"
        with server(tmp_path, jp_root_dir, JUPYTER_ECA_GATEWAY_URL=url, JUPYTERHUB_API_TOKEN=TOKEN) as process:
            socket = await ask(tmp_path, process)
            connection, _ = await asyncio.to_thread(gateway.accept)
            end_server(process)
            connection.close()
            socket.close()


# Before the answer, and after its first words.
@pytest.mark.parametrize("size", [0, 700])
async def test_a_server_ends_while_its_gateway_is_silent_in_an_answer(
    jp_root_dir: Path, tmp_path: Path, size: int
) -> None:
    with LoopbackGateway(TOKEN, [Fault(stall=size)]) as gateway:
        variables = {"JUPYTER_ECA_GATEWAY_URL": gateway.url, "JUPYTERHUB_API_TOKEN": TOKEN}
        with server(tmp_path, jp_root_dir, **variables) as process:
            socket = await ask(tmp_path, process)
            if size:
                await until(socket, lambda heard: heard.get("params", {}).get("role") == "assistant")
            await asyncio.to_thread(wait_for_question, gateway)
            end_server(process)
            socket.close()
