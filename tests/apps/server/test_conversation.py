"""The conversation of `tests/e2e/conversation` over the authenticated WebSocket of a Jupyter server."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from jupyter_eca.protocol.jsonrpc import Message, decode, encode
from tests.apps.server.cells import PATIENCE
from tests.apps.server.test_kill import connect, server
from tests.e2e.conversation.script import MORE, RULES
from tests.e2e.conversation.story import tell
from tests.e2e.conversation.wire import Setting

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from tornado.websocket import WebSocketClientConnection

    from tests.support.raw_client import Wire


@dataclass
class WebSocketWire:
    socket: WebSocketClientConnection

    async def send(self, message: Message) -> None:
        await self.socket.write_message(encode(message))

    async def receive(self) -> Message:
        text = await self.socket.read_message()
        assert text is not None, "the server ended"
        return decode(text)


class WebSocketHouse:
    patience = PATIENCE

    def __init__(self, setting: Setting) -> None:
        self.folder = setting.folder
        setting.write()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Wire]:
        with server(self.folder.parent, self.folder) as process:
            socket = await connect(self.folder.parent, process)
            try:
                yield WebSocketWire(socket)
            finally:
                socket.close()


@pytest.mark.nightly
async def test_the_whole_conversation(tmp_path: Path) -> None:
    folder = tmp_path / "workspace"
    folder.mkdir()
    await tell(WebSocketHouse(Setting(folder, RULES, MORE)))
