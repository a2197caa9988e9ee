"""Agents: who answers, with which words, tools and model. Worked out from the configuration; pure but for a log line.

Built in are `code`, which does things, and `plan`, which only looks. Anything else is the user's own.
"""

from __future__ import annotations

import logging
from functools import reduce
from typing import TYPE_CHECKING

from jupyter_eca.config.keys import ALIASES, AgentConfig, AgentMode
from jupyter_eca.engine.approval import Policy, key, merged
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from jupyter_eca.config.keys import Config
    from jupyter_eca.engine.spec import ToolSpec

_log = logging.getLogger(__name__)

CODE = "code"
PLAN = "plan"


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

    @property
    def looks_only(self) -> bool:
        return self.kind == PLAN

    def has(self, tool: ToolSpec, *, reads: bool, agents: frozenset[str] = frozenset()) -> bool:
        """Whether a tool is its own; `reads` and `agents` are what the tool says of itself. An agent that only looks
        has no tool that changes anything, whatever the rules allow."""
        if agents and not agents & {self.name, self.kind}:
            return False
        return (reads or not self.looks_only) and not any(_names(name, tool) for name in self.disabled_tools)


_BUILT_IN = {
    CODE: AgentConfig(description="Does what is asked, with all tools."),
    PLAN: AgentConfig(description="Looks and plans; changes nothing."),
}


def agents(config: Config) -> dict[str, Agent]:
    """All of them by name, the built-in ones first."""
    names = [*_BUILT_IN, *(name for name in config.agent if name not in _BUILT_IN)]
    return {name: _resolved(config, name) for name in names}


def primary(config: Config, name: str = "") -> tuple[str, ...]:
    """Those a user may choose, the default one first: some clients take the first for the selected one. With `name`,
    that is the default."""
    default = agent(config, name).name
    chosen = [name for name, one in agents(config).items() if one.mode is not AgentMode.SUBAGENT]
    return tuple(sorted(chosen, key=lambda name: name != default))


def agent(config: Config, name: str = "") -> Agent:
    """The one of that name, or by default the configured one. An unknown name is the default, and logged."""
    everyone = agents(config)
    for wanted in (name, config.default_agent):
        if found := everyone.get(ALIASES.get(wanted, wanted)):
            return found
        if wanted:
            _log.warning("there is no agent %r; known are %s", wanted, ", ".join(everyone))
    return everyone[CODE]


def _resolved(config: Config, name: str) -> Agent:
    """The nearest of its line that says something about a field decides it; lists and rules add up."""
    line = _line(config, name)
    settings = [one for _, one in line]
    policies = [config.tool_call.approval, *(one.tool_call.approval for one in reversed(settings))]
    disabled = [*config.disabled_tools, *(tool for one in settings for tool in one.disabled_tools or ())]
    return Agent(
        name=name,
        kind=next((one for one, _ in line if one in _BUILT_IN), CODE),
        mode=next((one.mode for one in settings if one.mode), AgentMode.PRIMARY),
        description=next((one.description for one in settings if one.description), ""),
        prompt=next((one.words for one in settings if one.words), ""),
        default_model=next((one.default_model for one in settings if one.default_model), None),
        variant=next((one.variant for one in settings if one.variant), None),
        disabled_tools=tuple(dict.fromkeys(disabled)),
        policy=reduce(merged, policies),
        compact_at=next(
            (one.auto_compact_percentage for one in settings if one.auto_compact_percentage is not None),
            config.auto_compact_percentage,
        ),
        max_steps=next((steps for one in settings if (steps := one.max_steps or one.steps)), None),
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
