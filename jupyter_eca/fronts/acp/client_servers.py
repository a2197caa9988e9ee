"""Owns the MCP servers (Model Context Protocol) that a client of the Agent Client Protocol (ACP) passes to a session.
Their tools belong to this session only, and the servers end when the session ends.

It must not know the session. `mcp_client/` runs the servers, and `host/tools/registry.py` offers the tools to the
model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config import McpServerConfig
from jupyter_eca.plugins.tools.configured.mcp_tool import make_mcp_tools
from jupyter_eca.protocol.acp.requests import StdioServer
from jupyter_eca.protocol.mcp import ServerStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from jupyter_eca.host.host import Host
    from jupyter_eca.protocol.acp.requests import McpServerEntry
    from jupyter_eca.protocol.mcp import ToolServerUpdatedParams

# The names of these servers begin with this prefix. Otherwise an approval rule for a server that the user has
# configured would also apply to a server of the same name that a client passes.
PREFIX: Final = "acp_"


class ClientServers:
    """The MCP servers of one session."""

    def __init__(
        self, host: Host, chat: str, folder: Path, entries: Iterable[McpServerEntry], warn: Callable[[str], None]
    ) -> None:
        """`chat` is the chat that gets the tools, `folder` the working directory, and `entries` are the servers as the
        client has sent them. `warn` shows a message to the user, for example that a server has failed."""
        self._host = host
        self._chat = chat
        self._warn = warn
        self._warned: set[str] = set()  # the names of the servers whose failure was shown to the user
        servers = {f"{PREFIX}{entry.name}": _make_settings(entry) for entry in entries}
        self._names = frozenset(servers)  # with the prefix
        self._manager = host.make_mcp_manager(servers, folder, self._handle_server_change)
        self._is_closed = False  # whether the servers were ended, so that no tools may be offered any more

    async def run(self) -> None:
        """Run the servers until this is cancelled. Then end them, and take their tools away from the model."""
        try:
            await self._manager.run()
        finally:
            self._is_closed = True
            self._host.toolbox.set_client_tools(self._chat, (), self)

    async def await_tools(self) -> None:
        """Wait until all servers run or have failed, but not longer than the setting `mcpTimeoutSeconds`. Then offer
        their tools. Many clients prompt immediately after `session/new`, when the servers are still starting."""
        await self._manager.await_started(self._host.config.mcp_timeout_seconds)
        self._offer_tools()

    def _offer_tools(self) -> None:
        """Offer the tools that the servers have now to the model."""
        if self._is_closed:
            return
        tools = [tool for tool in make_mcp_tools(self._manager) if tool.spec.server in self._names]
        self._host.toolbox.set_client_tools(self._chat, tools, self)

    def _handle_server_change(self, server: ToolServerUpdatedParams) -> None:
        """Offer the tools again after a server has changed. If the server has failed, show a message, but only once."""
        if server.name not in self._names:
            return
        self._offer_tools()
        if server.status in {ServerStatus.FAILED, ServerStatus.REQUIRES_AUTH} and server.name not in self._warned:
            self._warned.add(server.name)
            reason = server.error or server.status.value
            name = server.name.removeprefix(PREFIX)
            self._warn(f"The MCP server {name!r} cannot be used: {reason}. The session goes on without it.")


def _make_settings(entry: McpServerEntry) -> McpServerConfig:
    """Return the settings of a server that a client has sent."""
    if isinstance(entry, StdioServer):
        variables = {variable.name: variable.value for variable in entry.env}
        return McpServerConfig.model_validate({"command": entry.command, "args": entry.args, "env": variables})
    headers = {header.name: header.value for header in entry.headers}
    return McpServerConfig.model_validate({"url": entry.url, "headers": headers})
