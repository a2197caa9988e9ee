"""A configuration with everything worked out that follows from it alone: done once, when the configuration changes.

Must not know where a configuration comes from (`config.layers`) nor who uses it. `config.agents` works out one agent.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config.agents import CODE, resolve_agents
from jupyter_eca.config.schema import ALIASES, AgentMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.agents import Agent
    from jupyter_eca.config.schema import Config

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Resolved:
    config: Config
    """The configuration as it was read."""
    agents: Mapping[str, Agent]
    """All agents by name, the built-in ones first."""

    def agent(self, name: str = "") -> Agent:
        """Return the agent of that name, or by default the configured one. An unknown name is logged, and stands for
        the default."""
        for wanted in (name, self.config.default_agent):
            if agent := self.agents.get(ALIASES.get(wanted, wanted)):
                return agent
            if wanted:
                _log.warning("there is no agent %r; known are %s", wanted, ", ".join(self.agents))
        return self.agents[CODE]

    def list_primary(self, name: str = "") -> tuple[str, ...]:
        """List the agents a user may choose, the default one first: some clients take the first for the selected one.
        With `name`, that one is the default."""
        default = self.agent(name).name
        names = [name for name, agent in self.agents.items() if agent.mode is not AgentMode.SUBAGENT]
        return tuple(sorted(names, key=lambda name: name != default))

    def list_spawnable(self, by: str) -> dict[str, Agent]:
        """List the agents that an agent may spawn, by name."""
        spawner = self.agent(by)
        return {name: agent for name, agent in self.agents.items() if spawner.may_spawn(agent)}


def resolve(config: Config) -> Resolved:
    return Resolved(config, resolve_agents(config))
