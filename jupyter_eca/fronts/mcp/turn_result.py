"""Owns how the events of a turn become its result, and the advice for a turn without a result. Pure."""

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

# These texts are for the caller's user, not for a model: only the user can act on them.
REFUSALS: Final = {
    RejectReason.USER: ("The user rejected this call. It did not run; nothing was changed.",
                        "Ask the user what they want instead."),
    RejectReason.CONFIG: ("The rules here forbid this call. It did not run; nothing was changed.",
                          "Do without it; only the user can change `toolCall.approval` in the configuration."),
    RejectReason.STOP: ("The call was stopped before it ran. Nothing was changed.", "Call it again if it is wanted."),
    RejectReason.NOBODY: (
        "This call needs approval, and nobody is there to give it. It did not run; nothing was changed.",
        'The user can allow it for good, in .eca/config.json: {"toolCall": {"approval": {"allow": {"NAME": {}}}}}. '
        "That does not hold for what changes what may run without asking, such as a file in .eca.",
        "Or use a client that supports elicitation: its user is asked then.",
    ),
    RejectReason.HOOK: ("A hook of the user's forbids this call. It did not run; nothing was changed.",
                        "Do without it; only the user can change `hooks` in the configuration."),
    RejectReason.ORDER: ("A call before it failed or was rejected. It did not run; nothing was changed.",
                         "Call it again if it is still wanted."),
}  # fmt: skip
_PANEL: Final = "Have the user open the chat panel in JupyterLab and call again: the call can be approved there."

STOPPED: Final = ("The call was stopped while it ran; it may have been carried out in part.", "Look before you go on.")
FAILED: Final = "The message is what the tool said. Correct what you asked for, and call it again."


def refusal(rejected: ToolCallRejectedContent, *, panel: bool) -> RefusedCall:
    message, *suggestions = REFUSALS[rejected.reason]
    if panel and rejected.reason is RejectReason.NOBODY:
        suggestions.insert(0, _PANEL)
    return RefusedCall(message, *(suggestion.replace("NAME", rejected.name) for suggestion in suggestions))


@dataclass
class TurnResult:
    """The result of one turn so far. `steps` counts the events of progress; `now` describes the current one. `messages`
    are for the user, and are no part of the chat: that it is not saved, for example."""

    turn: str
    steps: int = 0
    now: str = ""
    outcome: Outcome | None = None
    rejected: list[ToolCallRejectedContent] = field(default_factory=list[ToolCallRejectedContent])
    messages: list[str] = field(default_factory=list[str])
    _texts: list[str] = field(default_factory=list[str])
    _remarks: list[str] = field(default_factory=list[str])
    _calls: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    _images: list[ImagePart] = field(default_factory=list[ImagePart])

    def add(self, event: Event) -> bool:
        """Add an event. Return whether it is progress that is worth reporting."""
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

    def add_messages(self, answer: ToolAnswer) -> ToolAnswer:
        """Return an answer with the messages to the user, if there are any."""
        return replace(answer, data={**answer.data, "messages": self.messages}) if self.messages else answer

    def _set_progress(self, step: str) -> bool:
        news, self.now = step != self.now, step
        self.steps += news
        return news

    def answer(self, session: str, model: str) -> ToolAnswer:
        """Return the answer to a prompt. Raises: RefusedCall when there is none."""
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
        return self.add_messages(ToolAnswer(data, tuple(self._images)))
