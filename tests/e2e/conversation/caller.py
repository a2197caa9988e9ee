"""The client that tells the long story: what it waits for, and how it looks back at a turn.

Sending and keeping messages is `tests.support.raw_client`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.support.raw_client import RawClient, content_params, has

if TYPE_CHECKING:
    from jupyter_eca.protocol.jsonrpc import Message


class Caller(RawClient):
    """What is waited for and looked back at is of the chat `c`, where no other is named."""

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
        return await super().content(kind, chat, **fields)

    async def finished(self, chat: Any = "c") -> None:
        """Wait until a turn has ended; nothing of it comes after that."""
        await super().finished(chat)

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
