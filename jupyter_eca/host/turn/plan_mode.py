"""From the plan to the deed: what "go" means in a chat whose last answer was a plan, from whichever front it comes.

Decides which message and which agent a turn begins with. `host.turn.turns` begins it.
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

# Nothing that could be meant otherwise: "go ahead" may answer a question that the plan ends with.
WORDS: Final = frozenset({"go", "carry out", "carry it out", "carry out the plan"})


def interpret(
    resolved: Resolved, subscribers: Subscribers, chat: LiveChat, prompt: Prompt, choice: Choice
) -> tuple[Prompt, Choice]:
    """Return what is asked, and with which agent. Every client that sees the chat is told of another agent."""
    if not chat.state.planned or chat.dialogue is not None:
        return prompt, choice
    planner, called = resolved.agent(choice.agent), parse(prompt.message)
    commanded = called is not None and called.name == "go"
    if not commanded and prompt.message.strip().rstrip(".!").casefold() not in WORDS:
        return prompt, choice
    actor = choose_actor(resolved, planner)
    if actor.name != planner.name:
        selected = ChatConfig(select_agent=actor.name, select_behavior=actor.name)
        params = ConfigUpdatedParams(chat=selected, chat_id=prompt.chat)
        subscribers.tell(Notice("config/updated", params, prompt.chat))
    return replace(prompt, means=CARRY_OUT), replace(choice, agent=actor.name)


def choose_actor(resolved: Resolved, planner: Agent) -> Agent:
    """Return the agent that carries a plan out: the planner if it may, else the default one, else `code`."""
    others = (planner, resolved.agent(), resolved.agent(CODE))
    return next((one for one in others if not one.looks_only), others[-1])
