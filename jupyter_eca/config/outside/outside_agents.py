"""Owns `OutsideAgent`: another program that answers in the place of our agents, with all that is needed to start it.

A known outside agent comes from a plug (`plugins/agents`). The configuration (`acpAgents`) adds others, and changes
known ones. This module must not look for a program or start one: `plugins/agents` and `host/outside` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field, SecretStr

from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.config.policy.applied_policy import AppliedPolicy
    from jupyter_eca.config.schema import AcpAgentConfig


class OutsideAgent(Model):
    """A program that speaks the Agent Client Protocol (ACP) on its standard streams."""

    title: str
    """The name of the program for the user: `Claude Code`."""
    command: tuple[str, ...]
    """The program and its arguments."""
    env: dict[str, SecretStr] = Field(default_factory=dict[str, SecretStr])
    """Variables that are added to its environment."""
    mode: str = ""
    """The session mode that is set after the session was started; "" to keep the agent's own."""
    is_mode_chosen: bool = False
    """Whether the user has chosen the mode. Then no note tells the user that the agent does not ask before it acts in
    this mode."""
    sign_in: str = ""
    """How the user signs in to it, in a sentence; "" when it is not known."""
    install: str = ""
    """How the user installs it, in a sentence; "" when it is not known."""
    description: str = ""
    """What the agent is for."""
    has_tool_as_title: bool = False
    """Whether the first title of a call is the name of its tool, written by the program and not by a model."""
    is_missing: bool = False
    """Whether the program was not found. Then the agent is not offered, and `install` says what to do."""


def combine_outside_agents(
    known: Mapping[str, OutsideAgent], configured: Mapping[str, AcpAgentConfig], policy: AppliedPolicy
) -> dict[str, OutsideAgent]:
    """Return the outside agents by name: those that plugs define (`known`) with the changes of the configuration, and
    those that only the configuration names (`configured`). An agent without a command is left out, and so is an agent
    that the policy refuses."""
    agents = dict(known)
    for name, settings in configured.items():
        base = known.get(name)
        if settings.disabled or (settings.command is None and base is None):
            agents.pop(name, None)
            continue
        known_command = base.command if base else ()
        is_known_program = settings.command is None
        program = known_command[:1] if settings.command is None else (settings.command,)
        default_arguments = known_command[1:] if is_known_program else ()
        agents[name] = OutsideAgent(
            title=base.title if base else name,
            command=(*program, *(default_arguments if settings.args is None else settings.args)),
            env={**(base.env if base else {}), **settings.env},
            mode=settings.mode if settings.mode is not None else base.mode if base else "",
            is_mode_chosen=settings.mode is not None,
            sign_in=base.sign_in if base else "",
            install=base.install if base else "",
            description=settings.description or (base.description if base else ""),
            has_tool_as_title=bool(base and base.has_tool_as_title),
            is_missing=bool(base and base.is_missing and is_known_program),
        )
    return {
        name: agent
        for name, agent in agents.items()
        if not policy.find_outside_agent_refusal(
            agent.command, name, configured[name].env if name in configured else ()
        )
    }
