"""Owns the tools about OpenCode's agents that are offered over MCP: list all agents, and give a task to one agent. The
docstring of a tool is its description for the client's model.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, offer
from jupyter_eca.fronts.mcp.opencode.offers.run import build_message, find_session, send_message

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.opencode.backend import OpenCode

    OpenCodeCall = OfferCall[OpenCode]


@offer("opencode_agent_list", Hints.READS)
async def list_agents(call: OpenCodeCall) -> dict[str, Any]:
    """List the agents that can answer, each with what it is for."""
    folder = await call.backend.find_folder()
    answer = await call.backend.api.get("/agent", directory=folder.path)
    described = [
        {"name": agent["name"], "description": agent.get("description"), "mode": agent.get("mode")}
        for agent in answer
        if not agent.get("hidden")
    ]
    return {"agents": described, **folder.fields}


@offer("opencode_agent_delegate", Hints.WRITES)
async def delegate_task(
    call: OpenCodeCall,
    agent: Annotated[str, Field(min_length=1, description="Name of the agent, from opencode_agent_list.")],
    prompt: Annotated[str, Field(min_length=1, description="What it is to do.")],
    sessionId: Annotated[str, Field(description="Go on in this session; empty for a new one.")] = "",
    model: Annotated[str, Field(description="PROVIDER/MODEL; empty for the default.")] = "",
) -> dict[str, Any]:
    """Give a task to one agent. Answers when it is done."""
    folder = (await find_session(call, sessionId)).folder if sessionId else await call.backend.find_folder()
    body = await build_message(call, folder, prompt, model, agent, [], no_reply=False)
    session = sessionId or str((await call.backend.api.post("/session", {}, directory=folder.path))["id"])
    return await send_message(call, folder, session, body)


OFFERS = Offers((list_agents, delegate_task))
