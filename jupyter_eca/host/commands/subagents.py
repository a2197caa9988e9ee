"""The command `/subagents`, which lists the agents that the agent of a chat can spawn. `host.turn.subagents` runs
them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand

if TYPE_CHECKING:
    from jupyter_eca.config import Agent
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def subagents(place: CommandPlace, call: CommandCall) -> CommandAnswer:
    """List the agents that can be spawned."""
    live = await place.host.chats.load(place.chat)
    spawner = place.host.setups.fill_defaults(live.choice).agent
    agents = place.host.current.resolved.list_spawnable(spawner)
    if not agents:
        return CommandAnswer(f"`{spawner}` can spawn no agent. `mode: subagent` makes one that can be.")
    lines = [_describe(agent) for agent in agents.values()]
    return CommandAnswer("\n".join([f"The agents that `{spawner}` can spawn, with `spawn_agent`:", "", *lines]))


def _describe(agent: Agent) -> str:
    """Return the line of an agent: its name, its description and its limits."""
    limits = [f"model `{agent.default_model}`" if agent.default_model else "", "only looks" if agent.looks_only else ""]
    limits += [f"at most {agent.max_steps} steps" if agent.max_steps else ""]
    details = ", ".join(part for part in limits if part)
    description = " ".join(agent.description.split()) or "No description."
    return f"- `{agent.name}`: {description}" + (f" ({details})" if details else "")


COMMANDS: Final = {
    "subagents": NativeCommand(subagents, "List the agents that can be spawned"),
}
