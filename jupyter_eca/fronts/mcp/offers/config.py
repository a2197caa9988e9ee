"""Owns the tools about the configuration that are offered over MCP: read it and change it. The answers never contain
keys or other secrets. The docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.fronts.mcp import project_settings
from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.assistant import Assistant

    AssistantCall = OfferCall[Assistant]

# The parts of the configuration that a client may see. They contain no keys of providers, HTTP headers, environment
# variables or command lines, which may all be secret.
_VISIBLE = ("default_model", "default_agent", "disabled_tools", "tool_call", "chat", "notebook", "warnings", "sources")


@offer("eca_config_get", Hints.READS)
async def read_config(call: AssistantCall) -> dict[str, Any]:
    """The configuration in force, merged from all its files, without anything secret."""
    config = call.backend.host.config
    settings = config.model_dump(mode="json", by_alias=True, exclude_none=True, include=set(_VISIBLE))
    return {**settings, "providers": sorted(config.providers), "mcpServers": sorted(config.mcp_servers)}


@offer("eca_config_update", Hints.WRITES, needs_approval=True)
async def update_config(
    call: AssistantCall,
    model: Annotated[str, Field(description="The default model from now on, as PROVIDER/MODEL.")] = "",
    defaultAgent: Annotated[str, Field(description="The default agent from now on.")] = "",
) -> dict[str, Any]:
    """Change the default model or agent, in the project's .eca/config.json."""
    host = call.backend.host
    if defaultAgent and defaultAgent not in host.current.resolved.agents:
        names = ", ".join(host.current.resolved.agents)
        raise RefusedCall(f"There is no agent {defaultAgent!r}.", f"There are: {names}.")
    changes = {(name,): value for name, value in (("defaultModel", model), ("defaultAgent", defaultAgent)) if value}
    if not changes:
        raise RefusedCall("Nothing was to be changed.", "Give a model, a defaultAgent, or both.")
    return {
        "changed": {path[0]: value for path, value in changes.items()},
        "file": await project_settings.change(host, changes),
    }


OFFERS = Offers((read_config, update_config))
