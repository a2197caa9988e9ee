"""Clients of the peers: each opens its connection, asks, and gives the frames of the answer as they come.

Nothing here parses an answer: what is looked for in the frames are words that the model said.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.request import Request, urlopen

import httpx2
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from websockets.asyncio.client import connect

from tests.bench.peers.home import PATIENCE, TOKEN
from tests.bench.peers.model_server import MODEL
from tests.bench.peers.peers import JUPYTERNAUT, Cells

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from contextlib import AbstractAsyncContextManager

    from tests.bench.peers.home import Home, Server


class Client(Protocol):
    def ask(self, question: str) -> AsyncIterator[str]:
        """Give the frames that come, until the peer may be asked again."""
        ...


class Eca:
    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def send(self, method: str, params: dict[str, Any], **more: Any) -> None:
        await self._socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}))

    async def ask(self, question: str) -> AsyncIterator[str]:
        id = uuid.uuid4().hex
        await self.send("chat/prompt", {"chatId": id, "message": question}, id=id)
        async for frame in self._socket:
            yield frame
            if '"state":"finished"' in frame:
                return


@asynccontextmanager
async def eca(server: Server) -> AsyncGenerator[Client]:
    async with _socket(server, "eca/ws") as socket:
        client = Eca(socket)
        await client.send("initialize", {"capabilities": {"codeAssistant": {"chat": True}}}, id="open")
        await _wait_for(socket, '"id":"open"')
        await client.send("initialized", {})
        # The server has told its models.
        await _wait_for(socket, '"type":"finish"')
        yield client


class NotebookIntelligence:
    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def ask(self, question: str) -> AsyncIterator[str]:
        data = {"chatId": uuid.uuid4().hex, "prompt": question, "language": "python", "filename": ""}
        await self._socket.send(json.dumps({"id": uuid.uuid4().hex, "type": "chat-request", "data": data}))
        async for frame in self._socket:
            yield frame
            if '"stream-end"' in frame:
                return


@asynccontextmanager
async def notebook_intelligence(server: Server) -> AsyncGenerator[Client]:
    async with _socket(server, "notebook-intelligence/copilot") as socket:
        yield NotebookIntelligence(socket)


class JupyterAi:
    """Jupyternaut, in a chat without real-time collaboration. A message is sent as a whole each time it grows."""

    def __init__(self, socket: Any) -> None:
        self._socket = socket

    async def ask(self, question: str) -> AsyncIterator[str]:
        message = {"type": "client", "action": "send", "id": uuid.uuid4().hex, "body": question}
        await self._socket.send(json.dumps(message | {"metadata": {"to_persona": JUPYTERNAUT}}))
        async for frame in self._socket:
            yield frame
            if '"action": "writing"' in frame and '"state": false' in frame:
                return


@asynccontextmanager
async def jupyter_ai(server: Server) -> AsyncGenerator[Client]:
    name = f"{uuid.uuid4().hex}.chat"
    (server.home.root / name).write_text("{}")
    async with _socket(server, f"api/chat/ws/{name}") as socket:
        await _wait_for(socket, JUPYTERNAUT)
        yield JupyterAi(socket)


async def _wait_for(socket: Any, sign: str) -> None:
    while sign not in await socket.recv():
        pass


@asynccontextmanager
async def _socket(server: Server, path: str) -> AsyncGenerator[Any]:
    address = f"ws://127.0.0.1:{server.port}/{path}?token={TOKEN}"
    async with connect(address, max_size=None, open_timeout=PATIENCE) as socket:
        yield socket


class Marimo:
    def __init__(self, server: Server, session: str, client: httpx2.AsyncClient) -> None:
        self._server = server
        self._client = client
        self._headers = {"Marimo-Session-Id": session, "Accept": "text/event-stream"}

    async def ask(self, question: str) -> AsyncIterator[str]:
        message = {"id": uuid.uuid4().hex, "role": "user", "parts": [{"type": "text", "text": question}]}
        body = {"id": uuid.uuid4().hex, "uiMessages": [message], "includeOtherCode": "", "model": f"loopback/{MODEL}"}
        address = f"{self._server.url}api/ai/chat"
        async with self._client.stream("POST", address, json=body, headers=self._headers) as response:
            async for text in response.aiter_text():
                yield text


@asynccontextmanager
async def marimo(server: Server) -> AsyncGenerator[Client]:
    """A session exists while a page is connected: this is one."""
    session = f"s_{uuid.uuid4().hex[:6]}"
    await asyncio.to_thread(_read, server.url)
    file = server.home.root / "cells.py"
    address = f"ws://127.0.0.1:{server.port}/ws?session_id={session}&file={file}"
    async with connect(address, max_size=None, open_timeout=PATIENCE) as socket:
        await socket.recv()
        page = await asyncio.to_thread(_read, server.url)
        async with httpx2.AsyncClient(timeout=PATIENCE) as client:
            if found := re.search(r'data-token="([^"]+)"', page):
                client.headers["Marimo-Server-Token"] = found[1]
            yield Marimo(server, session, client)


def _read(url: str) -> str:
    with urlopen(Request(url), timeout=PATIENCE) as answer:  # noqa: S310  # our own server's address
        return answer.read().decode()


class Kernel:
    """A kernel of the peer's environment. Its frames are what it publishes."""

    def __init__(self, home: Home, client: Any) -> None:
        self._home = home
        self._client = client

    async def ask(self, question: str) -> AsyncIterator[str]:
        cells = self._home.peer.cells
        assert isinstance(cells, Cells)
        assert isinstance(cells.cell, str)
        cell = cells.cell.format(url=self._home.model_url, question=question)
        async for frame in self.run(cell):
            yield frame

    async def run(self, cell: str) -> AsyncIterator[str]:
        """Until the kernel is idle again. Raises: RuntimeError with a traceback."""
        id = self._client.execute(cell)
        while True:
            message = await self._client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != id:
                continue
            content = message["content"]
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(content["traceback"]))
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return
            if message["msg_type"] != "execute_input":
                yield json.dumps(content)


@asynccontextmanager
async def kernel(home: Home) -> AsyncGenerator[Kernel]:
    specs = home.folder / "specs"
    argv = [home.environment.python, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    (specs / "bench").mkdir(parents=True, exist_ok=True)
    (specs / "bench" / "kernel.json").write_text(json.dumps({"argv": argv, "display_name": "", "language": "python"}))
    manager: Any = AsyncKernelManager(
        kernel_name="bench", kernel_spec_manager=KernelSpecManager(kernel_dirs=[str(specs)])
    )
    await manager.start_kernel(env=home.env(), cwd=str(home.root))
    client = manager.client()
    client.start_channels()
    try:
        await client.wait_for_ready(timeout=PATIENCE)
        yield Kernel(home, client)
    finally:
        client.stop_channels()
        await manager.shutdown_kernel(now=True)


@asynccontextmanager
async def cells(server: Server) -> AsyncGenerator[Client]:
    async with kernel(server.home) as running:
        cells = server.home.peer.cells
        assert isinstance(cells, Cells)
        async for _ in running.run(f"%load_ext {cells.extension}"):
            pass
        yield running


CLIENTS: Final[dict[str, Callable[[Server], AbstractAsyncContextManager[Client]]]] = {
    "eca": eca,
    "notebook_intelligence": notebook_intelligence,
    "jupyter_ai": jupyter_ai,
    "marimo": marimo,
    "cells": cells,
}
