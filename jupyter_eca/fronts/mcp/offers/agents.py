"""Owns the tools about agents that are offered over MCP: list all agents, and give a task to one agent. An agent is a
set of instructions and tools that the assistant works with. The docstring of a tool is its description for the client's
model.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from jupyter_eca.fronts.mcp.offers_base import Hints, OfferCall, Offers, RefusedCall, offer
from jupyter_eca.host.chat.live_chat import Choice, Prompt

if TYPE_CHECKING:
    from jupyter_eca.fronts.mcp.assistant import Assistant
    from jupyter_eca.fronts.mcp.offers_base import ToolAnswer

    AssistantCall = OfferCall[Assistant]


@offer("eca_agent_list", Hints.READS)
async def list_agents(call: AssistantCall) -> dict[str, Any]:
    """List the agents that can answer, each with what it is for. An agent with `onlyLooks` changes nothing, whatever it
    is asked to do."""
    resolved = call.backend.host.current.resolved
    return {
        "default": resolved.config.default_agent,
        "agents": [
            {
                "name": agent.name,
                "description": agent.description,
                "mode": agent.mode.value,
                "onlyLooks": agent.looks_only,
            }
            for agent in resolved.agents.values()
        ],
    }


@offer("eca_agent_delegate", Hints.WRITES)
async def delegate_task(
    call: AssistantCall,
    agent: Annotated[str, Field(min_length=1, description="Name of the agent, from eca_agent_list.")],
    prompt: Annotated[str, Field(min_length=1, description="What it is to do.")],
    sessionId: Annotated[
        str, Field(description="Go on in this session; empty for a new one.")
    ] = "",  # in the spelling that clients send
    model: Annotated[str, Field(description="PROVIDER/MODEL; empty for the agent's own.")] = "",
) -> ToolAnswer:
    """Give a task to one agent. Answers when it is done."""
    host = call.backend.host
    if agent not in host.current.resolved.agents:
        names = ", ".join(host.current.resolved.agents)
        raise RefusedCall(f"There is no agent {agent!r}.", f"There are: {names}.")
    row = await host.chats.read_row(sessionId) if sessionId else None
    if sessionId and (row is None or row.workspace != host.store.workspace):
        raise RefusedCall(f"There is no session {sessionId!r}.", "Take one from eca_session_list, or leave it out.")
    new_prompt = Prompt(sessionId or uuid.uuid4().hex, prompt, Choice(model, agent))
    return await call.backend.prompt(new_prompt, call.caller)


OFFERS = Offers((list_agents, delegate_task))
