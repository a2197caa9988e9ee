"""What a turn is run with: the agent's words, tools and rules, worked out from what was chosen and what is there.

Must not start turns: `host.turn.turns` does that. `host.turn.system_prompt` keeps the words of a chat that has begun.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca import instructions
from jupyter_eca.config import find_problems, locate_problem
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.approval_scope import key
from jupyter_eca.engine.approval.policy import is_hidden
from jupyter_eca.engine.chat import subagents
from jupyter_eca.host.chat.live_chat import NO_BOUNDS, Bounds, Choice, now
from jupyter_eca.instructions.rules import CATALOGUE
from jupyter_eca.plugins.tools.base import Need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.config import Resolved
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.system_prompt import SystemPrompts
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.instructions.pinned import Pinned
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.plugins.tools.base import Tool, ToolContext


SPAWN: Final = "spawn_agent"

# Seconds that a cell's question waits for tool servers which are starting. "Run all" asks a moment after it has started
# them, and an answer without its tools is not what the cell is for. Where nobody watches there is time for slow ones.
CELL_PATIENCE: Final = 3.0


@dataclass(frozen=True, slots=True)
class Briefing:
    """What a model is given at the beginning of a turn."""

    pinned: Pinned
    """The system prompt."""
    tools: tuple[ToolSpec, ...]
    """The tools that it may call."""


class Setups:
    def __init__(self, services: Services, chats: Chats, contexts: ToolContexts, prompts: SystemPrompts) -> None:
        self._services = services
        self._chats = chats
        self._contexts = contexts
        self._prompts = prompts
        self.is_one_shot = False
        """Whether this process ends after a question or two: then there is no later question that has the tools of the
        MCP servers which are starting, so each question waits for them."""

    async def prepare(
        self, choice: Choice, context: ToolContext, bounds: Bounds = NO_BOUNDS, *, pin: bool = False
    ) -> inputs.Setup:
        """Work out what a turn is run with. With `pin` the system prompt is kept: the model is going to be asked."""
        services = self._services
        subscribers = services.subscribers
        if pin and (context.from_cell or self.is_one_shot):
            watched = subscribers.has_approver(context.chat) and not self.is_one_shot
            await services.mcp.await_started(CELL_PATIENCE if watched else services.config.mcp_timeout_seconds)
        resolved = services.current.resolved
        chosen_agent, settled = resolved.agent(choice.agent), self.settle(choice)
        for complaint in services.toolbox.complaints:
            subscribers.warn(complaint)
        for problem in find_problems(resolved, services.toolbox.all(), services.catalog.entries()):
            if not subscribers.has_warned(problem.text):
                where = await asyncio.to_thread(locate_problem, problem, resolved.config.sources)
                subscribers.warn(problem.text, where)
        briefing = await self.brief(choice, context, bounds)
        if pin:
            await self._prompts.save(context.chat, briefing.pinned)
        return inputs.Setup(
            model=choice.model,
            agent=chosen_agent.name,
            system=briefing.pinned.text,
            tools=briefing.tools,
            policy=bounds.policy or chosen_agent.policy,
            variant=settled.variant or "",
            trust=bool(settled.trust),
            max_steps=chosen_agent.max_steps or 0,
            compact_at=chosen_agent.compact_at,
            plans=chosen_agent.looks_only,
        )

    async def brief(
        self, choice: Choice, context: ToolContext, bounds: Bounds = NO_BOUNDS, *, anew: bool = False
    ) -> Briefing:
        """Return what the model is given: the system prompt as it was kept, with `anew` as it would be made now."""
        services = self._services
        chosen_agent = services.current.resolved.agent(choice.agent)
        # Whether there are rules for paths is known when they are read, which is after the tools are.
        ruled = replace(context, rules=self._contexts.build_rules(context.chat))
        tools = self.list_tools(chosen_agent.name, ruled, bounds)
        place = instructions.InstructionContext(
            context.files,
            services.config,
            chosen_agent,
            choice.model,
            context.kernel,
            services.workspace.kernels,
            context.notebooks,
            tuple((name, words) for name, words in services.mcp.instructions().items() if bounds.has(name)),
            services.interpreters,
            services.subscribers.warn,
            frozenset(key(tool.spec) for tool in tools),
            notebook=context.notebook,
            in_notebook=context.from_cell or bool(services.subscribers.notebooks(context.chat)),
            subagent=context.nested,
        )
        pinned = await self._prompts.compose(context.chat, place, self.settle(choice).variant or "", anew=anew)
        catalogued = pinned.has(CATALOGUE)
        usable = (tool for tool in tools if catalogued or Need.RULES not in tool.needs)
        return Briefing(pinned, self._specs(chosen_agent.name, usable))

    def settle(self, choice: Choice) -> Choice:
        """Fill in what the agent and the configuration say where nothing was chosen; the model aside."""
        chosen_agent = self._services.current.resolved.agent(choice.agent)
        variant = chosen_agent.variant if choice.variant is None else choice.variant
        trust = self._services.config.chat.default_trust if choice.trust is None else choice.trust
        return replace(choice, agent=chosen_agent.name, variant=variant, trust=trust)

    def list_tools(self, agent_name: str, context: ToolContext, bounds: Bounds = NO_BOUNDS) -> list[Tool]:
        """List the tools an agent has: plan mode only looks, and what the rules always deny is not mentioned. A
        subagent has not those that a client lends to a chat: it would be asked to run them there."""
        owner, toolbox = self._services.current.resolved.agent(agent_name), self._services.toolbox
        common = toolbox.all() if context.nested else toolbox.all(context.chat)
        return [
            tool
            for tool in toolbox.list_available(context)
            if bounds.has(tool.spec.server)
            and tool.spec.name in common
            and not (context.nested and tool.spec.name in subagents.WITHHELD)
            and (tool.reads or not bounds.looks_only)
            and owner.has_tool(tool.spec, reads=tool.reads, agents=tool.agents)
            and not is_hidden(owner.policy, tool.spec)
        ]

    def _specs(self, agent_name: str, tools: Iterable[Tool]) -> tuple[ToolSpec, ...]:
        """Describe tools for the engine and a model: `spawn_agent` with the agents there are, and not without any."""
        others = [
            (one.name, one.description) for one in self._services.current.resolved.list_spawnable(agent_name).values()
        ]
        return tuple(
            replace(spec, description=subagents.describe_tool(spec.description, others)) if spec.name == SPAWN else spec
            for spec in (replace(tool.spec, reads=tool.reads) for tool in tools)
            if spec.name != SPAWN or others
        )

    def find_changed_tools(self, chat: LiveChat) -> tuple[ToolSpec, ...] | None:
        """Return the tools of the turn under way when they differ from those it has: MCP servers come and go. Else
        None."""
        context = self._contexts.build(chat.state.id, chat.kernel)
        agent_name = chat.state.setup.agent
        tools = self._specs(agent_name, self.list_tools(agent_name, context, chat.bounds))
        return None if tools == chat.state.setup.tools else tools

    def apply_rules(self) -> None:
        """Have the rules of approval there are now hold for the turns under way. A turn that is replayed decides
        nothing, and a front that brought rules of its own keeps them."""
        for chat in self._chats.all_live():
            policy = self._services.current.resolved.agent(chat.state.setup.agent).policy
            if chat.busy and chat.replay is None and chat.bounds.policy is None and policy != chat.state.setup.policy:
                self._chats.feed(chat, inputs.PolicyChanged(now(), policy), late=True)


async def choose_model(resolved: Resolved, catalog: Catalog, choice: Choice) -> str:
    """Return the full name of the model that answers; empty when there is none."""
    own = resolved.agent(choice.agent).default_model
    return choice.model or (own if own and catalog.has(own) else "") or await catalog.default()
