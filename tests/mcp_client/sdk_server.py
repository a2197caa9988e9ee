"""A well-behaved server of the SDK: `python sdk_server.py stdio`, or made in process for HTTP."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp_types import ToolAnnotations

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360f8cf500f0003860180"
    "5a346d6b0000000049454e44ae426082"
)


def make() -> MCPServer:
    server = MCPServer("tour", instructions="Be kind to me.")

    @server.tool(annotations=ToolAnnotations(read_only_hint=True))
    def add(a: int, b: int) -> int:
        """Adds."""
        return a + b

    @server.tool()
    def draw() -> Image:
        """Draws a pixel."""
        return Image(data=PIXEL, format="png")

    @server.tool()
    def fail() -> str:
        """Fails."""
        raise ValueError("not today")

    @server.tool()
    async def wait(seconds: float) -> str:
        """Waits."""
        await asyncio.sleep(seconds)
        return "waited"

    @server.tool()
    def environment(name: str) -> str:
        """A variable."""
        return os.environ.get(name, "unset")

    @server.prompt()
    def greet(name: str) -> str:
        """Greets."""
        return f"Say hello to {name}."

    @server.prompt()
    def illustrate() -> list[UserMessage]:
        """Shows a pixel."""
        return [UserMessage("Describe this:"), UserMessage(Image(data=PIXEL, format="png"))]

    @server.resource("memo://today")
    def memo() -> str:
        """A memo."""
        return "buy milk"

    @server.resource("memo://{year}/{month}")
    def memos(year: str, month: str) -> str:
        """A memo of a month."""
        return f"the memo of {year}-{month}"

    return server


if __name__ == "__main__":
    if len(sys.argv) > 2:
        Path(sys.argv[2]).write_text(str(os.getpid()))
    make().run("stdio")
