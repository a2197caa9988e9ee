"""Owns plan mode: what the agent `plan` shares with the agent that carries out its plans, and how "go" changes from one
to the other.

The agent `plan` may not change anything. After one of its answers, the message "go" starts a turn of another agent,
with a message that tells the model to carry out the plan. Vendors cache the beginning of a request: its tools and its
system prompt. So that the cache can still be used after "go", both agents have the same tools and the same
system prompt wherever the user's settings allow it. The instructions of plan mode are sent with each message, and calls
that would change something are refused, see `engine/model/proposals.py`.

This module must not begin a turn: `host.turn.turns` does. `host.turn.setup` uses what is decided here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.agents import CODE
from jupyter_eca.engine.model.task_plan import CARRY_OUT
from jupyter_eca.engine.text.slash_commands import parse_command
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.instructions import rules
from jupyter_eca.instructions.prompt_texts import write_plan_mode
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.config import Agent, ResolvedConfig
    from jupyter_eca.host.chat.live_chat import Choice, LiveChat, Prompt
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.plugins.tools.base import ToolContext

# The messages that carry out a plan. "go ahead" is not one of them: it may be the answer to a question in the plan.
GO_AHEAD_MESSAGES: Final = frozenset({"go", "carry out", "carry it out", "carry out the plan"})


def interpret_go_ahead(
    resolved: ResolvedConfig, subscribers: Subscribers, chat: LiveChat, prompt: Prompt, choice: Choice
) -> tuple[Prompt, Choice]:
    """Return the prompt and the choice with which the turn after a plan begins. They are changed only if the message
    tells the assistant to carry out the plan. `/go` means the same as "go".

    If the agent changes, all clients that see the chat get a notice. `choice` are the settings of the turn so far.
    """
    if chat.dialogue is not None:
        return prompt, choice
    planner, command = resolved.get_agent(choice.agent), parse_command(prompt.message)
    is_command = command is not None and command.name == "go"
    if not is_command and prompt.message.strip().rstrip(".!").casefold() not in GO_AHEAD_MESSAGES:
        return prompt, choice
    actor = choose_actor(resolved, planner)
    if actor.name != planner.name:
        selected = ChatConfig(select_agent=actor.name, select_behavior=actor.name)
        params = ConfigUpdatedParams(chat=selected, chat_id=prompt.chat)
        subscribers.tell(Notice("config/updated", params, prompt.chat))
    return replace(prompt, model_message=CARRY_OUT), replace(choice, agent=actor.name)


async def choose_prompt_agent(
    resolved: ResolvedConfig, planner: Agent, context: ToolContext, warn: Callable[[str], None]
) -> Agent:
    """Return the agent whose system prompt the model reads in plan mode: the one that carries out the plan, unless the
    user's settings or rules make a difference between the two. `context` is that of the tools in the chat.
    `warn` shows a warning to the users."""
    actor = choose_actor(resolved, planner)
    settings = [(agent.prompt, agent.disabled_tools, agent.own_rules) for agent in (planner, actor)]
    # A subagent that plans for another agent has no "go".
    if context.nested or settings[0] != settings[1]:
        return planner
    all_rules = await rules.find(context.files, resolved.config, warn)
    differ = any((planner.name in rule.agents) is not (actor.name in rule.agents) for rule in all_rules)
    return planner if differ else actor


def write_instructions(planner: Agent) -> str:
    """Return what the model reads with a message in plan mode; "" if the user has written a system prompt for it."""
    return "" if planner.prompt else f"\n\n{write_plan_mode()}"


def choose_actor(resolved: ResolvedConfig, planner: Agent) -> Agent:
    """Return the agent that carries out a plan: the planner if it may change things, else the default agent if it may,
    else `code`."""
    agents = (planner, resolved.get_agent(), resolved.get_agent(CODE))
    return next((agent for agent in agents if not agent.looks_only), agents[-1])
