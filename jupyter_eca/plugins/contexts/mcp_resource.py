"""The context of a resource of an MCP server. What a chat was given is watched from then on
(`mcp_client/watched_resources.py`).
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.protocol.context import McpResourceContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.reading.text import truncate
from jupyter_eca.workspace.uri_templates import list_variables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.ports import McpServers
    from jupyter_eca.workspace.uri_templates import ResourceTemplate


class McpResourcePlug:
    kind = "mcpResource"

    async def query(self, surroundings: Surroundings, query: str) -> list[McpResourceContext]:
        """Offer resources and templates. The server of a template completes an address that is being typed."""
        if surroundings.mcp is None:
            return []
        found = [
            (fitting, McpResourceContext(server=server, **resource.model_dump()))
            for server, resources in surroundings.mcp.list_resources().items()
            for resource in resources
            if (fitting := rate_fit(query, f"{server}:{resource.name or resource.uri}")) is not None
        ]
        listed = [context for _, context in sorted(found, key=lambda one: one[0])][:50]
        templates = surroundings.mcp.list_templates()
        offered = await asyncio.gather(*(_of(surroundings.mcp, template, query) for template in templates))
        return [*(context for contexts in offered for context in contexts), *listed][:50]

    async def resolve(self, surroundings: Surroundings, context: McpResourceContext) -> Material:
        if surroundings.mcp is None:
            raise ToolError("There are no MCP servers here.")
        if missing := list_variables(context.uri):
            raise ToolError(f"{', '.join(missing)} of {context.uri} is still to be filled in.")
        text, images = await surroundings.mcp.read_resource(context.server, context.uri, surroundings.chat)
        return Material(f"{context.server}:{context.uri}", truncate(text), images)


async def _of(mcp: McpServers, template: ResourceTemplate, query: str) -> list[McpResourceContext]:
    typed = template.match_prefix(query.removeprefix(f"{template.server}:"))
    if typed is None or (typed.variable == "" and not typed.is_complete):
        named = rate_fit(query, f"{template.server}:{template.name}") is not None or (bool(query) and typed is not None)
        return [_context(template, template.uri)] if named else []
    values = await mcp.complete(template, typed) if typed.variable else ()
    addresses = [typed.fill(value) for value in values]
    if typed.is_complete and not addresses:
        addresses.append(typed.fill(typed.value))
    return [_context(template, address) for address in dict.fromkeys(addresses)] or [_context(template, template.uri)]


def _context(template: ResourceTemplate, uri: str) -> McpResourceContext:
    return McpResourceContext(
        server=template.server,
        uri=uri,
        name=template.name,
        description=template.description,
        mime_type=template.mime_type,
    )


async def read_changed(surroundings: Surroundings, besides: Iterable[ChatContext]) -> list[Material]:
    """Return what a chat was given earlier and what has changed since, except what is given anyway."""
    if surroundings.mcp is None:
        return []
    known = {(one.server, one.uri) for one in besides if isinstance(one, McpResourceContext)}
    return [
        Material(f"{server}:{uri} (changed since you were given it)", truncate(text), images)
        for server, uri, text, images in await surroundings.mcp.read_changed_resources(surroundings.chat)
        if (server, uri) not in known
    ]


CONTEXT = McpResourcePlug()
