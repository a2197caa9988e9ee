"""From the plan to the deed: what "go" means in a chat whose last answer was a plan, from whichever front it comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.config import agent
from jupyter_eca.config.agents import CODE
from jupyter_eca.engine.model.task_plan import CARRY_OUT
from jupyter_eca.engine.text.slash_commands import parse
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.protocol.lifecycle import ChatConfig, ConfigUpdatedParams

if TYPE_CHECKING:
    from jupyter_eca.config import Agent
    from jupyter_eca.host.chat.live_chat import Choice, LiveChat, Prompt
    from jupyter_eca.host.host import Host

# Nothing that could be meant otherwise: "go ahead" may answer a question that the plan ends with.
WORDS: Final = frozenset({"go", "carry out", "carry it out", "carry out the plan"})


def understood(host: Host, chat: LiveChat, prompt: Prompt, choice: Choice) -> tuple[Prompt, Choice]:
    """What is asked, and with which agent; everybody who sees the chat is told that it has another one."""
    if not chat.state.planned or chat.dialogue is not None:
        return prompt, choice
    who, called = agent(host.config, choice.agent), parse(prompt.message)
    commanded = called is not None and called.name == "go"
    if not commanded and prompt.message.strip().rstrip(".!").casefold() not in WORDS:
        return prompt, choice
    actor = acting(host, who)
    if actor.name != who.name:
        config = ChatConfig(select_agent=actor.name, select_behavior=actor.name)
        told = ConfigUpdatedParams(chat=config, chat_id=prompt.chat)
        host.audiences.tell(Notice("config/updated", told, prompt.chat))
    return replace(prompt, means=CARRY_OUT), replace(choice, agent=actor.name)


def acting(host: Host, who: Agent) -> Agent:
    """The agent that carries a plan out: this one if it may, else the default one, else `code`."""
    others = (who, agent(host.config), agent(host.config, CODE))
    return next((one for one in others if not one.looks_only), others[-1])
