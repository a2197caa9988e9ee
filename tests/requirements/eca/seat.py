"""A client of today that speaks in raw messages, at a host with a scripted model."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.protocol.jsonrpc import Notification, Request
from tests.support.host_and_client import Desk, desk
from tests.support.raw_client import MemoryClient, connect

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

# What a client of today says of itself, without the editor.
TODAY: dict[str, Any] = {"chat": True, "chatCapabilities": {"askQuestion": True}}
CONTENT = "chat/contentReceived"
ALLOW_ALL: dict[str, Any] = {"approval": {"byDefault": "allow"}}


@asynccontextmanager
async def seat(
    folder: Path, rules: list[dict[str, Any]], can: dict[str, Any] = TODAY, **more: Any
) -> AsyncGenerator[tuple[Desk, MemoryClient]]:
    async with desk(folder, rules, **more) as table:
        at = connect(table)
        await at.initialize(can)
        try:
            yield table, at
        finally:
            await at.close()


async def prompt(at: MemoryClient, message: str, chat: str = "c", **more: Any) -> str:
    """A whole turn; gives what the model said in it."""
    before = len(at.heard)
    at.catch_up()
    await at.result("chat/prompt", {"chatId": chat, "message": message, **more})
    await at.finished()
    return words(at, before)


def words(at: MemoryClient, since: int = 0, role: str = "assistant") -> str:
    said = [one.params for one in at.heard[since:] if isinstance(one, Notification) and one.method == CONTENT]
    return "".join(p["content"]["text"] for p in said if p["role"] == role and p["content"]["type"] == "text")


async def asked(at: MemoryClient, method: str, answer: Any) -> dict[str, Any]:
    """The next request of the server's, answered; gives its parameters."""
    question = await at.until(lambda message: isinstance(message, Request) and message.method == method)
    await at.answer(question, answer)
    return question.params


async def told(at: MemoryClient, method: str, **fields: Any) -> dict[str, Any]:
    """The next notification of a method, with these parameters."""

    def wanted(message: object) -> bool:
        if not (isinstance(message, Notification) and message.method == method):
            return False
        return all(message.params.get(name) == value for name, value in fields.items())

    return (await at.until(wanted)).params
