"""The context of a resource of an MCP server (Model Context Protocol): a text or images with a URI. A template is a URI
with variables, such as `db://{table}`, which the user fills in.

When a chat has got a resource, later changes of it are sent with the next prompt: `mcp_client/watched_resources.py`
watches it.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.protocol.context import McpResourceContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.reading.text import truncate
from jupyter_eca.workspace.uri_templates import list_missing_variables

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import ChatContext
    from jupyter_eca.workspace.ports import ChangedResource, McpServers
    from jupyter_eca.workspace.uri_templates import ResourceTemplate


# How many resources are offered at most: a longer list does not help a user, who types another letter instead.
_MAX_OFFERED: Final = 50


class McpResourcePlug:
    """The plug: `query` offers resources and templates, and `resolve` reads the chosen resource. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "mcpResource"

    async def query(self, surroundings: Surroundings, query: str) -> list[McpResourceContext]:
        """Offer resources and templates. While the user types the URI of a template, its server completes it."""
        if surroundings.mcp is None:
            return []
        found = [
            (fit, McpResourceContext(server=server, **resource.model_dump()))
            for server, resources in surroundings.mcp.list_resources().items()
            for resource in resources
            if (fit := rate_fit(query, f"{server}:{resource.name or resource.uri}")) is not None
        ]
        listed = [context for _, context in sorted(found, key=lambda pair: pair[0])]
        templates = surroundings.mcp.list_templates()
        offered = await asyncio.gather(*(_offer_template(surroundings.mcp, template, query) for template in templates))
        return [*(context for contexts in offered for context in contexts), *listed][:_MAX_OFFERED]

    async def resolve(self, surroundings: Surroundings, context: McpResourceContext) -> Material:
        """Read the resource from its server. Raises: ToolError, also while a variable of its URI has no value."""
        if surroundings.mcp is None:
            raise ToolError("There are no MCP servers here.")
        if missing := list_missing_variables(context.uri):
            raise ToolError(f"{', '.join(missing)} of {context.uri} is still to be filled in.")
        text, images = await surroundings.mcp.read_resource(context.server, context.uri, surroundings.chat)
        return Material(f"{context.server}:{context.uri}", truncate(text), images)


async def _offer_template(mcp: McpServers, template: ResourceTemplate, query: str) -> list[McpResourceContext]:
    """Return what to offer for a template: the template itself while the user types its name, and then the resources
    that its server completes. With `db://{table}`, the query `db://us` may give `db://users`. If the server completes
    nothing, offer the URI as it was typed if all its variables have values, and else the template."""
    # The part of the URI that is typed: the variable at its end and its value so far, and whether all others have
    # values. None if the query does not fit the URI.
    typed = template.match_prefix(query.removeprefix(f"{template.server}:"))
    # The user has not come to a variable yet, or types only the name of the template.
    if typed is None or (typed.variable == "" and not typed.is_complete):
        # The query fits the name of the template, or is the beginning of its URI.
        fits = rate_fit(query, f"{template.server}:{template.name}") is not None or (bool(query) and typed is not None)
        return [_make_context(template, template.uri)] if fits else []
    values = await mcp.complete(template, typed) if typed.variable else ()
    addresses = [typed.fill(value) for value in values]
    if typed.is_complete and not addresses:
        addresses.append(typed.fill(typed.value))
    return [_make_context(template, address) for address in dict.fromkeys(addresses)] or [
        _make_context(template, template.uri)
    ]


def _make_context(template: ResourceTemplate, uri: str) -> McpResourceContext:
    """Return the context for a URI that was made from a template."""
    return McpResourceContext(
        server=template.server,
        uri=uri,
        name=template.name,
        description=template.description,
        mime_type=template.mime_type,
    )


def list_changed_resources(changed: Iterable[ChangedResource], sent: Iterable[ChatContext]) -> list[Material]:
    """Return the resources that a chat has got earlier and that have changed since, without those in `sent`, which are
    sent with this prompt anyway."""
    known = {(context.server, context.uri) for context in sent if isinstance(context, McpResourceContext)}
    return [
        Material(f"{server}:{uri} (changed since you were given it)", truncate(text), images)
        for server, uri, text, images in changed
        if (server, uri) not in known
    ]


CONTEXT = McpResourcePlug()
