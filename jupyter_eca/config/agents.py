"""Owns the agents: their system prompt, tools, approval rules and model, as the configuration defines them.

It must not read a file: `layers` does. `agent_checks` is its neighbour: it finds mistakes in the user's agents.

Four agents are built in. The user works with `code`, which can change things, and `plan`, which only reads. These two
can spawn `general`, which can change things, and `explorer`, which only reads. All other agents are the user's own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jupyter_eca.config.schema import ALIASES, AgentConfig, AgentMode
from jupyter_eca.engine.approval.approval_scope import get_selector
from jupyter_eca.engine.approval.policy import Policy, merge_policies
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from jupyter_eca.config.schema import Config
    from jupyter_eca.engine.model.request import ToolSpec

_log = logging.getLogger(__name__)

CODE = "code"
PLAN = "plan"
EXPLORER = "explorer"
GENERAL = "general"

_EXPLORE = """You explore a project and its notebooks for another assistant. You look and change nothing: find files, \
search them, read cells, outputs and variables. Search widely first, then read only what matters. Answer what you were \
asked with what you found: paths with line numbers, ids of cells, names, short quotes. Say what you looked for and did \
not find."""
_WORK = """You carry out one task for another assistant, from beginning to end. Look before you act, take small steps, \
run what you wrote and read the real output. Do what the task says and no more. At the end say what you did, what came \
of it, which files and cells you changed, and plainly what failed or was not tried."""


class Agent(Model):
    """An agent with all its settings, inherited ones included."""

    name: str
    kind: str = CODE
    """The built-in agent from which it inherits in the end."""
    mode: AgentMode = AgentMode.PRIMARY
    description: str = ""
    prompt: str = ""
    """Replaces our system prompt for `kind`; empty keeps ours."""
    default_model: str | None = None
    variant: str | None = None
    disabled_tools: tuple[str, ...] = ()
    policy: Policy = Policy()
    """The approval rules: the agent's own rules, then the general ones."""
    max_steps: int | None = None
    """The largest number of requests to the model in a turn."""
    compact_at: int = 0
    """The key `autoCompactPercentage`."""
    spawnable_by: tuple[str, ...] | None = None

    @property
    def looks_only(self) -> bool:
        """Whether the agent only reads."""
        return self.kind in {PLAN, EXPLORER}

    def may_spawn(self, other: Agent) -> bool:
        """Return whether this agent may spawn the other one."""
        by = other.spawnable_by
        is_allowed = by is None or not {self.name, self.kind}.isdisjoint(ALIASES.get(name, name) for name in by)
        return is_allowed and other.mode is not AgentMode.PRIMARY

    def has_tool(self, tool: ToolSpec, *, reads: bool, agents: frozenset[str] = frozenset()) -> bool:
        """Return whether the agent has a tool.

        `reads` says whether the tool only reads, and `agents` which agents it is for (empty: all). An agent that only
        reads has no tool that changes anything, whatever the rules allow.
        """
        if agents and not agents & {self.name, self.kind}:
            return False
        return (reads or not self.looks_only) and not any(_selects(name, tool) for name in self.disabled_tools)


_BUILT_IN = {
    CODE: AgentConfig(description="Does what is asked, with all tools."),
    PLAN: AgentConfig(description="Looks and plans; changes nothing."),
    EXPLORER: AgentConfig(
        mode=AgentMode.SUBAGENT,
        description="Finds files, code and facts in the project and its notebooks, fast; changes nothing.",
        prompt=_EXPLORE,
    ),
    GENERAL: AgentConfig(
        mode=AgentMode.SUBAGENT,
        description="Researches what is complex, and carries out tasks of many steps; several can work in parallel.",
        prompt=_WORK,
    ),
}


def resolve_agents(config: Config) -> dict[str, Agent]:
    """Work out all agents, by name, the built-in ones first. See `config.resolved`, which does so once."""
    names = [*_BUILT_IN, *(name for name in config.agent if name not in _BUILT_IN)]
    return {name: _resolve(config, name) for name in names}


def _resolve(config: Config, name: str) -> Agent:
    """Combine the settings of an agent and its ancestors.

    Each field has the value of the nearest agent that sets it. Lists and rules are added together.
    """
    ancestry = _list_ancestry(config, name)
    kind = next((ancestor for ancestor, _ in ancestry if ancestor in _BUILT_IN), CODE)
    # ECA's `plan` has a prompt of its own, which the general prompt does not replace.
    general = "" if kind == PLAN else config.prompts.chat
    settings = [agent_config for _, agent_config in ancestry]
    policy = config.tool_call.approval
    for ancestor, agent_config in reversed(ancestry):
        policy = merge_policies(policy, agent_config.tool_call.approval, ancestor)
    disabled = [
        *config.disabled_tools,
        *(tool for config_of_agent in settings for tool in config_of_agent.disabled_tools or ()),
    ]
    return Agent(
        name=name,
        kind=kind,
        mode=next((setting.mode for setting in settings if setting.mode), AgentMode.PRIMARY),
        description=next((setting.description for setting in settings if setting.description), ""),
        prompt=next((setting.prompt_text for setting in settings if setting.prompt_text), general),
        default_model=next((setting.default_model for setting in settings if setting.default_model), None),
        variant=next((setting.variant for setting in settings if setting.variant), None),
        disabled_tools=tuple(dict.fromkeys(disabled)),
        policy=policy,
        compact_at=next(
            (setting.auto_compact_percentage for setting in settings if setting.auto_compact_percentage is not None),
            config.auto_compact_percentage,
        ),
        max_steps=next((steps for setting in settings if (steps := setting.max_steps or setting.steps)), None),
        spawnable_by=next((setting.spawnable_by for setting in settings if setting.spawnable_by is not None), None),
    )


def _list_ancestry(config: Config, name: str) -> list[tuple[str, AgentConfig]]:
    """Return an agent and its ancestors with their settings, the nearest first. A circle ends where it closes."""
    ancestry: dict[str, list[AgentConfig]] = {}
    wanted: str | None = name
    while wanted and wanted not in ancestry and (wanted in config.agent or wanted in _BUILT_IN):
        # The user's changes to a built-in agent come before the agent itself.
        layers = [settings[wanted] for settings in (config.agent, _BUILT_IN) if wanted in settings]
        ancestry[wanted] = layers
        parent = next((layer.inherit for layer in layers if layer.inherit), None)
        wanted = parent and ALIASES.get(parent, parent)
    if wanted and wanted not in ancestry:
        _log.warning("the agent %r inherits from %r, which does not exist", name, wanted)
    return [(ancestor, settings) for ancestor, layers in ancestry.items() for settings in layers]


def _selects(selector: str, tool: ToolSpec) -> bool:
    """Return whether a selector means this tool: a server, `server__tool`, or the name of a native tool.

    The name of a server's tool may begin with the server's name already.
    """
    is_full_name = tool.server == "eca" or tool.name.startswith(f"{tool.server}__")
    return selector in {tool.server, get_selector(tool)} or (is_full_name and selector == tool.name)
