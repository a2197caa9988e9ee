"""What a turn is run with: the agent's words, tools and rules, worked out from what was chosen and what is there."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca import instructions
from jupyter_eca.config import agent, place, problems, spawnable
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.policy import hidden, key
from jupyter_eca.engine.chat import subagents
from jupyter_eca.host.chat.live_chat import NO_BOUNDS, Bounds, Choice, now
from jupyter_eca.host.turn import path_rules, system_prompt, tool_context
from jupyter_eca.instructions.rules import CATALOGUE
from jupyter_eca.plugins.tools.base import Need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.host import Host
    from jupyter_eca.instructions.pinned import Pinned
    from jupyter_eca.plugins.tools.base import Tool, ToolContext


SPAWN: Final = "spawn_agent"

# Seconds that a cell's question waits for tool servers which are starting. "Run all" asks a moment after it has started
# them, and an answer without its tools is not what the cell is for. Where nobody watches there is time for slow ones.
CELL_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Told:
    """What the model is told at the beginning, and the tools that it has."""

    pinned: Pinned
    tools: tuple[ToolSpec, ...]


async def setup(
    host: Host, choice: Choice, has: ToolContext, bounds: Bounds = NO_BOUNDS, *, pin: bool = False
) -> inputs.Setup:
    """With `pin`, what the model is told at the beginning is kept: it is going to be asked."""
    if pin and has.from_cell:
        watched = host.audiences.attended(has.chat)
        await host.mcp.arrived(CELL_PATIENCE if watched else host.config.mcp_timeout_seconds)
    who, chosen = agent(host.config, choice.agent), decided(host, choice)
    for words in host.toolbox.complaints:
        host.audiences.warn(words)
    for problem in problems(host.config, host.toolbox.all(), host.catalog.entries()):
        if not host.audiences.warned(problem.text):
            where = await asyncio.to_thread(place, problem, host.config.sources)
            host.audiences.warn(problem.text, where)
    told = await tell(host, choice, has, bounds)
    if pin:
        await system_prompt.keep(host, has.chat, told.pinned)
    return inputs.Setup(
        model=choice.model,
        agent=who.name,
        system=told.pinned.text,
        tools=told.tools,
        policy=bounds.policy or who.policy,
        variant=chosen.variant or "",
        trust=bool(chosen.trust),
        max_steps=who.max_steps or 0,
        compact_at=who.compact_at,
        plans=who.looks_only,
    )


async def tell(host: Host, choice: Choice, has: ToolContext, bounds: Bounds = NO_BOUNDS, *, anew: bool = False) -> Told:
    """As it was told before, with `anew` as it would be now."""
    who = agent(host.config, choice.agent)
    # Whether there are rules for paths is known when they are read, which is after the tools are.
    tools = offered(host, who.name, replace(has, rules=path_rules.Ruling(host, has.chat)), bounds)
    place = instructions.Place(
        host.workspace.files,
        host.config,
        who,
        choice.model,
        has.kernel,
        host.workspace.kernels,
        has.notebooks,
        tuple((name, words) for name, words in host.mcp.instructions().items() if bounds.has(name)),
        host.interpreters,
        host.audiences.warn,
        frozenset(key(tool.spec) for tool in tools),
        in_notebook=has.from_cell or bool(host.audiences.notebooks(has.chat)),
        subagent=has.nested,
    )
    pinned = await system_prompt.pinned(host, has.chat, place, decided(host, choice).variant or "", anew=anew)
    ruled = pinned.has(CATALOGUE)
    told = (tool for tool in tools if ruled or Need.RULES not in tool.needs)
    return Told(pinned, specs(host, who.name, told))


def decided(host: Host, choice: Choice) -> Choice:
    """With what the agent and the configuration say where nothing was chosen; the model aside."""
    who = agent(host.config, choice.agent)
    variant = who.variant if choice.variant is None else choice.variant
    trust = host.config.chat.default_trust if choice.trust is None else choice.trust
    return Choice(choice.model, who.name, variant, trust)


def offered(host: Host, name: str, has: ToolContext, bounds: Bounds = NO_BOUNDS) -> list[Tool]:
    """The tools an agent has: plan mode only looks, and what the rules always deny is not mentioned. A subagent has not
    those that a client lends to a chat: it would be asked to run them there."""
    who = agent(host.config, name)
    common = host.toolbox.all() if has.nested else host.toolbox.all(has.chat)
    return [
        tool
        for tool in host.toolbox.available(has)
        if bounds.has(tool.spec.server)
        and tool.spec.name in common
        and not (has.nested and tool.spec.name in subagents.WITHHELD)
        and (tool.reads or not bounds.looks_only)
        and who.has(tool.spec, reads=tool.reads, agents=tool.agents)
        and not hidden(who.policy, tool.spec)
    ]


def specs(host: Host, name: str, tools: Iterable[Tool]) -> tuple[ToolSpec, ...]:
    """As a model is told of them: `spawn_agent` with the agents there are, and not without any."""
    others = [(one.name, one.description) for one in spawnable(host.config, name).values()]
    return tuple(
        replace(spec, description=subagents.described(spec.description, others)) if spec.name == SPAWN else spec
        for spec in (tool.spec for tool in tools)
        if spec.name != SPAWN or others
    )


def changed_tools(host: Host, chat: LiveChat) -> tuple[ToolSpec, ...] | None:
    """Those of the turn under way, when servers have come, gone or changed theirs since it began."""
    has = tool_context.tools(host, chat.state.id, chat.kernel)
    agent = chat.state.setup.agent
    tools = specs(host, agent, offered(host, agent, has, chat.bounds))
    return None if tools == chat.state.setup.tools else tools


def rule(host: Host, chats: Iterable[LiveChat]) -> None:
    """The rules there are now, for the turns that are under way. One that is made again decides nothing, and a front
    that brought rules of its own keeps them."""
    for chat in chats:
        policy = agent(host.config, chat.state.setup.agent).policy
        if chat.busy and chat.replay is None and chat.bounds.policy is None and policy != chat.state.setup.policy:
            host.feed(chat, inputs.Ruled(now(), policy), late=True)
