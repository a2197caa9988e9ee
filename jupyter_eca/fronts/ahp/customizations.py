"""Owns the list of customizations of a session. "Customization" is the protocol's word for what extends an agent: tool
servers, rules and skills (texts for the model), commands, and agents. Each function in `SOURCES` lists one kind.

Only tool servers can be disabled in a session. This module must not know the session: states come in as JSON.
`resources/client_files.py` reads the customizations that come from a client.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none
from jupyter_eca.host.commands import markdown_commands, skills
from jupyter_eca.instructions import rules
from jupyter_eca.instructions.skills.skill_file import SkillOrigin
from jupyter_eca.protocol.mcp import ServerStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from jupyter_eca.host.host import Host

    Source = Callable[[Host], Awaitable[Iterable[Json]]]
    """A function that lists the customizations of one kind."""

# The protocol's status of a customization, for each status of an MCP server (Model Context Protocol: a program that
# offers tools). The customization of a server with any other status has no field `status`.
_STATUS: Final = {
    ServerStatus.STARTING: "loading",
    ServerStatus.RUNNING: "loaded",
    ServerStatus.FAILED: "error",
    ServerStatus.REQUIRES_AUTH: "degraded",
}


def make_server_uri(name: str) -> str:
    """Return the URI of the customization for an MCP server."""
    return f"mcp:{name}"


def list_disabled(state: Json) -> set[str]:
    """Return the URIs of customizations that are disabled in a session."""
    return {
        str(customization["customization"]["uri"])
        for customization in get_list(state, "customizations")
        if not customization["enabled"]
    }


async def list_customizations(host: Host) -> list[Json]:
    """Return the customizations of the host. They are the same for all sessions."""
    return [customization for source in SOURCES for customization in await source(host)]


async def _list_servers(host: Host) -> list[Json]:
    """List the MCP servers. A session can disable each of them."""
    servers: list[Json] = []
    for server in host.notices.list_servers():
        if server.type == "mcp":
            description = (server.instructions or "").partition("\n")[0]
            customization = _make_customization(
                make_server_uri(server.name), server.name, description, status=_STATUS.get(server.status)
            )
            servers.append(omit_none(**{**customization, "enabled": not server.disabled}, statusMessage=server.error))
    return servers


async def _list_commands(host: Host) -> list[Json]:
    """List the user's own commands, which are Markdown files."""
    by_name = await markdown_commands.find(host.workspace.files, host.config, host.subscribers.warn)
    return [
        _make_customization(f"command:{name}", f"/{name}", command.description) for name, command in by_name.items()
    ]


async def _list_agents(host: Host) -> list[Json]:
    """List the agents that are defined in the configuration. The built-in agents are no customization."""
    known = host.current.resolved.agents
    return [
        _make_customization(f"agent:{name}", name, agent.description)
        for name, agent in known.items()
        if name in host.config.agent
    ]


async def _list_rules(host: Host) -> list[Json]:
    """List the rules that the project's files contain for the model."""
    project_rules = await rules.find(host.workspace.files, host.config, host.subscribers.warn)
    return [_make_customization(Path(rule.id).as_uri(), rule.name, ", ".join(rule.paths)) for rule in project_rules]


async def _list_skills(host: Host) -> list[Json]:
    """List the skills of the user and the project. The built-in skills are no customization."""
    all_skills = await skills.find(host)
    return [
        _make_customization(f"skill:{skill.name}", skill.name, skill.description)
        for skill in all_skills
        if skill.origin is not SkillOrigin.SHIPPED
    ]


# One function for each kind of customization, in the order in which clients get the kinds.
SOURCES: Final[tuple[Source, ...]] = (_list_servers, _list_rules, _list_skills, _list_commands, _list_agents)


def list_client_customizations(state: Json) -> list[Json]:
    """Return the customizations of the active client. A customization that is new or changed has the status `loading`
    until its content is read."""
    client = get_object(state, "activeClient")
    # Only a customization that comes from a client has the field `clientId`.
    known = {
        customization["customization"]["uri"]: customization
        for customization in get_list(state, "customizations")
        if "clientId" in customization
    }
    customizations: list[Json] = []
    # `ref` is the customization as the client describes it: mainly its URI and its name.
    for ref in get_list(client, "customizations"):
        before = known.get(ref["uri"], {})
        is_same = before.get("customization") == ref and before.get("clientId") == client["clientId"]
        new = {"customization": ref, "enabled": True, "clientId": client["clientId"], "status": "loading"}
        customizations.append(before if is_same else new)
    return customizations


def _make_customization(uri: str, name: str, description: str | None, status: str | None = "loaded") -> Json:
    """Make an enabled customization. A description or a status that is None is left out."""
    ref = omit_none(uri=uri, displayName=name, description=description or None)
    return omit_none(customization=ref, enabled=True, status=status)
