"""Builds the `Setup` of a turn: its model, system prompt, tools and rules of approval. They follow from what the user
has chosen, from the configuration, and from the tools that are available.

An agent is a named set of such settings in the configuration, for example `plan`, which may only read. A variant is a
named set of options of a model, for example its reasoning effort.

It must not start turns: `host.turn.turns` does. `host.turn.system_prompt` stores the system prompt of each chat.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca import instructions
from jupyter_eca.config import find_problems, locate_problem
from jupyter_eca.config.agents import PLAN, TUTOR
from jupyter_eca.config.policy.document import Feature
from jupyter_eca.config.schema import SandboxMode
from jupyter_eca.engine import inputs
from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.engine.approval.call_parts import RUN
from jupyter_eca.engine.approval.policy import is_hidden
from jupyter_eca.engine.chat import subagents
from jupyter_eca.host.chat.live_chat import NO_BOUNDS, Bounds, Choice, now
from jupyter_eca.host.chat.notebook_rules import NO_RULES, add_notebook_rules
from jupyter_eca.host.turn.plan_mode import choose_actor, choose_prompt_agent
from jupyter_eca.instructions.rules import CATALOGUE
from jupyter_eca.plugins.tools.base import Need

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.config import Agent, ResolvedConfig
    from jupyter_eca.engine.approval.policy import Policy
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.turn.system_prompt import SystemPrompts
    from jupyter_eca.host.turn.tool_context import ToolContexts
    from jupyter_eca.instructions.pinned_prompt import PinnedPrompt
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.plugins.tools.base import Tool, ToolContext
    from jupyter_eca.workspace.ports import Kernel


# The name of the tool with which an agent spawns another one.
SPAWN: Final = "spawn_agent"

# How long the question of a cell waits for MCP servers that are starting. "Run all" asks a moment after it has
# started them, and the cell may need their tools. If no client can approve tool calls, the question waits for slow
# servers too, as long as `mcpTimeoutSeconds` allows.
CELL_WAIT_SECONDS: Final = 3.0


@dataclass(frozen=True, slots=True)
class PromptAndTools:
    """The system prompt and the tools that a model gets at the beginning of a turn."""

    pinned: PinnedPrompt
    """The system prompt."""
    tools: tuple[ToolSpec, ...]
    """The tools that it may call."""


class Setups:
    """Builds the setups of all turns of one host.

    In its methods, `full_choice` is a choice with the defaults filled in (`fill_defaults`), `bounds` are the limits
    that a front sets to the turn, and `notebook_rules` the approval rules of the notebook in which the turn was asked.
    """

    def __init__(self, services: Services, chats: Chats, contexts: ToolContexts, prompts: SystemPrompts) -> None:
        self._services = services
        self._chats = chats
        self._contexts = contexts
        self._prompts = prompts
        self.is_one_shot = False
        """Whether this process ends after a question or two. Then each question waits for the MCP servers that are
        starting, because there is no later question that could use their tools."""
        # The configuration and the tools that were last checked for problems.
        self._checked: tuple[object, object] = None, None
        # The setup that was built last, in any chat.
        self._last_built: inputs.Setup | None = None

    async def prepare(
        self,
        choice: Choice,
        chat: str,
        kernel: Kernel | None = None,
        notebook: str | None = None,
        bounds: Bounds = NO_BOUNDS,
        *,
        pin: bool = False,
    ) -> inputs.Setup:
        """Build the setup of a turn. With `pin` the system prompt is stored, because the model is going to be called.

        `kernel` is that of the cell that asked, None for none. `notebook` is the one in which the user asked, None for
        that of the turn under way. `bounds` are the limits that a front sets.
        """
        services, owner = self._services, self._contexts.get_owner(chat)
        if pin and (kernel is not None or self.is_one_shot):
            watched = services.subscribers.has_approver(owner) and not self.is_one_shot
            wait_seconds = CELL_WAIT_SECONDS if watched else services.config.mcp_timeout_seconds
            # `or_known`: a server whose tools are known from its last start is not waited for.
            await services.mcp.await_started(wait_seconds, or_known=True, warns=self.is_one_shot)
        await self._warn_of_problems()
        full_choice = self.fill_defaults(choice)
        notebook_rules = await services.notebook_rules.read(notebook) if notebook else NO_RULES
        if (agent := services.current.resolved.get_agent(full_choice.agent)).outside is not None:
            return self._prepare_outside(agent, full_choice, bounds, notebook_rules)
        pinned = await self._compose_system_prompt(full_choice, chat, kernel, notebook, bounds)
        if pin:
            await self._prompts.save(chat, pinned)
        # If nothing has changed that the setup depends on, the chat keeps the setup of its last turn.
        resolved, live = services.current.resolved, self._chats.get_live(chat)
        tool_conditions = self._contexts.list_tool_conditions(chat, kernel, choice.folder)
        tools = services.toolbox.get_tools(owner)
        dependencies = (full_choice, bounds, resolved, tools, tool_conditions, pinned, notebook_rules)
        if live is not None and live.last_setup is not None and live.last_setup[0] == dependencies:
            return live.last_setup[1]
        setup = replace(
            self._make_setup(resolved.get_agent(full_choice.agent), full_choice, bounds, notebook_rules),
            system=pinned.text,
            tools=self._describe_usable_tools(full_choice, chat, kernel, bounds, pinned),
            title_model=self._choose_title_model(choice.model) if owner == chat else "",
            title_prompt=resolved.config.prompts.chat_title,
        )
        setup = self._share_parts(setup)
        if live is not None:
            live.last_setup = dependencies, setup
        return setup

    async def prepare_direct_call(self, choice: Choice, notebook: str | None) -> inputs.Setup:
        """Build the setup of a tool call that no model made. It has no system prompt, because no model is called, and
        no tools: the caller adds the one that is called."""
        await self._warn_of_problems()
        full_choice = self.fill_defaults(choice)
        agent = self._services.current.resolved.get_agent(full_choice.agent)
        notebook_rules = await self._services.notebook_rules.read(notebook) if notebook else NO_RULES
        if agent.outside is not None:
            return self._prepare_outside(agent, full_choice, NO_BOUNDS, notebook_rules)
        return self._make_setup(agent, full_choice, NO_BOUNDS, notebook_rules)

    def _make_setup(self, agent: Agent, full_choice: Choice, bounds: Bounds, notebook_rules: Policy) -> inputs.Setup:
        """Return what the choice, the agent and the rules say about a turn. It has no system prompt and no tools."""
        return inputs.Setup(
            model=full_choice.model,
            agent=agent.name,
            policy=self._restrict(agent.policy, notebook_rules, bounds),
            variant=full_choice.variant or "",
            trust=bool(full_choice.trust),
            max_steps=agent.max_steps or 0,
            compact_at=agent.compact_at,
            plan_mode=agent.looks_only,
            # An agent that teaches changes nothing either, but its answers are no plans.
            ends_in_plan=agent.looks_only and agent.kind != TUTOR,
        )

    def _share_parts(self, setup: inputs.Setup) -> inputs.Setup:
        """Return an equal setup that has the system prompt and the tools in common with the setup that was built last,
        if those are equal. Each chat in memory keeps its setup, and in most chats both are the same."""
        last = self._last_built
        if last is not None and last.system == setup.system:
            setup = replace(setup, system=last.system)
        if last is not None and last.tools == setup.tools:
            setup = replace(setup, tools=last.tools)
        self._last_built = setup
        return setup

    def _choose_title_model(self, model: str) -> str:
        """Return the model that makes the title of a chat that `model` answers in; "" for none."""
        if self.is_one_shot or not self._services.config.chat.title:
            return ""
        return self._services.catalog.find_title_model(model)

    def _restrict(self, policy: Policy, notebook_rules: Policy, bounds: Bounds) -> Policy:
        """Return the rules of an agent with those of the notebook in which the turn was asked, within the bounds."""
        if notebook_rules is not NO_RULES:
            may_have_allow_rules = not self._services.config.policy.find_feature_refusal(Feature.ALLOW_RULES)
            policy = add_notebook_rules(policy, notebook_rules, may_have_allow_rules=may_have_allow_rules)
        return bounds.restrict(policy)

    def _prepare_outside(
        self, agent: Agent, full_choice: Choice, bounds: Bounds, notebook_rules: Policy
    ) -> inputs.Setup:
        """Build the setup of a turn of an outside agent. It has its own model, system prompt and tools."""
        return inputs.Setup(
            model=f"acp/{agent.name}",
            agent=agent.name,
            policy=self._restrict(agent.policy, notebook_rules, bounds),
            trust=bool(full_choice.trust),
            outside=True,
            title=agent.outside.title if agent.outside else "",
        )

    async def _warn_of_problems(self) -> None:
        """Warn the users of problems in the settings of tools and agents. Each problem is reported once."""
        services = self._services
        for warning in services.toolbox.warnings:
            services.subscribers.warn(warning)
        resolved, tools = services.current.resolved, services.toolbox.get_tools()
        if self._checked == (resolved, tools):
            return
        self._checked = resolved, tools
        for problem in find_problems(resolved, tools, services.catalog.names):
            if not services.subscribers.has_warned(problem.text):
                location = await asyncio.to_thread(locate_problem, problem, resolved.config.sources)
                services.subscribers.warn(problem.text, location)

    async def get_prompt_and_tools(
        self, choice: Choice, chat: str, kernel: Kernel | None = None, *, recompose: bool = False
    ) -> PromptAndTools:
        """Return the system prompt and the tools that the model gets. With `recompose` the system prompt is composed
        again, although one is stored."""
        full_choice = self.fill_defaults(choice)
        pinned = await self._compose_system_prompt(full_choice, chat, kernel, recompose=recompose)
        return PromptAndTools(pinned, self._describe_usable_tools(full_choice, chat, kernel, NO_BOUNDS, pinned))

    async def _compose_system_prompt(
        self,
        full_choice: Choice,
        chat: str,
        kernel: Kernel | None,
        notebook: str | None = None,
        bounds: Bounds = NO_BOUNDS,
        *,
        recompose: bool = False,
    ) -> PinnedPrompt:
        """Return the system prompt of a turn that is about to begin: the one that is stored with the chat, if it was
        composed for the same agent, model and variant. With `recompose` it is composed again in any case."""
        services, resolved = self._services, self._services.current.resolved
        agent = resolved.get_agent(full_choice.agent)
        if agent.kind == PLAN:
            place = self._contexts.build(chat, kernel, folder=full_choice.folder)
            agent = await choose_prompt_agent(resolved, agent, place, services.subscribers.warn)
        choice = replace(full_choice, agent=agent.name)
        servers = tuple(
            (name, text) for name, text in services.mcp.list_instructions().items() if bounds.allows_server(name)
        )

        def build_context() -> instructions.InstructionContext:
            """Return what the sections of the system prompt are written from."""
            context = self._contexts.build(chat, kernel, notebook=notebook, folder=full_choice.folder)
            return instructions.InstructionContext(
                context.files,
                services.config,
                agent,
                full_choice.model,
                context.kernel,
                services.workspace.kernels,
                context.notebooks,
                servers,
                services.interpreters,
                services.subscribers.warn,
                frozenset(get_selector(tool.spec) for tool in self._list_expected_tools(choice, chat, kernel, bounds)),
                notebook=context.notebook,
                in_notebook=context.from_cell or bool(services.subscribers.list_notebooks(context.chat)),
                subagent=context.nested,
            )

        # What the system prompt depends on: with another one of these it is composed again.
        made_for = "\n".join((agent.name, full_choice.model, full_choice.variant or ""))
        recompose = recompose or services.config.chat.auto_sync_system_prompt
        owner = self._contexts.get_owner(chat)
        return await self._prompts.compose(chat, owner, made_for, servers, build_context, recompose=recompose)

    def _list_expected_tools(self, full_choice: Choice, chat: str, kernel: Kernel | None, bounds: Bounds) -> list[Tool]:
        """List the tools of a turn that is about to begin. The tool that fetches rules is listed in any case: whether
        there are rules for paths is only known when the system prompt has read them."""
        context = self._contexts.build(chat, kernel, folder=full_choice.folder)
        context = replace(context, rules=self._contexts.build_rules(context.chat))
        return self._list_tools_for_model(full_choice.agent, context, bounds)

    def _describe_usable_tools(
        self, full_choice: Choice, chat: str, kernel: Kernel | None, bounds: Bounds, pinned: PinnedPrompt
    ) -> tuple[ToolSpec, ...]:
        """Return the tools of a turn that begins with this system prompt, see `_describe_tools`. The tool that fetches
        rules is left out if the system prompt has no list (`CATALOGUE`) of rules to fetch."""
        tools = self._list_expected_tools(full_choice, chat, kernel, bounds)
        has_path_rules = pinned.has_section(CATALOGUE)
        usable = (tool for tool in tools if has_path_rules or Need.RULES not in tool.needs)
        return self._describe_tools(full_choice.agent, usable)

    def fill_defaults(self, choice: Choice) -> Choice:
        """Return the choice with the agent, variant and trust filled in from the agent and the configuration where
        nothing was chosen. The model stays as it is."""
        chosen_agent = self._services.current.resolved.get_agent(choice.agent)
        variant = chosen_agent.variant if choice.variant is None else choice.variant
        trust = self._services.config.chat.default_trust if choice.trust is None else choice.trust
        trust = trust and not self._services.config.policy.find_feature_refusal(Feature.TRUST)
        return replace(choice, agent=chosen_agent.name, variant=variant, trust=trust)

    def list_tools(self, agent_name: str, context: ToolContext, bounds: Bounds = NO_BOUNDS) -> list[Tool]:
        """List the tools that an agent has.

        An agent that only looks, such as `plan`, has no tool that changes anything. Tools that the rules always deny
        are left out. A subagent does not get the tools that a client has added to the parent chat, because the client
        runs them in that chat.
        """
        agent, toolbox = self._services.current.resolved.get_agent(agent_name), self._services.toolbox
        common = toolbox.get_tools() if context.nested else toolbox.get_tools(context.chat)
        return [
            tool
            for tool in toolbox.list_available(context, bounds.servers)
            if tool.spec.name in common
            and not (context.nested and tool.spec.name in subagents.WITHHELD_TOOLS)
            and (tool.only_reads or not bounds.looks_only)
            and agent.has_tool(tool.spec, only_reads=tool.only_reads, agents=tool.agents)
            and not is_hidden(agent.policy, tool.spec)
        ]

    def _list_tools_for_model(self, agent_name: str, context: ToolContext, bounds: Bounds) -> list[Tool]:
        """List the tools that are sent to the model. In plan mode, these are first the tools of the agent that carries
        out the plan (see `plan_mode`), whose calls are refused if they would change something, and then the planning
        agent's own tools."""
        resolved = self._services.current.resolved
        agent, own = resolved.get_agent(agent_name), self.list_tools(agent_name, context, bounds)
        if agent.kind != PLAN or context.nested:
            return own
        shared = [
            tool
            for tool in self.list_tools(choose_actor(resolved, agent).name, context, bounds)
            if not agent.has_disabled(tool.spec) and not is_hidden(agent.policy, tool.spec)
        ]
        names = {tool.spec.name for tool in shared}
        return [*shared, *(tool for tool in own if tool.spec.name not in names)]

    def _describe_tools(self, agent_name: str, tools: Iterable[Tool]) -> tuple[ToolSpec, ...]:
        """Return the tools as the engine and the model know them. The description of `spawn_agent` lists the agents
        that can be spawned, and the tool is left out if there are none."""
        caller = self._services.current.resolved.get_agent(agent_name)
        others = self._services.current.resolved.list_spawnable(agent_name).values()
        described = [(agent.name, agent.description) for agent in others]
        reading_agents = tuple(agent.name for agent in others if agent.looks_only or caller.looks_only)
        tools = tuple(tools)
        names = frozenset(tool.spec.name for tool in tools)
        return tuple(
            replace(
                spec,
                description=subagents.describe_tool(spec.description, described),
                read_only_hint=False,
                reading_agents=reading_agents,
            )
            if spec.name == SPAWN
            else spec
            for spec in (
                caller.drop_disabled_parts(
                    self._limit_arguments(replace(tool.spec, read_only_hint=tool.only_reads), names)
                )
                for tool in tools
            )
            if spec.name != SPAWN or others
        )

    def _limit_arguments(self, tool: ToolSpec, names: frozenset[str]) -> ToolSpec:
        """Return the tool without its arguments about the sandbox, if the user wants no sandbox, and without the
        argument that runs cells, if the tool that runs cells is not among `names`, the tools of the turn."""
        left_out = set[str]()
        if self._services.config.tool_call.sandbox.mode is SandboxMode.OFF:
            left_out.update(tool.about_sandbox)
        if RUN in tool.parts and tool.parts[RUN].name not in names:
            left_out.add(RUN)
        if not left_out:
            return tool
        properties = tool.parameters["properties"]
        kept = {name: schema for name, schema in properties.items() if name not in left_out}
        return replace(tool, parameters={**tool.parameters, "properties": kept})

    def find_changed_tools(self, chat: LiveChat) -> tuple[ToolSpec, ...] | None:
        """Return the tools for the turn under way if they have changed since it got them, for example because an MCP
        server has started. None if they are the same."""
        if chat.state.setup.outside or (chat.under_way and chat.under_way.called_tool):
            return None  # an outside agent has its own tools, and a direct call needs no others
        context = self._contexts.build(chat.state.id, chat.kernel)
        agent_name = chat.state.setup.agent
        tools = self._describe_tools(agent_name, self._list_tools_for_model(agent_name, context, chat.bounds))
        return None if tools == chat.state.setup.tools else tools

    def apply_rules(self) -> None:
        """Apply the current rules of approval to the turns under way. A replayed turn keeps its rules, because it
        decides nothing."""
        for chat in self._chats.list_live():
            agent = self._services.current.resolved.get_agent(chat.state.setup.agent)
            rules = self._services.notebook_rules.get(chat.asked_notebook)
            policy = self._restrict(agent.policy, rules, chat.bounds)
            if chat.is_busy and chat.replay is None and policy != chat.state.setup.policy:
                self._chats.feed(chat, inputs.PolicyChanged(now(), policy), late=True)


async def choose_model(resolved: ResolvedConfig, catalog: Catalog, choice: Choice) -> str:
    """Return the full name of the model that answers, "" if there is none."""
    agent_model = resolved.get_agent(choice.agent).default_model
    return choice.model or (agent_model if agent_model and catalog.has(agent_model) else "") or await catalog.default()
