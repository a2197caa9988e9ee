"""Owns the registry of tools: our native tools, the user's custom tools, the tools of MCP servers, and the tools that a
client adds to one chat.

It must not decide which tools an agent has: `host.turn.setup` does. `plugins.tools` has the tools.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca import redaction
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.tools.base import check_tools
from jupyter_eca.plugins.tools.configured import custom
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import mcp_types

    from jupyter_eca.config import Config
    from jupyter_eca.mcp_client import McpManager
    from jupyter_eca.mcp_client.server import McpServer
    from jupyter_eca.plugins.tools.base import Tool, ToolContext


class ToolRegistry:
    """The tools of one host, by the names that models use."""

    def __init__(self, servers: McpManager) -> None:
        self._servers = servers
        # Our own tools, by name.
        self._native: dict[str, Tool] = {
            tool.spec.name: tool for tools in loader.find("tools", "TOOLS", check_tools).values() for tool in tools
        }
        servers.reserve_names(self._native)
        # The tools that clients have added to chats, by the id of the chat and the client.
        self._client_tools: dict[tuple[str, object], tuple[Tool, ...]] = {}
        # The custom tools of the user, by name.
        self._custom: dict[str, Tool] = {}
        # What the servers offered when the tools were last put together, and how many secrets were known then: a new
        # secret must be hidden in the descriptions of tools, too.
        self._offered: tuple[list[tuple[McpServer, mcp_types.Tool]], int] = [], 0
        # The tools that all chats have.
        self._common = self._native
        self.warnings: tuple[str, ...] = ()
        """Messages for the user about custom tools that were left out."""

    def configure(self, config: Config) -> None:
        """Replace the custom tools by those of a configuration. A custom tool cannot have the name of a native tool."""
        tools = custom.make_tools(config)
        clashing = [name for name in tools if name in self._native]
        self._custom = {name: tool for name, tool in tools.items() if name not in clashing}
        self._combine()
        self.warnings = tuple(f"The custom tool {name!r} was left out: there is one of that name." for name in clashing)

    def get_tools(self, chat: str = "") -> Mapping[str, Tool]:
        """Return all tools by name. With the id of a chat, the tools that clients have added to it are included.

        The same mapping is returned until a tool changes.
        """
        offers = self._servers.list_tools()
        offered = offers, redaction.count_secrets() if offers else 0
        if offered != self._offered:
            self._offered = offered
            self._combine()
        from_clients = {
            tool.spec.name: tool
            for (client_chat, _), tools in self._client_tools.items()
            if client_chat == chat
            for tool in tools
        }
        return {**from_clients, **self._common} if from_clients else self._common

    def _combine(self) -> None:
        """Put the tools of all chats together. Native tools replace custom ones of the same name."""
        from_servers = {tool.spec.name: tool for tool in make_mcp_tools(self._servers)}
        self._common = {**self._custom, **self._native, **from_servers}

    def get(self, name: str, chat: str = "") -> Tool | None:
        """Return the tool of this name, None when there is none. With the id of a chat, the tools that clients have
        added to it are searched too."""
        return self.get_tools(chat).get(name)

    def set_client_tools(self, chat: str, tools: Sequence[Tool], owner: object = None) -> None:
        """Set the tools that a client adds to one chat. They replace the ones that it has added before. `owner` is any
        object that stands for the client: `remove_client_tools` gets the same object. A call that is running
        continues."""
        self._client_tools[chat, owner] = tuple(tools)
        if not tools:
            del self._client_tools[chat, owner]

    def remove_client_tools(self, owner: object) -> None:
        """Remove all tools that a client has added to chats. Called when it disconnects."""
        self._client_tools = {key: tools for key, tools in self._client_tools.items() if key[1] is not owner}

    def list_available(self, context: ToolContext, servers: Collection[str] | None = None) -> list[Tool]:
        """Return the tools whose needs a chat fulfils, whatever the agent is. With `servers`, only the tools of these
        MCP servers are returned; our own tools count as the server `eca`."""
        return [
            tool
            for tool in self.get_tools(context.chat).values()
            if (servers is None or tool.spec.server in servers) and all(context.has(need) for need in tool.needs)
        ]
