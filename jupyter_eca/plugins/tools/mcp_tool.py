"""The tools of MCP servers as tools of ours. It starts no server: `mcp_client` does; `host/tools/registry.py` puts
them beside the native ones.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jupyter_eca import redaction
from jupyter_eca.engine.model.request import ToolSpec
from jupyter_eca.mcp_client.caller import McpCaller
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
    """The tool of a server. `reads` is what the server claims: enough for plan mode, never for approval."""

    server: McpServer
    name: str
    spec: ToolSpec
    reads: bool

    async def run(self, context: ToolContext, arguments: dict[str, Any]) -> ToolResult:
        """Call the tool on its server. Raises: ToolError."""
        from jupyter_eca.mcp_client.results import convert_tool_result

        async def call(connection: ServerConnection) -> ToolResult:
            result = await connection.call_tool(
                self.name, arguments, McpCaller(context.chat, context.call, context.report)
            )
            await connection.await_list("tools")  # a call may add tools: they are offered before its result
            return convert_tool_result(result)

        return await self.server.use(call)


def mcp_tools(servers: McpManager) -> list[McpTool]:
    """Return the tools of the running servers. When two servers name a tool alike, the first server keeps the name."""
    found: dict[str, McpTool] = {}
    for server, tool in servers.list_tools():
        made = mcp_tool(server, tool)
        if found.setdefault(made.spec.name, made) is not made:
            _log.warning("%r of %r is left out: its name is taken", tool.name, server.name)
    return list(found.values())


def mcp_tool(server: McpServer, tool: mcp_types.Tool) -> McpTool:
    hints = tool.annotations
    title = tool.title or (hints and hints.title) or tool.name
    spec = ToolSpec(
        make_tool_name(server.name, tool.name),
        redaction.redact(tool.description or title),  # a server may repeat a secret that we gave to it
        tool.input_schema,
        server=server.name,
        origin=Origin.MCP,
        summary=f"{title} ({server.name})".replace("{", "{{").replace("}", "}}"),
        reads=bool(hints and hints.read_only_hint),
    )
    return McpTool(server, tool.name, spec, spec.reads)
