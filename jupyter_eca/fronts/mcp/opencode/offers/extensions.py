"""Owns the tools about OpenCode's skills (texts that its model loads when they fit), MCP servers and tools: list all of
them, create a skill, connect a server. They are offered over MCP. The docstring of a tool is its description for the
client's model.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.opencode.backend import OpenCode

    OpenCodeCall = OfferCall[OpenCode]


@offer("opencode_skill_list", Hints.READS)
async def list_skills(call: OpenCodeCall) -> dict[str, Any]:
    """The skills that the agents can load."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/skill", directory=folder.path)
    described = [{"name": skill["name"], "description": skill.get("description")} for skill in answer]
    return {"skills": described, **folder.fields}


@offer("opencode_skill_create", Hints.CREATES)
async def create_skill(
    call: OpenCodeCall,
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64, description="Like `my-skill`.")],
    description: Annotated[str, Field(min_length=1, description="When to use it, in a line.")],
    content: Annotated[str, Field(min_length=1, description="What to do then, in Markdown.")],
    everywhere: Annotated[bool, Field(alias="global", description="For all projects.")] = False,
) -> dict[str, Any]:
    """Write a skill for the agents of the project, or of all projects. Never overwrites one."""
    if not call.backend.api.is_local:
        raise RefusedCall("The OpenCode server is on another machine, and its API writes no skills.", "Write it there.")
    folder = await call.backend.find_folder()
    paths = await call.backend.api.get("/path", directory=folder.path)
    root = Path(paths["config"]) if everywhere else Path(folder.path) / ".opencode"
    file = root / "skills" / name / "SKILL.md"
    line = " ".join(description.split())
    if not await asyncio.to_thread(_write_new, file, f"---\nname: {name}\ndescription: {line}\n---\n\n{content}\n"):
        raise RefusedCall(f"There is a skill {name!r} already; nothing was written.", "Choose another name.")
    return {"name": name, "file": str(file), **folder.fields}


@offer("opencode_mcp_list", Hints.READS)
async def list_servers(call: OpenCodeCall) -> dict[str, Any]:
    """The MCP servers that the OpenCode server is a client of, each with its state."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/mcp", directory=folder.path)
    described = [
        {"name": name, **{key: state[key] for key in ("status", "error") if key in state}}
        for name, state in answer.items()
    ]
    return {"servers": described, **folder.fields}


@offer("opencode_mcp_enable", Hints.WRITES)
async def enable_server(
    call: OpenCodeCall,
    name: Annotated[str, Field(min_length=1, description="Name of the server, from opencode_mcp_list.")],
    enabled: Annotated[bool, Field(description="Whether it is to be connected.")],
) -> dict[str, Any]:
    """Connect one of OpenCode's MCP servers, or disconnect it."""
    folder = await call.backend.find_folder()
    api = call.backend.api
    known = await api.get("/mcp", directory=folder.path)
    if name not in known:
        raise RefusedCall(f"There is no MCP server {name!r}.", f"There are: {', '.join(known) or 'none'}.")
    verb = "connect" if enabled else "disconnect"
    await api.post(f"/mcp/{quote(name, safe='')}/{verb}", directory=folder.path)
    state = (await api.get("/mcp", directory=folder.path)).get(name, {})
    return {"name": name, "enabled": enabled, "status": state.get("status"), **folder.fields}


@offer("opencode_tool_list", Hints.READS)
async def list_tools(
    call: OpenCodeCall,
    provider: Annotated[
        str, Field(description="Give it together with `model`, to list only the tools that this model gets.")
    ] = "",
    model: Annotated[str, Field(description="Id of the model, without its provider.")] = "",
) -> dict[str, Any]:
    """The tools of OpenCode's agents."""
    folder = await call.backend.find_folder()
    api = call.backend.api
    if bool(provider) != bool(model):
        raise RefusedCall("A provider goes with a model.", "Give both, or none for the names of all tools.")
    if not provider:
        return {"tools": await api.get("/experimental/tool/ids", directory=folder.path), **folder.fields}
    answer = await api.get("/experimental/tool", directory=folder.path, provider=provider, model=model)
    return {"tools": list(answer), **folder.fields}


OFFERS = Offers((list_skills, create_skill, list_servers, enable_server, list_tools))


def _write_new(file: Path, text: str) -> bool:
    """Write a new file. Return False if the file exists."""
    file.parent.mkdir(parents=True, exist_ok=True)
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        return False
    return True
