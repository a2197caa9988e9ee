"""What contexts are taken from, in tests: a folder, with its index going."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_eca.plugins.contexts.base import Material, Surroundings
from jupyter_eca.plugins.contexts.resolve import read_materials
from jupyter_eca.protocol.context import ChatQueryContextParams
from jupyter_eca.workspace.files.index import FileIndex
from jupyter_eca.workspace.ports import Files
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.ports import McpServers


@asynccontextmanager
async def near(folder: Path, mcp: McpServers | None = None) -> AsyncGenerator[Surroundings]:
    files = Files((folder,))
    index = FileIndex(files)
    looking = asyncio.create_task(index.run())
    try:
        async with asyncio.timeout(PATIENCE):
            yield Surroundings("chat", files, index, mcp=mcp)
    finally:
        looking.cancel()
        await asyncio.wait((looking,))


def sent(*contexts: dict[str, Any]) -> tuple[ChatContext, ...]:
    """As they come over the wire."""
    return ChatQueryContextParams.model_validate({"contexts": contexts}).contexts


async def given(folder: Path, *contexts: dict[str, Any], mcp: McpServers | None = None) -> list[Material]:
    """What the model is given of them."""
    async with near(folder, mcp) as around:
        return await read_materials(around, sent(*contexts))
