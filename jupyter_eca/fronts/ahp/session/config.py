"""Owns the configuration of a session: the schema of what a user can choose (agent, effort, approval). What the user
has chosen becomes a `Choice` (the model and other settings of a turn) and `Bounds` (the limits of a turn). This module
must not know the session: states come in as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.customizations import list_disabled, make_server_uri
from jupyter_eca.fronts.ahp.reducers.base import Json, get_object, omit_none
from jupyter_eca.host.chat.live_chat import Bounds, Choice
from jupyter_eca.mcp_client.tool_names import CLIENT, OWN
from jupyter_eca.protocol.ahp import PROVIDER
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.host.host import Host

# The value of `effort` with which the model decides itself how much it thinks.
DEFAULT_EFFORT: Final = "default"
# The values of `approval`. `ask`: the user is asked about tool calls that the rules do not allow. `auto`: these calls
# are allowed, too.
ASK, AUTO = "ask", "auto"


async def list_agents(host: Host) -> list[Json]:
    """Return what the protocol calls agents. There is one, the assistant, with all its models.

    This may take half a second, because providers search this machine for models.
    """
    models, default = await host.catalog.list_models()
    ordered = sorted(models, key=lambda name: name != default)  # the default model comes first
    return [
        {
            "provider": PROVIDER,
            "displayName": "Jupyter assistant",
            "description": "Works in the notebooks, kernels and files of this Jupyter server.",
            "models": [_describe_model(host, name) for name in ordered],
        }
    ]


def _describe_model(host: Host, name: str) -> Json:
    """Describe a model. `name` is its full name, `provider/model`. Its variants are the efforts that a user can
    choose."""
    variants = host.catalog.variants(name)
    schema = {"type": "object", "properties": {"effort": _describe_effort(variants)}} if variants else None
    return omit_none(id=name, provider=PROVIDER, name=name.partition("/")[2] or name, configSchema=schema)


def _describe_effort(variants: tuple[str, ...]) -> Json:
    """Return the JSON schema of the effort, whose values are the variants of a model and the default."""
    return {
        "type": "string",
        "title": "Effort",
        "description": "How much the model thinks before it answers.",
        "default": DEFAULT_EFFORT,
        "enum": [DEFAULT_EFFORT, *variants],
    }


def describe_schema(host: Host, model: str) -> Json:
    """Return the JSON schema of a session's configuration. The efforts are those of `model`, its full name or "". All
    properties can be changed while the session exists."""
    names = host.current.resolved.list_selectable()
    known = host.current.resolved.agents
    properties: Json = {
        "agent": {
            "type": "string",
            "title": "Agent",
            "description": "Who answers.",
            "default": names[0],
            "enum": list(names),
            "enumDescriptions": [known[name].description for name in names],
        },
        "effort": _describe_effort(host.catalog.variants(model)),
        "approval": {
            "type": "string",
            "title": "Approval",
            "description": "Whether tool calls that the rules do not allow are asked about.",
            "default": AUTO if host.config.chat.default_trust else ASK,
            "enum": [ASK, AUTO],
            "enumLabels": ["Ask", "Allow all"],
        },
    }
    return {
        "type": "object",
        "properties": {
            name: {**property_schema, "sessionMutable": True} for name, property_schema in properties.items()
        },
    }


def complete_values(schema: Json, values: Mapping[str, object]) -> Json:
    """Return a value for each property of a schema: the value in `values` if it is valid, else the default."""
    return {
        name: values[name] if values.get(name) in property_schema["enum"] else property_schema["default"]
        for name, property_schema in get_object(schema, "properties").items()
    }


def read_choice(state: Json) -> Choice:
    """Return the model, agent and other choices that the turns of a session run with."""
    model, values = get_object(get_object(state, "summary"), "model"), get_object(get_object(state, "config"), "values")
    effort = get_object(model, "config").get("effort") or values.get("effort") or DEFAULT_EFFORT
    folder = parse_file_uri(str(get_object(state, "summary").get("workingDirectory", "")))
    return Choice(
        model=str(model.get("id") or ""),
        agent=str(values.get("agent") or ""),
        variant=None if effort == DEFAULT_EFFORT else str(effort),
        trust=values.get("approval") == AUTO,
        folder=str(folder or ""),
    )


def make_bounds(host: Host, state: Json) -> Bounds:
    """Return the limits of a session's turns: they may not use tool servers that are disabled in the session. Our own
    tools and those of clients are always allowed."""
    disabled = list_disabled(state)
    servers = {
        OWN,
        CLIENT,
        *(server.name for server in host.mcp.list_servers() if make_server_uri(server.name) not in disabled),
    }
    return Bounds(frozenset(servers) if disabled else None)  # None: all servers are allowed
