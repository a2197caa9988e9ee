"""A client without manners of its own: what it is told to, it sends; what it is sent, it keeps."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_eca.fronts.eca.session import EcaSession
from jupyter_eca.protocol.jsonrpc import Failure, Notification, Request, Result
from jupyter_eca.transport.memory import MemoryLink, pair
from tests.support.host_and_client import PATIENCE, Desk, Door

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.errors import FrameError
    from jupyter_eca.protocol.jsonrpc import Id, Message


class Raw:
    def __init__(self, link: MemoryLink) -> None:
        self.link = link
        self.heard: list[Message | FrameError] = []
        self._sent = 0

    async def until(self, wanted: Callable[[Message | FrameError], bool]) -> Any:
        async with asyncio.timeout(PATIENCE):
            async for message in self.link:
                self.heard.append(message)
                if wanted(message):
                    return message
        raise AssertionError(f"the link ended before it came; heard {self.heard}")

    async def reply(self, id: Id | None) -> Result | Failure:
        return await self.until(lambda message: isinstance(message, Result | Failure) and message.id == id)

    async def ask(self, method: str, params: Any = None, id: Id | None = None) -> Result | Failure:
        self._sent += 1
        id = self._sent if id is None else id
        await self.link.send(Request(id, method, params))
        return await self.reply(id)

    async def result(self, method: str, params: Any = None) -> Any:
        reply = await self.ask(method, params)
        assert isinstance(reply, Result), reply
        return reply.result

    async def code(self, method: str, params: Any = None) -> int | None:
        """Of the error that the request is answered with; None when it is answered."""
        reply = await self.ask(method, params)
        return reply.code if isinstance(reply, Failure) else None

    async def tell(self, method: str, params: Any = None) -> None:
        await self.link.send(Notification(method, params))

    async def initialize(self, can: Any = None, **options: Any) -> Any:
        params = {"initializationOptions": options, "capabilities": {"codeAssistant": can}}
        return await self.result("initialize", params)

    async def content(self, kind: str, **fields: Any) -> dict[str, Any]:
        """The next content of a kind, with these fields."""

        def wanted(message: Message | FrameError) -> bool:
            if not (isinstance(message, Notification) and message.method == "chat/contentReceived"):
                return False
            content: dict[str, Any] = message.params["content"]
            return content["type"] == kind and all(content.get(name) == value for name, value in fields.items())

        return (await self.until(wanted)).params["content"]

    async def finished(self) -> None:
        """Until the turn has ended."""
        await self.content("progress", state="finished")

    @property
    def methods(self) -> list[str]:
        """Of the notifications it was sent."""
        return [message.method for message in self.heard if isinstance(message, Notification)]

    def params(self, method: str) -> list[Any]:
        """Of the notifications of a method."""
        return [one.params for one in self.heard if isinstance(one, Notification) and one.method == method]

    @property
    def contents(self) -> list[str]:
        """The kinds of content it was sent, without repetition, in order."""
        kinds = [params["content"]["type"] for params in self.params("chat/contentReceived")]
        return [kind for i, kind in enumerate(kinds) if i == 0 or kinds[i - 1] != kind]

    async def close(self) -> None:
        await self.link.close()


def raw(table: Desk) -> Raw:
    ours, theirs = pair()
    table.tasks.create_task(EcaSession(theirs, Door(table.host)).run())
    return Raw(ours)
