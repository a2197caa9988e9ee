"""A client that speaks in raw messages: requests and what comes of them, word for word."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.jsonrpc import Failure, Message, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, pair
from tests.support.host_and_client import PATIENCE, Desk, Door

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable


@dataclass
class Line:
    link: MemoryLink
    session: EcaSession
    serving: asyncio.Task[None]
    heard: list[Message] = field(default_factory=list[Message])
    _sent: int = 0

    async def send(self, method: str, params: dict[str, Any]) -> int:
        self._sent += 1
        await self.link.send(Request(self._sent, method, params))
        return self._sent

    async def ask(self, method: str, params: dict[str, Any]) -> Result | Failure:
        return await self.reply(await self.send(method, params))

    async def reply(self, id: int) -> Result | Failure:
        found = await self.until(lambda m: isinstance(m, Result | Failure) and m.id == id)
        assert isinstance(found, Result | Failure)
        return found

    async def until(self, wanted: Callable[[Message], bool]) -> Message:
        """The first message of that kind, also if it has come already."""
        for message in self.heard:
            if wanted(message):
                return message
        async with asyncio.timeout(PATIENCE):
            async for message in self.link:
                assert not isinstance(message, Exception)
                self.heard.append(message)
                if wanted(message):
                    return message
        raise AssertionError(f"the link ended before it came; heard {self.heard}")

    def told(self, method: str) -> list[dict[str, Any]]:
        return [m.params for m in self.heard if isinstance(m, Notification) and m.method == method]


@asynccontextmanager
async def line(table: Desk, *, sees_all: bool = True, **can: Any) -> AsyncGenerator[Line]:
    """A client with these capabilities that has been told of the set-up."""
    ours, theirs = pair()
    session = EcaSession(theirs, Door(table.host, sees_all))
    made = Line(ours, session, table.tasks.create_task(session.run()))
    try:
        await made.ask("initialize", {"processId": None, "capabilities": {"codeAssistant": can}})
        await made.link.send(Notification("initialized", {}))
        await made.until(lambda m: isinstance(m, Notification) and m.params.get("type") == "finish")
        made.heard.clear()
        yield made
    finally:
        await ours.close()
