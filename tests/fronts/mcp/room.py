"""The assistant's MCP front over a host with a scripted model, joined to the SDK's own client in memory."""

from __future__ import annotations

import json
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import mcp_types as types
from mcp import Client

from jupyter_eca.fronts.mcp.assistant import Assistant
from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.ports import Files
from tests.support.host_and_client import Desk, desk

if TYPE_CHECKING:
    import asyncio
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from mcp.client.context import ClientRequestContext

LEGACY, MODERN = "legacy", "2026-07-28"

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It said: {result}"}]},
    {"message": "write", "reply": [{"text": "I write. "},
                                   {"tool": "write_file", "arguments": {"path": "made.txt", "content": "x"}}]},
    {"message": "ask", "reply": [{"tool": "ask_user", "arguments": {"question": "Which?", "options": ["a", "b"]}}]},
    {"message": "break", "reply": [{"error": "The endpoint broke off."}]},
    {"message": "slow", "reply": [{"text": "word " * 2000, "chunk": 5, "delay": 0.01}]},
    {"message": "", "reply": [{"text": "Hello, {message}"}]},
]  # fmt: skip

BOOK: dict[str, Any] = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {},
    "cells": [
        {"id": "a", "cell_type": "code", "source": "x = 1", "metadata": {}, "execution_count": None, "outputs": []}
    ],
}


@dataclass
class User:
    """Whoever sits at an MCP client: what they were asked, and what they answer."""

    answers: dict[str, Any] | None = None
    asked: list[str] = field(default_factory=list[str])
    hold: asyncio.Event | None = None

    async def __call__(self, context: ClientRequestContext, params: types.ElicitRequestParams) -> types.ElicitResult:
        del context
        self.asked.append(params.message)
        if self.hold is not None:
            await self.hold.wait()
        if self.answers is None:
            return types.ElicitResult(action="decline")
        return types.ElicitResult(action="accept", content=self.answers)


@dataclass
class Room:
    desk: Desk
    front: McpFront

    @asynccontextmanager
    async def client(self, mode: str = MODERN, user: User | None = None) -> AsyncGenerator[Client]:
        info = types.Implementation(name="tester", title="Tester", version="1")
        async with Client(self.front.server, mode=mode, elicitation_callback=user, client_info=info) as client:
            yield client


@asynccontextmanager
async def room(folder: Path, rules: list[dict[str, Any]] | None = None, **config: Any) -> AsyncGenerator[Room]:
    (folder / "book.ipynb").write_text(json.dumps(BOOK))
    (folder / "a.txt").write_text("one\ntwo\n")
    config = {"toolCall": allowed(), **config}
    async with desk(folder, rules or RULES, NotebookFiles(Files((folder,))), **config) as table:
        assistant = Assistant(table.host, panel=True)
        front = McpFront(assistant)
        async with front.running():
            yield Room(table, front)
        assistant.close()


def allowed(*tools: str) -> dict[str, Any]:
    """Besides those that only look."""
    return {"approval": {"allow": {tool: {} for tool in ("read_file", "notebook_read", *tools)}}}


async def call(client: Client, name: str, /, **arguments: Any) -> tuple[bool, Any]:
    """Whether it failed, and the data of its one text."""
    result = await client.call_tool(name, arguments)
    assert isinstance(result.content[0], types.TextContent)
    return result.is_error, json.loads(result.content[0].text)


async def ok(client: Client, name: str, /, **arguments: Any) -> Any:
    failed, data = await call(client, name, **arguments)
    assert not failed, data
    return data
