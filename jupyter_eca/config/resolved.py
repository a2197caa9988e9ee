"""Owns `ResolvedConfig`: a configuration together with what is computed from it alone, such as its agents. This is done
once, when the configuration changes.

It must not know where a configuration comes from or who uses it. Its neighbours are `agents`, which computes an agent,
and `layers`, which reads the configuration.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config.agents import CODE, resolve_agents
from jupyter_eca.config.hooks import parse_hooks
from jupyter_eca.config.schema import AGENT_ALIASES, AgentMode
from jupyter_eca.engine.model.budget import BudgetScope

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.agents import Agent
    from jupyter_eca.config.hooks import Hook, RejectedHook
    from jupyter_eca.config.outside.outside_agents import OutsideAgent
    from jupyter_eca.config.schema import Config

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResolvedConfig:
    """A configuration and all that is computed from it alone."""

    config: Config
    """The configuration as it was read."""
    agents: Mapping[str, Agent]
    """All agents by name, the built-in ones first."""
    hooks: tuple[Hook, ...]
    """The valid hooks in the order in which they run."""
    rejected_hooks: tuple[RejectedHook, ...]
    """The hooks that are ignored because of an error."""
    limits: Mapping[BudgetScope, float]
    """The limits of the budgets in US dollars. Empty for no limit."""

    def get_agent(self, name: str = "") -> Agent:
        """Return the agent of this name. An empty or unknown name stands for the default agent; an unknown one is
        logged."""
        for candidate in (name, self.config.default_agent):
            if agent := self.agents.get(AGENT_ALIASES.get(candidate, candidate)):
                return agent
            if candidate:
                _log.warning("there is no agent %r; known are %s", candidate, ", ".join(self.agents))
        return self.agents.get(CODE) or next(
            agent for agent in self.agents.values() if agent.mode is not AgentMode.SUBAGENT
        )

    def list_selectable(self, name: str = "") -> tuple[str, ...]:
        """Return the agents that the user may choose, by name. The default agent comes first, because some clients show
        the first one as selected. With `name`, this agent is the default."""
        default = self.get_agent(name).name
        names = [
            name
            for name, agent in self.agents.items()
            if agent.mode is not AgentMode.SUBAGENT and not (agent.outside and agent.outside.is_missing)
        ]
        return tuple(sorted(names, key=lambda name: name != default))

    def list_outside(self) -> tuple[str, ...]:
        """Return the names of the outside agents that the user may choose."""
        return tuple(name for name in self.list_selectable() if self.agents[name].outside is not None)

    def list_spawnable(self, by: str) -> dict[str, Agent]:
        """Return the agents that the agent `by` may spawn, by name."""
        spawner = self.get_agent(by)
        return {name: agent for name, agent in self.agents.items() if spawner.may_spawn(agent)}


def resolve(config: Config, known: Mapping[str, OutsideAgent] | None = None) -> ResolvedConfig:
    """Return the configuration with its agents, hooks and limits. `known` are the outside agents that plugs know."""
    budget = config.budget
    limits = {
        BudgetScope.CHAT: budget.per_chat,
        BudgetScope.NOTEBOOK: budget.per_notebook,
        BudgetScope.DAY: budget.per_day,
    }
    limits = {scope: limit for scope, limit in limits.items() if limit is not None}
    return ResolvedConfig(config, resolve_agents(config, known or {}), *parse_hooks(config.hooks), limits)
