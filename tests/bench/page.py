"""A page of the least cost: it asks over the server's WebSocket and only counts what comes."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from websockets.asyncio.client import connect

from tests.bench.processes import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from websockets.asyncio.client import ClientConnection


@dataclass
class Heard:
    """Of one answer: `first` is the earliest text of the model and `first_at` when it came (monotonic)."""

    seconds: float = 0.0
    messages: int = 0
    size: int = 0
    first: str = ""
    first_at: float = 0.0


class Page:
    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent = 0

    async def send(self, method: str, params: dict[str, Any], **more: Any) -> None:
        await self._socket.send(json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}))

    async def receive(self) -> bytes:
        return await self._socket.recv(decode=False)

    async def until(self, sign: str) -> None:
        while sign not in str(await self._socket.recv()):
            pass

    async def ask(self, message: str) -> Heard:
        """In a new chat, until it is finished."""
        heard = Heard()
        self._sent += 1
        began = monotonic()
        await self.send("chat/prompt", {"chatId": f"chat-{self._sent}", "message": message}, id=self._sent)
        while True:
            frame = await self.receive()
            heard.messages += 1
            heard.size += len(frame)
            if not heard.first_at and b'"role":"assistant"' in frame and b'"type":"text"' in frame:
                heard.first_at = monotonic()
                heard.first = json.loads(frame)["params"]["content"]["text"]
            if b'"state":"finished"' in frame:
                heard.seconds = monotonic() - began
                return heard


@asynccontextmanager
async def page(port: int) -> AsyncGenerator[Page]:
    """The page of a server that was started with the token `secret`. See `page_at`."""
    async with page_at(f"ws://127.0.0.1:{port}/eca/ws?token=secret") as opened:
        yield opened


@asynccontextmanager
async def page_at(address: str, **headers: str) -> AsyncGenerator[Page]:
    """Once the server has told its models: looking for them is not part of an answer."""
    async with connect(address, max_size=None, open_timeout=PATIENCE, additional_headers=headers) as socket:
        opened = Page(socket)
        await opened.send("initialize", {"capabilities": {"codeAssistant": {"chat": True}}}, id="open")
        await opened.until('"id":"open"')
        await opened.send("initialized", {})
        await opened.until('"type":"finish"')
        yield opened
