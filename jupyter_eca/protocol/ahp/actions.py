"""The actions that a client may send (specification, section 7: those marked "C"). The server's own are plain JSON."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from jupyter_eca.protocol.ahp import content, state
from jupyter_eca.protocol.ahp.base import Ahp, Json, Uri

Id = Annotated[str, Field(min_length=1, max_length=200)]
"""Of the client's making: it becomes a part of what we store and send."""


class OfSession(Ahp):
    session: Uri


class OfTurn(OfSession):
    turn_id: Id


class OfCall(OfTurn):
    tool_call_id: str


class RootConfigChanged(Ahp):
    type: Literal["root/configChanged"]
    config: Json
    replace: bool = False


class TurnStarted(OfTurn):
    type: Literal["session/turnStarted"]
    user_message: content.UserMessage
    queued_message_id: str | None = None


class Approved(OfCall):
    type: Literal["session/toolCallConfirmed"]
    approved: Literal[True]
    confirmed: content.Confirmed
    edited_tool_input: str | None = None
    selected_option_id: str | None = None


class Denied(OfCall):
    type: Literal["session/toolCallConfirmed"]
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    user_suggestion: content.UserMessage | None = None
    reason_message: content.Words | None = None
    selected_option_id: str | None = None


class CallComplete(OfCall):
    type: Literal["session/toolCallComplete"]
    result: content.ToolResult
    requires_result_confirmation: bool | None = None


class ResultConfirmed(OfCall):
    type: Literal["session/toolCallResultConfirmed"]
    approved: bool


class ContentChanged(OfCall):
    type: Literal["session/toolCallContentChanged"]
    content: tuple[content.ToolContent, ...]


class TurnCancelled(OfTurn):
    type: Literal["session/turnCancelled"]


class TitleChanged(OfSession):
    type: Literal["session/titleChanged"]
    title: str


class ModelChanged(OfSession):
    type: Literal["session/modelChanged"]
    model: content.ModelSelection


class IsReadChanged(OfSession):
    type: Literal["session/isReadChanged"]
    is_read: bool


class IsArchivedChanged(OfSession):
    type: Literal["session/isArchivedChanged"]
    is_archived: bool


class ActiveClientChanged(OfSession):
    type: Literal["session/activeClientChanged"]
    active_client: state.ActiveClient | None = None


class ActiveClientToolsChanged(OfSession):
    type: Literal["session/activeClientToolsChanged"]
    tools: tuple[content.ToolDefinition, ...]


class CustomizationToggled(OfSession):
    type: Literal["session/customizationToggled"]
    uri: Uri
    enabled: bool


class ConfigChanged(OfSession):
    type: Literal["session/configChanged"]
    config: Json
    replace: bool = False


class Truncated(OfSession):
    type: Literal["session/truncated"]
    turn_id: str | None = None


class PendingMessageSet(OfSession):
    type: Literal["session/pendingMessageSet"]
    kind: Literal["steering", "queued"]
    id: Id
    user_message: content.UserMessage


class PendingMessageRemoved(OfSession):
    type: Literal["session/pendingMessageRemoved"]
    kind: Literal["steering", "queued"]
    id: str


class QueuedMessagesReordered(OfSession):
    type: Literal["session/queuedMessagesReordered"]
    order: tuple[str, ...]


class InputAnswerChanged(OfSession):
    type: Literal["session/inputAnswerChanged"]
    request_id: str
    question_id: str
    answer: content.Answer | None = None


class InputCompleted(OfSession):
    type: Literal["session/inputCompleted"]
    request_id: str
    response: Literal["accept", "decline", "cancel"]
    answers: dict[str, content.Answer] | None = None


class OfTerminal(Ahp):
    terminal: Uri


class TerminalInput(OfTerminal):
    type: Literal["terminal/input"]
    data: str


class TerminalResized(OfTerminal):
    type: Literal["terminal/resized"]
    cols: int = Field(gt=0, le=10_000)
    rows: int = Field(gt=0, le=10_000)


class TerminalClaimed(OfTerminal):
    type: Literal["terminal/claimed"]
    claim: state.TerminalClaim


class TerminalTitleChanged(OfTerminal):
    type: Literal["terminal/titleChanged"]
    title: str


class TerminalCleared(OfTerminal):
    type: Literal["terminal/cleared"]


ToolCallConfirmed = Annotated[Approved | Denied, Field(discriminator="approved")]

SessionAction = (
    TurnStarted
    | ToolCallConfirmed
    | CallComplete
    | ResultConfirmed
    | ContentChanged
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
