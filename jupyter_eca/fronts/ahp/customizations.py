"""What sessions are customized with. A source is one function in `SOURCES`; only tool servers can be switched off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, items, present, record
from jupyter_eca.host.commands import markdown_commands, skills
from jupyter_eca.instructions import rules
from jupyter_eca.instructions.skills.model import Origin
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


def server_uri(name: str) -> str:
    return f"mcp:{name}"


def switched_off(state: Json) -> set[str]:
    """Addresses of what is not in a session."""
    return {str(one["customization"]["uri"]) for one in items(state, "customizations") if not one["enabled"]}


async def customizations(host: Host) -> list[Json]:
    return [one for source in SOURCES for one in await source(host)]


async def _servers(host: Host) -> list[Json]:
    found: list[Json] = []
    for server in host.notifications.list_servers():
        if server.type == "mcp":
            said = (server.instructions or "").partition("\n")[0]
            shown = _one(server_uri(server.name), server.name, said, status=_STATUS.get(server.status))
            found.append(present(**{**shown, "enabled": not server.disabled}, statusMessage=server.error))
    return found


async def _commands(host: Host) -> list[Json]:
    found = await markdown_commands.find(host.workspace.files, host.config, host.audiences.warn)
    return [_one(f"command:{name}", f"/{name}", command.description) for name, command in found.items()]


async def _agents(host: Host) -> list[Json]:
    """Those of the configuration, not ours."""
    known = host.current.resolved.agents
    return [_one(f"agent:{name}", name, one.description) for name, one in known.items() if name in host.config.agent]


async def _rules(host: Host) -> list[Json]:
    found = await rules.find(host.workspace.files, host.config, host.audiences.warn)
    return [_one(Path(rule.id).as_uri(), rule.name, ", ".join(rule.paths)) for rule in found]


async def _skills(host: Host) -> list[Json]:
    """Those of the user and the project, not ours."""
    found = await skills.find(host)
    return [_one(f"skill:{one.name}", one.name, one.description) for one in found if one.origin is not Origin.SHIPPED]


SOURCES: Final[tuple[Source, ...]] = (_servers, _rules, _skills, _commands, _agents)


def of_client(state: Json) -> list[Json]:
    """What the active client brought. As long as nothing came of it, it is loading."""
    client = record(state, "activeClient")
    known = {one["customization"]["uri"]: one for one in items(state, "customizations") if "clientId" in one}
    found: list[Json] = []
    for ref in items(client, "customizations"):
        before = known.get(ref["uri"], {})
        same = before.get("customization") == ref and before.get("clientId") == client["clientId"]
        new = {"customization": ref, "enabled": True, "clientId": client["clientId"], "status": "loading"}
        found.append(before if same else new)
    return found


def _one(uri: str, name: str, description: str | None, status: str | None = "loaded") -> Json:
    ref = present(uri=uri, displayName=name, description=description or None)
    return present(customization=ref, enabled=True, status=status)
