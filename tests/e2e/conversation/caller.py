"""A client as ECA's documents see one: it sends JSON-RPC, and keeps what it is sent in the order in which it came."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.jsonrpc import Failure, Message, Notification, Request, Result

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.e2e.conversation.wire import Wire


@dataclass
class Caller:
    """`read` is how far the story has got: what is waited for comes after that. Replies may come at any place."""

    wire: Wire
    patience: float
    heard: list[Message] = field(default_factory=list[Message])
    read: int = 0
    _sent: int = 0

    # -- sending

    async def request(self, method: str, params: Any = None) -> Any:
        """Its result. A refusal fails the story."""
        reply = await self.reply(method, params)
        assert isinstance(reply, Result), f"{method}: {reply}"
        return reply.result

    async def refused(self, method: str, params: Any = None) -> int:
        reply = await self.reply(method, params)
        assert isinstance(reply, Failure), f"{method}: {reply}"
        return reply.code

    async def reply(self, method: str, params: Any) -> Result | Failure:
        since = len(self.heard)
        id = await self.send(method, params)
        found = await self._find(lambda m: isinstance(m, Result | Failure) and m.id == id, since)
        reply = self.heard[found]
        assert isinstance(reply, Result | Failure)
        return reply

    async def send(self, method: str, params: Any) -> int:
        """A request whose reply nobody waits for."""
        self._sent += 1
        await self.wire.send(Request(self._sent, method, params))
        return self._sent

    async def tell(self, method: str, params: Any = None) -> None:
        await self.wire.send(Notification(method, params))

    async def answer(self, asked: Request, result: Any) -> None:
        await self.wire.send(Result(asked.id, result))

    # -- hearing

    async def _find(self, wanted: Callable[[Message], bool], since: int) -> int:
        """Where it is, or will be."""
        at = since
        try:
            async with asyncio.timeout(self.patience):
                while True:
                    while at < len(self.heard):
                        if wanted(self.heard[at]):
                            return at
                        at += 1
                    self.heard.append(await self.wire.receive())
        except TimeoutError:
            raise AssertionError(f"it did not come; heard {self.heard[since:]}") from None

    async def until(self, wanted: Callable[[Message], bool]) -> Any:
        """The next such message."""
        at = await self._find(wanted, self.read)
        self.read = at + 1
        return self.heard[at]

    async def asked(self, method: str) -> Request:
        """The next request of the server's."""
        return await self.until(lambda m: isinstance(m, Request) and m.method == method)

    async def told(self, method: str, **fields: Any) -> dict[str, Any]:
        """Parameters of the next notification with these fields."""

        def wanted(message: Message) -> bool:
            return isinstance(message, Notification) and message.method == method and has(message.params, fields)

        return (await self.until(wanted)).params

    async def content(self, kind: str, chat: Any = "c", **fields: Any) -> dict[str, Any]:
        """The next content of a kind in a chat, with these fields."""

        def wanted(message: Message) -> bool:
            params = content_params(message)
            return bool(params) and params["chatId"] == chat and has(params["content"], {"type": kind, **fields})

        return (await self.until(wanted)).params["content"]

    async def finished(self, chat: Any = "c") -> None:
        """Until a turn has ended; nothing of it comes after that."""
        await self.content("progress", chat, state="finished")

    # -- looking back

    @property
    def now(self) -> int:
        """A place to look back to."""
        return len(self.heard)

    def contents(self, since: int, chat: Any = "c") -> list[dict[str, Any]]:
        found = (content_params(message) for message in self.heard[since:])
        return [params for params in found if params and params["chatId"] == chat]

    def said(self, since: int, chat: Any = "c", role: str = "assistant") -> str:
        texts = (p["content"] for p in self.contents(since, chat) if p["role"] == role)
        return "".join(content["text"] for content in texts if content["type"] == "text")

    def order(self, since: int, chat: Any = "c") -> list[str]:
        """What the chat was told, each kind of thing once for each run of it."""
        names = [name_of(message) for message in self.heard[since:] if about(message, chat)]
        return [name for i, name in enumerate(names) if i == 0 or names[i - 1] != name]

    def ends(self, since: int, chat: Any = "c") -> list[str]:
        """The contents that ended tool calls, as kind and name."""
        contents = [params["content"] for params in self.contents(since, chat)]
        ended = [content for content in contents if content["type"] in {"toolCalled", "toolCallRejected"}]
        return [f"{content['type']} {content['name']}" for content in ended]


def content_params(message: Message) -> dict[str, Any]:
    """Empty for anything else."""
    if isinstance(message, Notification) and message.method == "chat/contentReceived":
        return message.params
    return {}


def has(data: dict[str, Any], fields: dict[str, Any]) -> bool:
    return all(data.get(name) == value for name, value in fields.items())


def about(message: Message, chat: Any) -> bool:
    return isinstance(message, Notification) and has(message.params, {"chatId": chat})


def name_of(message: Message) -> str:
    """Short and telling: `status idle`, `user text`, `progress finished`, `toolCallRun`, `chat/opened`."""
    assert isinstance(message, Notification)
    match message.method, message.params:
        case "chat/statusChanged", {"status": status}:
            return f"status {status}"
        case "chat/contentReceived", {"content": {"type": "text"}, "role": role}:
            return f"{role} text"
        case "chat/contentReceived", {"content": {"type": "progress", "state": state}}:
            return f"progress {state}"
        case "chat/contentReceived", {"content": {"type": kind}}:
            return kind
        case method, _:
            return method
