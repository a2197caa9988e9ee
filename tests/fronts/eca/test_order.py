"""What a client is shown before what: Emacs depends on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.protocol.jsonrpc import Message, Notification, Request, Result
from tests.support.host_and_client import desk
from tests.support.raw_client import connect_and_initialize

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.raw_client import SessionClient

pytestmark = pytest.mark.asyncio

ASK: dict[str, Any] = {"tool": "ask_user", "arguments": {"question": "Tea or coffee?", "options": ["tea", "coffee"]}}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "I see."}]},
    {"message": "ask", "reply": [ASK]},
    {"message": "", "reply": [{"text": "Hello."}]},
]


def kinds(client: SessionClient) -> list[str]:
    """Of the contents, up to now."""
    return [told["content"]["type"] for told in client.params("chat/contentReceived")]


def ended(message: Message) -> bool:
    return isinstance(message, Notification) and message.params.get("content", {}).get("state") == "finished"


async def said_hello(client: SessionClient) -> str:
    """The id of the user's message, of which the chat has only one."""
    await client.ask("chat/prompt", {"chatId": "c", "message": "hello"})
    await client.until(ended)
    return client.params("chat/contentReceived")[0]["content"]["contentId"]


async def test_the_question_comes_after_the_call_it_belongs_to(tmp_path: Path) -> None:
    async with (
        desk(tmp_path, RULES) as table,
        connect_and_initialize(table, chatCapabilities={"askQuestion": True}) as client,
    ):
        await client.ask("chat/prompt", {"chatId": "c", "message": "ask", "trust": True})
        asked = await client.until(lambda m: isinstance(m, Request) and m.method == "chat/askQuestion")
        assert "toolCallRunning" in kinds(client)
        assert isinstance(asked, Request)
        await client.link.send(Result(asked.id, {"answer": "tea", "cancelled": False}))
        await client.until(ended)


async def test_a_flag_is_shown_before_the_reply(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as client:
        id = await said_hello(client)
        await client.ask("chat/addFlag", {"chatId": "c", "contentId": id, "text": "here"})
        assert kinds(client)[-1] == "flag"


async def test_what_a_rollback_leaves_is_shown_before_the_reply(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as client:
        id = await said_hello(client)
        await client.ask("chat/rollback", {"chatId": "c", "contentId": id})
        assert client.params("chat/cleared")[-1]["chatId"] == "c"


async def test_a_fork_is_open_before_the_reply(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as client:
        id = await said_hello(client)
        opened = len(client.params("chat/opened"))
        await client.ask("chat/fork", {"chatId": "c", "contentId": id})
        assert len(client.params("chat/opened")) == opened + 1


async def test_a_chat_is_gone_before_the_reply(tmp_path: Path) -> None:
    async with desk(tmp_path, RULES) as table, connect_and_initialize(table) as client:
        await said_hello(client)
        await client.ask("chat/delete", {"chatId": "c"})
        assert client.params("chat/deleted") == [{"chatId": "c"}]
