"""The tools there are: ours, those of tool servers, and those that a client lends to one chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca import plugins

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.tools.base import Tool, ToolContext
    from jupyter_eca.workspace.mcp import Manager


class Toolbox:
    def __init__(self, servers: Manager) -> None:
        self._servers = servers
        self._native: dict[str, Tool] = {
            tool.spec.name: tool for tools in plugins.find("tools", "TOOLS").values() for tool in tools
        }
        self._lent: dict[str, tuple[Tool, ...]] = {}

    def all(self, chat: str = "") -> dict[str, Tool]:
        """By the names that models use; with a chat, also those that a client lends it."""
        lent = {tool.spec.name: tool for tool in self._lent.get(chat, ())}
        return {**lent, **self._native, **{tool.spec.name: tool for tool in self._servers.tools()}}

    def get(self, name: str, chat: str = "") -> Tool | None:
        return self.all(chat).get(name)

    def lend(self, chat: str, tools: Sequence[Tool]) -> None:
        """Tools that a client has for one chat, in place of those it had; one that runs goes on."""
        self._lent[chat] = tuple(tools)
        if not tools:
            del self._lent[chat]

    def available(self, has: ToolContext) -> list[Tool]:
        """The tools that can do their work here, whatever the agent."""
        return [tool for tool in self.all(has.chat).values() if all(has.has(need) for need in tool.needs)]
