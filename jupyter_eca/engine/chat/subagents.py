"""Subagents as words: what one is asked, what it has said, and what the agent that spawned it reads of that.

It must not run one: `host/turn/subagents` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.content import Role, TextContent, ToolCallContent
from jupyter_eca.protocol.event import Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.event import Event

# Tools that a subagent never has: it spawns none, has no plan beside its spawner's, and asks nobody.
WITHHELD: Final = frozenset({"spawn_agent", "task", "git", "ask_user"})

NOTHING_SAID: Final = "(It ended without saying anything.)"

_RULES: Final = """You are a subagent: another assistant gave you this task and waits for your last message, which is \
all that it will read. Put what you found or did into it, in full. Nobody answers questions: decide what is open \
yourself, and say what you decided. If a call is rejected, go on without it."""


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """What a model asks a subagent for."""

    agent: str
    task: str
    activity: str = ""
    """What it does, in a few words for the user."""
    model: str = ""
    """Another model than the agent's own; empty for that."""
    variant: str = ""
    """Another variant than the agent's own; empty for that."""


@dataclass
class SubagentTranscript:
    """What a subagent has said so far."""

    last: str = ""
    """Its text since its last tool call."""
    before: str = ""
    """Its text before that call."""
    remark: str = ""
    """The last line by the system, such as an error."""
    outcome: Outcome | None = None
    """How its turn ended; None while it runs."""

    def add(self, event: Event) -> None:
        """Take over what an event says."""
        match event.content:
            case TextContent(text=text) if event.role is Role.ASSISTANT:
                self.last += text
            case TextContent(text=text) if event.role is Role.SYSTEM:
                self.remark = text
            case ToolCallContent() if self.last:
                self.before, self.last = self.last, ""
            case _:
                pass
        self.outcome = event.outcome or self.outcome

    def as_result(self, name: str) -> tuple[str, bool]:
        """Return what its spawner reads, and whether it is an error."""
        if self.outcome is Outcome.COMPLETED:
            return f"## Agent '{name}' Result\n\n{self.last.strip() or NOTHING_SAID}", False
        why = "was stopped by the user" if self.outcome is Outcome.STOPPED else f"failed: {self.remark or 'no answer'}"
        partial = (self.last or self.before).strip()
        return f"## Agent '{name}' {why}\n\n" + (f"Until then it said:\n\n{partial}" if partial else NOTHING_SAID), True


def write_rules(max_steps: int) -> str:
    """Return what the subagent is told behind the agent's own instructions."""
    if not max_steps:
        return _RULES
    return f"{_RULES} You have {max_steps} steps at most: give your answer before they are used up."


def describe_tool(description: str, agents: Iterable[tuple[str, str]]) -> str:
    """Return the tool's description, with the agents that can be spawned."""
    lines = [f"- {name}: {about}" if about else f"- {name}" for name, about in agents]
    return "\n".join([description, "", "The agents:", *lines])
