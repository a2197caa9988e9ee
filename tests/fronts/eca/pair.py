"""Two clients of one desk: one that is given the envelope and one that is not."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import RemoteError
from tests.fronts.eca.editor_client import Book, book
from tests.support.host_and_client import Desk, desk

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "wait", "reply": [{"text": "one "}, {"text": "two " * 500, "chunk": 4, "delay": 0.01}]},
    {"message": "write (?P<path>[^ ]*) (?P<text>.*)", "reply": [
        {"tool": "write_file", "arguments": {"path": "$path", "content": "$text"}}]},
    {"message": "plan sow", "reply": [{"tool": "task", "arguments": {"op": "plan", "tasks": ["sow"]}}]},
    {"message": "plan reap", "reply": [{"tool": "task", "arguments": {"op": "plan", "tasks": ["reap"]}}]},
    {"message": "shell", "reply": [{"tool": "shell_command", "arguments": {"command": "true"}}]},
    {"message": "", "reply": [{"text": "You said {message}", "chunk": 3}]},
]  # fmt: skip


@asynccontextmanager
async def two(folder: Path, **more: Any) -> AsyncGenerator[tuple[Desk, Book, Book]]:
    async with desk(folder, RULES, **more) as table, book(table) as plain, book(table, envelope=True) as envelope:
        yield table, plain, envelope


async def both_show(plain: Book, envelope: Book, *lines: str, chat: Any = "chat") -> None:
    for client in (plain, envelope):
        try:
            await client.until(lambda client=client: client.page(chat) == list(lines))
        except TimeoutError:
            assert client.page(chat) == list(lines)


async def refused(client: Book, method: str, chat: Any = "chat", **params: Any) -> RemoteError:
    with pytest.raises(RemoteError) as error:
        await client.ask(method, chat, **params)
    return error.value
