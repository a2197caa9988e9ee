"""Carries out a plan: after an answer that was a plan, the message "go" starts a turn that does what the plan says.

The agent `plan` may not change anything. So such a turn gets another agent, and a message that tells the model to carry
out the plan. This module decides both, for all fronts. It must not begin the turn: `host.turn.turns` does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.agents import CODE
from jupyter_eca.engine.model.task_plan import CARRY_OUT
from jupyter_eca.engine.text.slash_commands import parse
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.config import Agent, Resolved
    from jupyter_eca.host.chat.live_chat import Choice, LiveChat, Prompt
    from jupyter_eca.host.subscribers import Subscribers

# The messages that carry out a plan. "go ahead" is not one of them: it may be the answer to a question in the plan.
GO_AHEAD_MESSAGES: Final = frozenset({"go", "carry out", "carry it out", "carry out the plan"})


def interpret(
    resolved: Resolved, subscribers: Subscribers, chat: LiveChat, prompt: Prompt, choice: Choice
) -> tuple[Prompt, Choice]:
    """Return the prompt and the choice with which the turn begins, after an answer that was a plan. If the agent
    changes, all clients that see the chat are told. `/go` means the same as "go"."""
    if chat.dialogue is not None:
        return prompt, choice
    planner, command = resolved.agent(choice.agent), parse(prompt.message)
    is_command = command is not None and command.name == "go"
    if not is_command and prompt.message.strip().rstrip(".!").casefold() not in GO_AHEAD_MESSAGES:
        return prompt, choice
    actor = choose_actor(resolved, planner)
    if actor.name != planner.name:
        selected = ChatConfig(select_agent=actor.name, select_behavior=actor.name)
        params = ConfigUpdatedParams(chat=selected, chat_id=prompt.chat)
        subscribers.tell(Notice("config/updated", params, prompt.chat))
    return replace(prompt, model_message=CARRY_OUT), replace(choice, agent=actor.name)


def choose_actor(resolved: Resolved, planner: Agent) -> Agent:
    """Return the agent that carries out a plan: the planner if it may change things, else the default agent if it may,
    else `code`."""
    agents = (planner, resolved.agent(), resolved.agent(CODE))
    return next((agent for agent in agents if not agent.looks_only), agents[-1])
