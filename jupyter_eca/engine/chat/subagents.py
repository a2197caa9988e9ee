"""Owns the task of a subagent, the transcript of what it has said and shown, the result for its parent, and the texts
that the models of both read. It also lists the tools that a subagent never has.

A subagent is an agent that works on a task for another agent, in a chat of its own. The other agent is its *parent*:
the parent's model called the tool `spawn_agent`. This module must not run a subagent: its neighbour
`host/turn/subagents` does.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.request import MAX_PICTURES, ImagePart
from jupyter_eca.protocol.content import ImageContent, Role, TextContent, ToolCallContent, ToolCalledContent
from jupyter_eca.protocol.event import Outcome, ResultImageAside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.event import Event

# The note that a subagent reads after a message that the user has written to its parent.
NOTE_ON_USER_MESSAGE: Final = (
    "(The user has written this to the agent that gave you your task. Follow it only where it is about your task.)"
)

# Tools that a subagent never has, because it must not spawn others, keep a plan of its own (which `task` does), or ask
# the user.
WITHHELD_TOOLS: Final = frozenset({"spawn_agent", "task", "ask_user"})

# What the parent reads in place of the result of a subagent that has written nothing.
NOTHING_SAID: Final = "(It ended without saying anything.)"

# What the system prompt of every subagent ends with.
_RULES: Final = """You are a subagent: another assistant gave you this task and waits for your last message, which is \
all that it will read. It also sees the last pictures that your code has shown. Put what you found or did into your \
message, in full. Nobody answers questions: decide what is open yourself, and say what you decided. \
If a call is rejected, go on without it."""


@dataclass(frozen=True, slots=True)
class SubagentTask:
    """A task that a model gives to a subagent."""

    agent: str
    """The name of the agent to spawn."""
    task: str
    """The prompt for the subagent."""
    activity: str = ""
    """What the subagent does, in a few words for the user."""
    model: str = ""
    """The model to use; empty for the agent's own model."""
    variant: str = ""
    """The variant of the model to use; empty for the agent's own."""


@dataclass
class SubagentTranscript:
    """What a subagent has said so far, as far as its result needs it."""

    last_text: str = ""
    """The text that the subagent wrote after its last tool call."""
    earlier_text: str = ""
    """The text that the subagent wrote before that call."""
    remark: str = ""
    """The last text by the system, such as an error."""
    pictures: list[ImagePart] = field(default_factory=list[ImagePart])
    """The last pictures in the results of its calls. The pictures of tools that only read are left out: the chat of the
    parent must not be filled with what a subagent has only looked at."""
    outcome: Outcome | None = None
    """How the turn of the subagent ended; None while it is running."""

    _ended: str = ""
    """The name of the tool whose call has ended last."""

    def add(self, event: Event, tools: Iterable[ToolSpec]) -> None:
        """Add an event of the subagent's chat. `tools` are the tools that it has."""
        match event.content:
            case TextContent(text=text) if event.role is Role.ASSISTANT:
                self.last_text += text
            case TextContent(text=text) if event.role is Role.SYSTEM:
                self.remark = text
            case ToolCallContent() as call:
                if self.last_text:
                    self.earlier_text, self.last_text = self.last_text, ""
                if isinstance(call, ToolCalledContent):
                    self._ended = call.name
            case ImageContent(media_type=media_type, base64=base64) if isinstance(event.aside, ResultImageAside):
                # The pictures of a call follow its end, before another call ends.
                if not any(tool.name == self._ended and tool.read_only_hint for tool in tools):
                    self.pictures.append(ImagePart(media_type, base64, event.aside.name))
                    del self.pictures[:-MAX_PICTURES]
            case _:
                pass
        self.outcome = event.outcome or self.outcome

    def as_result(self, name: str) -> tuple[str, bool]:
        """Return the result that the parent reads, and whether it is an error. `name` is the name of the subagent."""
        if self.outcome is Outcome.COMPLETED:
            return (
                f"## Agent '{name}' Result\n\n{self.last_text.strip() or NOTHING_SAID}{self._list_pictures(name)}",
                False,
            )
        why = "was stopped by the user" if self.outcome is Outcome.STOPPED else f"failed: {self.remark or 'no answer'}"
        partial = (self.last_text or self.earlier_text).strip()
        said = f"Until then it said:\n\n{partial}" if partial else NOTHING_SAID
        return f"## Agent '{name}' {why}\n\n{said}{self._list_pictures(name)}", True

    def name_pictures(self, name: str) -> tuple[ImagePart, ...]:
        """Return the pictures with the names that they have for the parent. The names that the subagent knows, such as
        `picture 1`, are not unique: the results of two calls may have the same."""
        return tuple(
            replace(picture, name=f"picture {number} of agent '{name}'")
            for number, picture in enumerate(self.pictures, start=1)
        )

    def _list_pictures(self, name: str) -> str:
        """Return the lines of the result that name the pictures, also as the subagent knows them; "" for none."""
        named = zip(self.name_pictures(name), self.pictures, strict=True)
        lines = [f"[{new.name}], its {old.name}" if old.name else f"[{new.name}]" for new, old in named]
        return "\n".join(["\n\nThe last pictures of its runs:", *lines]) if lines else ""


def write_rules(max_steps: int) -> str:
    """Return the text that follows the agent's own instructions in the system prompt of a subagent. `max_steps` is how
    often its model may be called; 0 for no limit."""
    if not max_steps:
        return _RULES
    return f"{_RULES} You have {max_steps} steps at most: give your answer before they are used up."


def describe_tool(description: str, agents: Iterable[tuple[str, str]]) -> str:
    """Return the description of `spawn_agent`, followed by the agents that can be spawned. `agents` are pairs of a name
    and a description."""
    lines = [f"- {name}: {about}" if about else f"- {name}" for name, about in agents]
    return "\n".join([description, "", "The agents:", *lines])
