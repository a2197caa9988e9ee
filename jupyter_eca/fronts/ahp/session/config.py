"""Owns what a user can choose for a session (model, agent, effort, approval), and what its turns run with.

It must not know the session: states come in as JSON.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.policy import Rule
from jupyter_eca.fronts.ahp.customizations import list_disabled, make_server_uri
from jupyter_eca.fronts.ahp.reducers.base import Json, omit_none, record
from jupyter_eca.fronts.ahp.session.tool_calls import CLIENT_PREFIX
from jupyter_eca.host.chat.live_chat import Bounds, Choice
from jupyter_eca.protocol.ahp import PROVIDER
from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.host.host import Host

DEFAULT: Final = "default"
ASK, AUTO = "ask", "auto"

# The server name of client tools in approval rules.
CLIENT: Final = CLIENT_PREFIX.removesuffix("__")


async def list_agents(host: Host) -> list[Json]:
    """Return the one agent in the protocol's sense: the assistant. Looking for models may take half a second."""
    models, default = await host.catalog.list_models()
    ordered = sorted(models, key=lambda name: name != default)
    return [
        {
            "provider": PROVIDER,
            "displayName": "Jupyter assistant",
            "description": "Works in the notebooks, kernels and files of this Jupyter server.",
            "models": [_model(host, name) for name in ordered],
        }
    ]


def _model(host: Host, name: str) -> Json:
    variants = host.catalog.variants(name)
    schema = {"type": "object", "properties": {"effort": _effort(variants)}} if variants else None
    return omit_none(id=name, provider=PROVIDER, name=name.partition("/")[2] or name, configSchema=schema)


def _effort(variants: tuple[str, ...]) -> Json:
    return {
        "type": "string",
        "title": "Effort",
        "description": "How much the model thinks before it answers.",
        "default": DEFAULT,
        "enum": [DEFAULT, *variants],
    }


def describe_schema(host: Host, model: str) -> Json:
    """Return the schema of a session's properties. All of them may change while it exists."""
    names = host.current.resolved.list_primary()
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
        "effort": _effort(host.catalog.variants(model)),
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


def complete_values(described: Json, values: Mapping[str, object]) -> Json:
    """Return a value for each property: the one given if it is valid, else the default."""
    return {
        name: values[name] if values.get(name) in property_schema["enum"] else property_schema["default"]
        for name, property_schema in record(described, "properties").items()
    }


def read_choice(state: Json) -> Choice:
    """Return the choice that the turns of a session run with."""
    model, values = record(record(state, "summary"), "model"), record(record(state, "config"), "values")
    effort = record(model, "config").get("effort") or values.get("effort") or DEFAULT
    folder = parse_file_uri(str(record(state, "summary").get("workingDirectory", "")))
    return Choice(
        model=str(model.get("id") or ""),
        agent=str(values.get("agent") or ""),
        variant=None if effort == DEFAULT else str(effort),
        trust=values.get("approval") == AUTO,
        folder=str(folder or ""),
    )


def make_bounds(host: Host, state: Json) -> Bounds:
    """Return the bounds that the turns of a session run with.

    Tool servers that are disabled in the session are out. A tool of the client runs without approval unless the rules
    say otherwise: the client does the work, and can ask its user itself.
    """
    off = list_disabled(state)
    servers = {
        "eca",
        CLIENT,
        *(server.name for server in host.mcp.list_servers() if make_server_uri(server.name) not in off),
    }
    policy = host.current.resolved.agent(read_choice(state).agent).policy
    allowed = policy.model_copy(update={"allow": {CLIENT: Rule(), **policy.allow}})
    return Bounds(frozenset(servers) if off else None, allowed)
