"""Makes tools of ours from the tools of MCP servers (Model Context Protocol). This module must not start a server:
`mcp_client` does. `host/tools/registry.py` lists the tools together with the native ones.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.errors import ToolError
from jupyter_eca.mcp_client.client_features import McpCaller
from jupyter_eca.mcp_client.tool_names import make_tool_name
from jupyter_eca.plugins.tools.base import Plain
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    import mcp_types

    from jupyter_eca.mcp_client.connection import ServerConnection
    from jupyter_eca.mcp_client.manager import McpManager
    from jupyter_eca.mcp_client.server import McpServer
    from jupyter_eca.plugins.tools.base import ToolContext
    from jupyter_eca.workspace.tool_result import ToolResult

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class McpTool(Plain):
    """A tool of an MCP server."""

    server: McpServer
    """The server that has the tool."""
    name: str
    """The name of the tool at its server."""
    spec: ToolSpec
    """The tool as the model knows it."""
    only_reads: bool
    """Whether the server says that the tool changes nothing. This counts for plan mode, but not for approvals."""

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Call the tool on its server. Raises: ToolError."""
        from jupyter_eca.mcp_client.results import convert_tool_result

        async def call(connection: ServerConnection) -> ToolResult:
            """Call the tool over this connection."""
            self._check_offered(connection)
            result = await connection.call_tool(
                self.name, arguments, McpCaller(context.chat, context.call, context.report)
            )
            await connection.await_list("tools")  # a call may add tools, which are offered before its result
            return convert_tool_result(result)

        return await self.server.use(call)

    def _check_offered(self, connection: ServerConnection) -> None:
        """Check that the server still offers the tool as the model and the user have seen it. While the server was
        starting, they saw the tool that the server had offered when it last ran.

        Raises: ToolError. The text begins in the middle of a sentence, because `McpServer.use` puts the name of the
        server before it.
        """
        now = next((tool for tool in connection.tools if tool.name == self.name), None)
        if now is None:
            raise ToolError(f"it no longer has the tool {self.name!r}; nothing was called")
        if make_mcp_tool(self.server, now).spec != self.spec:
            raise ToolError(
                f"its tool {self.name!r} has changed since it was offered; nothing was called. Look at it again, and "
                "call it anew if it still fits"
            )


def make_mcp_tools(servers: McpManager) -> list[McpTool]:
    """Return the tools of all running servers. If two servers have the same name for a tool, the first one is
    returned."""
    found: dict[str, McpTool] = {}
    for server, tool in servers.list_tools():
        candidate = make_mcp_tool(server, tool)
        if found.setdefault(candidate.spec.name, candidate) is not candidate:
            _log.warning("%r of %r is left out: its name is taken", tool.name, server.name)
    return list(found.values())


def make_mcp_tool(server: McpServer, tool: mcp_types.Tool) -> McpTool:
    """Return a tool of a server as a tool of ours. Braces in its title are doubled, because a summary is a template."""
    hints = tool.annotations
    title = tool.title or (hints and hints.title) or tool.name
    spec = ToolSpec(
        make_tool_name(server.name, tool.name),
        redaction.redact(tool.description or title),  # a server may repeat a secret that we gave to it
        tool.input_schema,
        server=server.name,
        origin=Origin.MCP,
        summary=f"{title} ({server.name})".replace("{", "{{").replace("}", "}}"),
        read_only_hint=bool(hints and hints.read_only_hint),
    )
    return McpTool(server, tool.name, spec, spec.read_only_hint)
