"""The tools there are: ours, the user's own, those of tool servers, and those that a client lends to one chat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.plugins import loader
from jupyter_eca.plugins.tools import custom
from jupyter_eca.plugins.tools.mcp_tool import mcp_tools

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.config import Config
    from jupyter_eca.mcp_client import McpManager
    from jupyter_eca.plugins.tools.base import Tool, ToolContext


class ToolRegistry:
    def __init__(self, servers: McpManager) -> None:
        self._servers = servers
        self._native: dict[str, Tool] = {
            tool.spec.name: tool for tools in loader.find("tools", "TOOLS").values() for tool in tools
        }
        # By the chat and whoever lends it.
        self._lent: dict[tuple[str, object], tuple[Tool, ...]] = {}
        self._custom: dict[str, Tool] = {}
        self.complaints: tuple[str, ...] = ()

    def configure(self, config: Config) -> None:
        """The custom tools of a configuration. `complaints` are about those that cannot be had, for the user."""
        made = custom.tools(config)
        clashing = [name for name in made if name in self._native]
        self._custom = {name: tool for name, tool in made.items() if name not in clashing}
        self.complaints = tuple(
            f"The custom tool {name!r} was left out: there is one of that name." for name in clashing
        )

    def all(self, chat: str = "") -> dict[str, Tool]:
        """By the names that models use; with a chat, also those that a client lends it."""
        lent = {one.spec.name: one for (to, _), tools in self._lent.items() if to == chat for one in tools}
        return {**lent, **self._custom, **self._native, **{tool.spec.name: tool for tool in mcp_tools(self._servers)}}

    def get(self, name: str, chat: str = "") -> Tool | None:
        return self.all(chat).get(name)

    def lend(self, chat: str, tools: Sequence[Tool], owner: object = None) -> None:
        """Tools that a client has for one chat, in place of those it had; one that runs goes on."""
        self._lent[chat, owner] = tuple(tools)
        if not tools:
            del self._lent[chat, owner]

    def take_back(self, owner: object) -> None:
        """A client that lent tools has gone."""
        self._lent = {key: tools for key, tools in self._lent.items() if key[1] is not owner}

    def list_available(self, context: ToolContext) -> list[Tool]:
        """The tools that can do their work here, whatever the agent."""
        return [tool for tool in self.all(context.chat).values() if all(context.has(need) for need in tool.needs)]
