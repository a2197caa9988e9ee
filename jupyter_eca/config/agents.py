"""Agents: who answers, with which words, tools and model. Worked out from the configuration; pure but for a log line.

Built in are `code`, which does things, and `plan`, which only looks; and for these to spawn, `general`, which does
things, and `explorer`, which only looks. Anything else is the user's own.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from jupyter_eca.config.schema import ALIASES, AgentConfig, AgentMode
from jupyter_eca.engine.approval.policy import Policy, key, merged
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
    """`prompt` stands in for the words of `kind`, the built-in agent that it is in the end; `policy` is the approval
    with the agent's own rules over the global ones. `max_steps` limits the model's requests in a turn;
    `compact_at` is `auto_compact_percentage`."""

    name: str
    kind: str = CODE
    mode: AgentMode = AgentMode.PRIMARY
    description: str = ""
    prompt: str = ""
    default_model: str | None = None
    variant: str | None = None
    disabled_tools: tuple[str, ...] = ()
    policy: Policy = Policy()
    max_steps: int | None = None
    compact_at: int = 0
    spawnable_by: tuple[str, ...] | None = None

    @property
    def looks_only(self) -> bool:
        return self.kind in {PLAN, EXPLORER}

    def may_spawn(self, other: Agent) -> bool:
        by = other.spawnable_by
        named = by is None or not {self.name, self.kind}.isdisjoint(ALIASES.get(name, name) for name in by)
        return named and other.mode is not AgentMode.PRIMARY

    def has(self, tool: ToolSpec, *, reads: bool, agents: frozenset[str] = frozenset()) -> bool:
        """Whether a tool is its own; `reads` and `agents` are what the tool says of itself. An agent that only looks
        has no tool that changes anything, whatever the rules allow."""
        if agents and not agents & {self.name, self.kind}:
            return False
        return (reads or not self.looks_only) and not any(_names(name, tool) for name in self.disabled_tools)


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
    """The nearest of its line that says something about a field decides it; lists and rules add up."""
    line = _line(config, name)
    kind = next((one for one, _ in line if one in _BUILT_IN), CODE)
    # ECA's `plan` has words of its own, which the general ones do not stand in for.
    general = "" if kind == PLAN else config.prompts.chat
    settings = [one for _, one in line]
    policy = config.tool_call.approval
    for whose, one in reversed(line):
        policy = merged(policy, one.tool_call.approval, whose)
    disabled = [*config.disabled_tools, *(tool for one in settings for tool in one.disabled_tools or ())]
    return Agent(
        name=name,
        kind=kind,
        mode=next((one.mode for one in settings if one.mode), AgentMode.PRIMARY),
        description=next((one.description for one in settings if one.description), ""),
        prompt=next((one.words for one in settings if one.words), general),
        default_model=next((one.default_model for one in settings if one.default_model), None),
        variant=next((one.variant for one in settings if one.variant), None),
        disabled_tools=tuple(dict.fromkeys(disabled)),
        policy=policy,
        compact_at=next(
            (one.auto_compact_percentage for one in settings if one.auto_compact_percentage is not None),
            config.auto_compact_percentage,
        ),
        max_steps=next((steps for one in settings if (steps := one.max_steps or one.steps)), None),
        spawnable_by=next((one.spawnable_by for one in settings if one.spawnable_by is not None), None),
    )


def _line(config: Config, name: str) -> list[tuple[str, AgentConfig]]:
    """An agent and those it inherits from, nearest first; a circle ends where it closes."""
    line: dict[str, list[AgentConfig]] = {}
    wanted: str | None = name
    while wanted and wanted not in line and (wanted in config.agent or wanted in _BUILT_IN):
        here = [settings[wanted] for settings in (config.agent, _BUILT_IN) if wanted in settings]
        line[wanted] = here
        parent = next((one.inherit for one in here if one.inherit), None)
        wanted = parent and ALIASES.get(parent, parent)
    if wanted and wanted not in line:
        _log.warning("the agent %r inherits from %r, which is not there", name, wanted)
    return [(one, settings) for one, both in line.items() for settings in both]


def _names(selector: str, tool: ToolSpec) -> bool:
    """As in approval rules: a server, `server__tool`, or the bare name of a native tool. A server's tool may be named
    with its server already."""
    own = tool.server == "eca" or tool.name.startswith(f"{tool.server}__")
    return selector in {tool.server, key(tool)} or (own and selector == tool.name)
