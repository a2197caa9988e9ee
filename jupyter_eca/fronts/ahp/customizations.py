"""Owns what sessions are customized with: tool servers, rules, skills, commands and agents.

A source is one function in `SOURCES`. Only tool servers can be disabled in a session. `resources/at_client.py` has the
customizations of clients.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, items, omit_none, record
from jupyter_eca.host.commands import markdown_commands, skills
from jupyter_eca.instructions import rules
from jupyter_eca.instructions.skills.model import SkillOrigin
from jupyter_eca.protocol.mcp import ServerStatus

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from jupyter_eca.host.host import Host

    Source = Callable[[Host], Awaitable[Iterable[Json]]]

_STATUS: Final = {
    ServerStatus.STARTING: "loading",
    ServerStatus.RUNNING: "loaded",
    ServerStatus.FAILED: "error",
    ServerStatus.REQUIRES_AUTH: "degraded",
}


def make_server_uri(name: str) -> str:
    return f"mcp:{name}"


def list_disabled(state: Json) -> set[str]:
    """Return the URIs of customizations that are disabled in a session."""
    return {
        str(customization["customization"]["uri"])
        for customization in items(state, "customizations")
        if not customization["enabled"]
    }


async def list_customizations(host: Host) -> list[Json]:
    return [customization for source in SOURCES for customization in await source(host)]


async def _servers(host: Host) -> list[Json]:
    servers: list[Json] = []
    for server in host.notifications.list_servers():
        if server.type == "mcp":
            description = (server.instructions or "").partition("\n")[0]
            customization = _one(
                make_server_uri(server.name), server.name, description, status=_STATUS.get(server.status)
            )
            servers.append(omit_none(**{**customization, "enabled": not server.disabled}, statusMessage=server.error))
    return servers


async def _commands(host: Host) -> list[Json]:
    by_name = await markdown_commands.find(host.workspace.files, host.config, host.subscribers.warn)
    return [_one(f"command:{name}", f"/{name}", command.description) for name, command in by_name.items()]


async def _agents(host: Host) -> list[Json]:
    """List the agents of the configuration; the built-in ones are no customization."""
    known = host.current.resolved.agents
    return [
        _one(f"agent:{name}", name, agent.description) for name, agent in known.items() if name in host.config.agent
    ]


async def _rules(host: Host) -> list[Json]:
    project_rules = await rules.find(host.workspace.files, host.config, host.subscribers.warn)
    return [_one(Path(rule.id).as_uri(), rule.name, ", ".join(rule.paths)) for rule in project_rules]


async def _skills(host: Host) -> list[Json]:
    """List the skills of the user and the project; the built-in ones are no customization."""
    all_skills = await skills.find(host)
    return [
        _one(f"skill:{skill.name}", skill.name, skill.description)
        for skill in all_skills
        if skill.origin is not SkillOrigin.SHIPPED
    ]


SOURCES: Final[tuple[Source, ...]] = (_servers, _rules, _skills, _commands, _agents)


def list_client_customizations(state: Json) -> list[Json]:
    """Return the customizations of the active client. A new one is loading until its content was read."""
    client = record(state, "activeClient")
    known = {
        customization["customization"]["uri"]: customization
        for customization in items(state, "customizations")
        if "clientId" in customization
    }
    customizations_now: list[Json] = []
    for ref in items(client, "customizations"):
        before = known.get(ref["uri"], {})
        same = before.get("customization") == ref and before.get("clientId") == client["clientId"]
        new = {"customization": ref, "enabled": True, "clientId": client["clientId"], "status": "loading"}
        customizations_now.append(before if same else new)
    return customizations_now


def _one(uri: str, name: str, description: str | None, status: str | None = "loaded") -> Json:
    ref = omit_none(uri=uri, displayName=name, description=description or None)
    return omit_none(customization=ref, enabled=True, status=status)
