"""A resource of a server of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.contexts.base import Material
from jupyter_eca.contexts.reading.text import capped
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.context import McpResourceContext
from jupyter_eca.workspace.ranking import fit

if TYPE_CHECKING:
    from jupyter_eca.contexts.base import Surroundings


class McpResourcePlug:
    kind = "mcpResource"

    async def query(self, around: Surroundings, query: str) -> list[McpResourceContext]:
        if around.mcp is None:
            return []
        found = [
            (fitting, McpResourceContext(server=server, **resource.model_dump()))
            for server, resources in around.mcp.resources().items()
            for resource in resources
            if (fitting := fit(query, f"{server}:{resource.name or resource.uri}")) is not None
        ]
        return [context for _, context in sorted(found, key=lambda one: one[0])][:50]

    async def resolve(self, around: Surroundings, context: McpResourceContext) -> Material:
        if around.mcp is None:
            raise ToolError("There are no MCP servers here.")
        text, images = await around.mcp.read_resource(context.server, context.uri, around.chat)
        return Material(f"{context.server}:{context.uri}", capped(text), images)


CONTEXT = McpResourcePlug()
