"""Owns the tools, offered over MCP, about the MCP servers that the assistant uses itself, and about its tools. The
docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.assistant import Assistant

    AssistantCall = OfferCall[Assistant]


@offer("eca_mcp_list", Hints.READS)
async def list_servers(call: AssistantCall) -> dict[str, Any]:
    """The MCP servers that the assistant uses, each with its state and its tools."""
    return {
        "servers": [
            {
                "name": server.name,
                "status": server.status.value,
                "error": server.error,
                "tools": [tool.name for tool in server.tools or ()],
            }
            for server in call.backend.host.mcp.list_servers()
        ]
    }


@offer("eca_mcp_enable", Hints.WRITES, needs_approval=True)
async def enable_server(
    call: AssistantCall,
    name: Annotated[str, Field(min_length=1, description="Name of the server, from eca_mcp_list.")],
    enabled: Annotated[bool, Field(description="Whether it is to be used.")],
) -> dict[str, Any]:
    """Switch one of the assistant's MCP servers on or off, in its configuration."""
    manager = call.backend.host.mcp
    if name not in {server.name for server in manager.list_servers()}:
        known = ", ".join(server.name for server in manager.list_servers()) or "none"
        raise RefusedCall(f"There is no server {name!r}.", f"There are: {known}.")
    await manager.enable(name, enabled=enabled)
    return {"name": name, "enabled": enabled}


@offer("eca_tool_list", Hints.READS)
async def list_tools(call: AssistantCall) -> dict[str, Any]:
    """The tools that the assistant works with, by the names that its approval rules use."""
    host = call.backend.host
    context = host.tool_contexts.build_expected()
    return {
        "tools": [
            {
                "name": tool.spec.name,
                "server": tool.spec.server,
                "description": tool.spec.description,
                "onlyReads": tool.only_reads,
            }
            for tool in host.setups.list_tools("", context)  # "": the default agent's
        ]
    }


OFFERS = Offers((list_servers, enable_server, list_tools))
