"""The actions that a client may send (specification, section 7: those marked "C"). The server's own are plain JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from jupyter_eca.protocol.ahp import content, state
from jupyter_eca.protocol.ahp.base import Ahp, Json, Uri

Id = Annotated[str, Field(min_length=1, max_length=200)]
"""Of the client's making: it becomes a part of what we store and send."""


class SessionScoped(Ahp):
    session: Uri


class TurnScoped(SessionScoped):
    turn_id: Id


class CallScoped(TurnScoped):
    tool_call_id: str


class RootConfigChanged(Ahp):
    type: Literal["root/configChanged"]
    config: Json
    replace: bool = False


class TurnStarted(TurnScoped):
    type: Literal["session/turnStarted"]
    user_message: content.UserMessage
    queued_message_id: str | None = None


class ToolCallApproved(CallScoped):
    type: Literal["session/toolCallConfirmed"]
    approved: Literal[True]
    confirmed: content.Confirmed
    edited_tool_input: str | None = None
    selected_option_id: str | None = None


class ToolCallDenied(CallScoped):
    type: Literal["session/toolCallConfirmed"]
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    user_suggestion: content.UserMessage | None = None
    reason_message: content.MarkdownText | None = None
    selected_option_id: str | None = None


class ToolCallComplete(CallScoped):
    type: Literal["session/toolCallComplete"]
    result: content.AhpToolResult
    requires_result_confirmation: bool | None = None


class ToolCallResultConfirmed(CallScoped):
    type: Literal["session/toolCallResultConfirmed"]
    approved: bool


class ToolCallContentChanged(CallScoped):
    type: Literal["session/toolCallContentChanged"]
    content: tuple[content.ToolContent, ...]


class TurnCancelled(TurnScoped):
    type: Literal["session/turnCancelled"]


class TitleChanged(SessionScoped):
    type: Literal["session/titleChanged"]
    title: str


class ModelChanged(SessionScoped):
    type: Literal["session/modelChanged"]
    model: content.ModelSelection


class IsReadChanged(SessionScoped):
    type: Literal["session/isReadChanged"]
    is_read: bool


class IsArchivedChanged(SessionScoped):
    type: Literal["session/isArchivedChanged"]
    is_archived: bool


class ActiveClientChanged(SessionScoped):
    type: Literal["session/activeClientChanged"]
    active_client: state.ActiveClient | None = None


class ActiveClientToolsChanged(SessionScoped):
    type: Literal["session/activeClientToolsChanged"]
    tools: tuple[content.ToolDefinition, ...]


class CustomizationToggled(SessionScoped):
    type: Literal["session/customizationToggled"]
    uri: Uri
    enabled: bool


class ConfigChanged(SessionScoped):
    type: Literal["session/configChanged"]
    config: Json
    replace: bool = False


class Truncated(SessionScoped):
    type: Literal["session/truncated"]
    turn_id: str | None = None


class PendingMessageSet(SessionScoped):
    type: Literal["session/pendingMessageSet"]
    kind: Literal["steering", "queued"]
    id: Id
    user_message: content.UserMessage


class PendingMessageRemoved(SessionScoped):
    type: Literal["session/pendingMessageRemoved"]
    kind: Literal["steering", "queued"]
    id: str


class QueuedMessagesReordered(SessionScoped):
    type: Literal["session/queuedMessagesReordered"]
    order: tuple[str, ...]


class InputAnswerChanged(SessionScoped):
    type: Literal["session/inputAnswerChanged"]
    request_id: str
    question_id: str
    answer: content.Answer | None = None


class InputCompleted(SessionScoped):
    type: Literal["session/inputCompleted"]
    request_id: str
    response: Literal["accept", "decline", "cancel"]
    answers: dict[str, content.Answer] | None = None


class TerminalScoped(Ahp):
    terminal: Uri


class TerminalInput(TerminalScoped):
    type: Literal["terminal/input"]
    data: str


class TerminalResized(TerminalScoped):
    type: Literal["terminal/resized"]
    cols: int = Field(gt=0, le=10_000)
    rows: int = Field(gt=0, le=10_000)


class TerminalClaimed(TerminalScoped):
    type: Literal["terminal/claimed"]
    claim: state.TerminalClaim


class TerminalTitleChanged(TerminalScoped):
    type: Literal["terminal/titleChanged"]
    title: str


class TerminalCleared(TerminalScoped):
    type: Literal["terminal/cleared"]


ToolCallConfirmed = Annotated[ToolCallApproved | ToolCallDenied, Field(discriminator="approved")]

SessionAction = (
    TurnStarted
    | ToolCallConfirmed
    | ToolCallComplete
    | ToolCallResultConfirmed
    | ToolCallContentChanged
    | TurnCancelled
    | TitleChanged
    | ModelChanged
    | IsReadChanged
    | IsArchivedChanged
    | ActiveClientChanged
    | ActiveClientToolsChanged
    | CustomizationToggled
    | ConfigChanged
    | Truncated
    | PendingMessageSet
    | PendingMessageRemoved
    | QueuedMessagesReordered
    | InputAnswerChanged
    | InputCompleted
)
TerminalAction = TerminalInput | TerminalResized | TerminalClaimed | TerminalTitleChanged | TerminalCleared
ClientAction = RootConfigChanged | SessionAction | TerminalAction

_ACTION: TypeAdapter[ClientAction] = TypeAdapter(Annotated[ClientAction, Field(discriminator="type")])


def parse(action: Json) -> ClientAction:
    """Raises: pydantic.ValidationError for what is malformed, or of a type that no client may send."""
    return _ACTION.validate_python(action)
