"""Ways in to a server: what the story needs of one, over memory and over the pipes of a real process."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tests.support import host_and_client as memory
from tests.support.editor_process import PATIENCE as PROCESS_PATIENCE
from tests.support.editor_process import Editor, editor
from tests.support.raw_client import connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from jupyter_eca.protocol.jsonrpc import Message
    from tests.support.raw_client import Wire


class House(Protocol):
    """A server over `folder`, its workspace. It keeps its chats: opened again it is the same one, started anew."""

    folder: Path
    patience: float

    def open(self) -> AbstractAsyncContextManager[Wire]:
        """A server and a way in; on leaving, the server is ended without a word of warning where that is possible."""
        ...


@dataclass
class Setting:
    """What a server is set up with: the rules of its scripted model, and more of its configuration."""

    folder: Path
    rules: list[dict[str, Any]]
    more: dict[str, Any]

    def write(self) -> None:
        """As the file that a server of its own reads."""
        place = self.folder / ".eca"
        place.mkdir(exist_ok=True)
        script = self.folder.parent
        (place / "config.json").write_text(json.dumps(memory.settings(script, self.rules, **self.more)))


class MemoryHouse:
    patience = memory.PATIENCE

    def __init__(self, setting: Setting) -> None:
        self.folder = setting.folder
        self._setting = setting

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Wire]:
        async with memory.desk(self.folder, self._setting.rules, **self._setting.more) as table:
            client = connect(table)
            try:
                yield client.wire
            finally:
                await client.close()


@dataclass
class ProcessWire:
    at: Editor

    async def send(self, message: Message) -> None:
        await self.at.send(message)

    async def receive(self) -> Message:
        return await self.at.next()


class ProcessHouse:
    patience = PROCESS_PATIENCE

    def __init__(self, setting: Setting) -> None:
        self.folder = setting.folder
        setting.write()

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[Wire]:
        async with editor(self.folder) as at:
            yield ProcessWire(at)
