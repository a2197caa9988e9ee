"""Who can be spawned: `/subagents`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.host.chat.ports import CommandAnswer
from jupyter_eca.host.commands.base import NativeCommand

if TYPE_CHECKING:
    from jupyter_eca.config import Agent
    from jupyter_eca.engine.text.slash_commands import CommandCall
    from jupyter_eca.host.commands.base import CommandPlace


async def subagents(place: CommandPlace, called: CommandCall) -> CommandAnswer:  # noqa: ARG001  # the same for all words
    live = await place.host.chats.load(place.chat)
    by = place.host.setups.settle(live.choice).agent
    found = place.host.current.resolved.list_spawnable(by)
    if not found:
        return CommandAnswer(f"`{by}` can spawn no agent. `mode: subagent` makes one that can be.")
    lines = [_line(one) for one in found.values()]
    return CommandAnswer("\n".join([f"The agents that `{by}` can spawn, with `spawn_agent`:", "", *lines]))


def _line(one: Agent) -> str:
    more = [f"model `{one.default_model}`" if one.default_model else "", "only looks" if one.looks_only else ""]
    more += [f"at most {one.max_steps} steps" if one.max_steps else ""]
    about = ", ".join(part for part in more if part)
    told = " ".join(one.description.split()) or "No description."
    return f"- `{one.name}`: {told}" + (f" ({about})" if about else "")


COMMANDS: Final = {
    "subagents": NativeCommand(subagents, "List the agents that can be spawned"),
}
