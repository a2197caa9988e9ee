"""Owns the result of a turn for a client of MCP (Model Context Protocol), which is built from the events of the turn. A
turn begins with a prompt, or with a call of one tool by the client. This module also owns the errors for a turn that
has no result. It does no input or output, and reads no clock.

It must not know how the events arrive (`turn_listeners.py` does) or how the result is written (`answers.py` does).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Final

from jupyter_eca.engine.model.request import ImagePart
from jupyter_eca.fronts.mcp.offers_base import RefusedCall, ToolAnswer
from jupyter_eca.protocol.content import (
    ImageContent,
    ProgressContent,
    RejectReason,
    Role,
    TextContent,
    ToolCalledContent,
    ToolCallRejectedContent,
    ToolCallRunningContent,
)
from jupyter_eca.protocol.event import Event, Outcome

# For each reason of a rejection, a message and suggestions. The model of the client reads them, as the error of its
# tool call, and can pass them on to its user: only the user can do some of the things that they suggest.
REFUSALS: Final = {
    RejectReason.USER: ("The user rejected this call. It did not run; nothing was changed.",
                        "Ask the user what they want instead."),
    RejectReason.CONFIG: ("The rules here forbid this call. It did not run; nothing was changed.",
                          "Do without it; only the user can change `toolCall.approval` in the configuration."),
    RejectReason.STOP: ("The call was stopped before it ran. Nothing was changed.", "Call it again if it is wanted."),
    RejectReason.NOBODY: (
        "This call needs approval, and nobody is there to give it. It did not run; nothing was changed.",
        'The user can allow it for good, in .eca/config.json: {"toolCall": {"approval": {"allow": {"NAME": {}}}}}. '
        "But a call that changes the rules of approval themselves, such as a file in .eca, needs approval each time.",
        "Or use a client that supports elicitation: its user is asked then.",
    ),
    RejectReason.HOOK: ("A hook of the user's forbids this call. It did not run; nothing was changed.",
                        "Do without it; only the user can change `hooks` in the configuration."),
    RejectReason.ORDER: ("A call before it in the same answer failed or was rejected. It did not run; nothing was "
                         "changed.",
                         "Call it again if it is still wanted."),
    RejectReason.PLAN: ("The agent only plans, so this call did not run; nothing was changed.",
                        "Ask with another agent to have it carried out."),
}  # fmt: skip
# The suggestion for a call that nobody could approve, although this server has a chat panel.
_OPEN_PANEL: Final = "Have the user open the chat panel in JupyterLab and call again: the call can be approved there."

# The message and the suggestion for a tool call that was stopped while it ran.
STOPPED: Final = ("The call was stopped while it ran; it may have been carried out in part.", "Look before you go on.")
# The suggestion for a tool call that ended with an error. The message of such a call is the text of the error.
FAILED: Final = "The message is what the tool said. Correct what you asked for, and call it again."


def make_refusal(rejected: ToolCallRejectedContent, *, panel: bool) -> RefusedCall:
    """Make the error for a rejected call. With `panel`, it may suggest to approve the call in the chat panel."""
    message, *suggestions = REFUSALS[rejected.reason]
    if panel and rejected.reason is RejectReason.NOBODY:
        suggestions.insert(0, _OPEN_PANEL)
    return RefusedCall(message, *(suggestion.replace("NAME", rejected.name) for suggestion in suggestions))


@dataclass
class TurnResult:
    """The result of one turn so far. It grows with each event."""

    turn: str
    """The id of the turn."""

    steps: int = 0
    """How many steps the turn has made. A step is a part of the turn that is reported as progress, such as "Generating"
    or a tool call. It is not the `step` of the engine."""

    current_step: str = ""
    """What the turn does at the moment, for the client's user."""

    outcome: Outcome | None = None
    """How the turn has ended; None while it runs."""

    rejected: list[ToolCallRejectedContent] = field(default_factory=list[ToolCallRejectedContent])
    """The tool calls that were rejected."""

    messages: list[str] = field(default_factory=list[str])
    """Messages to the user that are not part of the chat, for example that the chat is not saved."""

    _texts: list[str] = field(default_factory=list[str])
    """The model's texts since the last tool call: they are the answer."""

    _remarks: list[str] = field(default_factory=list[str])
    """The texts that come from us and not from the model."""

    _calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    """All tool calls that have ended, as the answer lists them."""

    _images: list[ImagePart] = field(default_factory=list[ImagePart])
    """The images of the answer, and those that tools have shown."""

    def add(self, event: Event) -> bool:
        """Add an event. Return whether it is a new step of progress, which should be reported."""
        self.outcome = event.outcome or self.outcome
        match event.content:
            case TextContent(text=text) if event.role is Role.ASSISTANT:
                self._texts.append(text)
            case TextContent(text=text) if event.role is Role.SYSTEM:
                self._remarks.append(text)
            case ProgressContent(state="running", text=text):
                return self._set_progress(text or "")
            case ToolCallRunningContent(name=name, summary=summary):
                # Text before a tool call is not part of the final answer.
                self._texts.clear()
                return self._set_progress(summary or name)
            case ToolCalledContent(name=name, arguments=arguments, error=error):
                self._calls.append({"name": name, "arguments": arguments, "error": error})
            case ToolCallRejectedContent(name=name, arguments=arguments) as rejected:
                self.rejected.append(rejected)
                self._calls.append({"name": name, "arguments": arguments, "rejected": rejected.reason})
            case ImageContent(media_type=media_type, base64=base64) if event.role is not Role.USER:
                self._images.append(ImagePart(media_type, base64))
            case _:
                pass
        return False

    def add_message(self, message: str) -> None:
        """Add a message to the user, as a step of its own."""
        self.messages.append(message)
        self.steps += 1

    def attach_messages(self, answer: ToolAnswer) -> ToolAnswer:
        """Return an answer with the messages to the user, if there are any."""
        return replace(answer, data={**answer.data, "messages": self.messages}) if self.messages else answer

    def _set_progress(self, step: str) -> bool:
        """Set what the turn does at the moment. Return whether it is a new step."""
        is_new, self.current_step = step != self.current_step, step
        self.steps += is_new
        return is_new

    def make_answer(self, session: str, model: str) -> ToolAnswer:
        """Return the answer to a prompt. Raises: RefusedCall when the turn has ended without an answer."""
        remarks = "\n".join(self._remarks)
        if self.outcome is not Outcome.COMPLETED:
            fix = f'Ask again in the same session: eca_session_prompt with sessionId "{session}".'
            raise RefusedCall("\n".join((remarks or f"The answer was {self.outcome}.", *self.messages)), fix)
        data = {
            "sessionId": session,
            "model": model,
            "text": "".join(self._texts) or remarks,
            "toolCalls": self._calls,
        }
        return self.attach_messages(ToolAnswer(data, tuple(self._images)))
