"""Owns the protocol's actions (specification, section 7): what changes a shared state, one model for each type.

Clients send some of them (those marked "C"), which `parse` reads; the server sends these and others, written by `wire`.
It must not know the states: the reducers in `fronts/ahp/reducers/` apply actions, as JSON.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, TypeAdapter

from jupyter_eca.protocol.ahp import content, state
from jupyter_eca.protocol.ahp.base import Ahp, Json, Uri

Id = Annotated[str, Field(min_length=1, max_length=200)]
"""An id that a client made: it becomes a part of what is stored and sent."""


class AhpAction(Ahp):
    """A change of one shared state. Every model of this module is one, with the literal `type` of the protocol."""

    def wire(self) -> dict[str, object]:
        """Return the action as JSON, its type first, where people who read a log look for it."""
        fields = super().wire()
        return {"type": fields.pop("type"), **fields}


class SessionScoped(AhpAction):
    """A change of one session."""

    session: Uri


class TurnScoped(SessionScoped):
    """A change of one turn of a session."""

    turn_id: Id


class CallScoped(TurnScoped):
    """A change of one tool call of a turn."""

    tool_call_id: str


class TerminalScoped(AhpAction):
    """A change of one terminal."""

    terminal: Uri


# What clients send. The server sends many of them, too. ---------------------------------------------------------------


class RootConfigChanged(AhpAction):
    type: Literal["root/configChanged"] = "root/configChanged"
    config: Json
    replace: StrictBool = False


class TurnStarted(TurnScoped):
    type: Literal["session/turnStarted"] = "session/turnStarted"
    user_message: content.UserMessage
    queued_message_id: str | None = None


class ToolCallApproved(CallScoped):
    type: Literal["session/toolCallConfirmed"] = "session/toolCallConfirmed"
    approved: Literal[True]
    confirmed: content.Confirmed
    edited_tool_input: str | None = None
    selected_option_id: str | None = None


class ToolCallDenied(CallScoped):
    type: Literal["session/toolCallConfirmed"] = "session/toolCallConfirmed"
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    user_suggestion: content.UserMessage | None = None
    reason_message: content.MarkdownText | None = None
    selected_option_id: str | None = None


class ToolCallComplete(CallScoped):
    type: Literal["session/toolCallComplete"] = "session/toolCallComplete"
    result: content.AhpToolResult
    requires_result_confirmation: StrictBool | None = None


class ToolCallResultConfirmed(CallScoped):
    type: Literal["session/toolCallResultConfirmed"] = "session/toolCallResultConfirmed"
    approved: StrictBool


class ToolCallContentChanged(CallScoped):
    type: Literal["session/toolCallContentChanged"] = "session/toolCallContentChanged"
    content: tuple[content.ToolContent, ...]


class TurnCancelled(TurnScoped):
    type: Literal["session/turnCancelled"] = "session/turnCancelled"


class TitleChanged(SessionScoped):
    type: Literal["session/titleChanged"] = "session/titleChanged"
    title: str


class ModelChanged(SessionScoped):
    type: Literal["session/modelChanged"] = "session/modelChanged"
    model: content.ModelSelection


class IsReadChanged(SessionScoped):
    type: Literal["session/isReadChanged"] = "session/isReadChanged"
    is_read: StrictBool


class IsArchivedChanged(SessionScoped):
    type: Literal["session/isArchivedChanged"] = "session/isArchivedChanged"
    is_archived: StrictBool


class ActiveClientChanged(SessionScoped):
    type: Literal["session/activeClientChanged"] = "session/activeClientChanged"
    active_client: state.ActiveClient | None = None


class ActiveClientToolsChanged(SessionScoped):
    type: Literal["session/activeClientToolsChanged"] = "session/activeClientToolsChanged"
    tools: tuple[content.ToolDefinition, ...]


class CustomizationToggled(SessionScoped):
    type: Literal["session/customizationToggled"] = "session/customizationToggled"
    uri: Uri
    enabled: StrictBool


class ConfigChanged(SessionScoped):
    type: Literal["session/configChanged"] = "session/configChanged"
    config: Json
    replace: StrictBool = False


class Truncated(SessionScoped):
    type: Literal["session/truncated"] = "session/truncated"
    turn_id: str | None = None


class PendingMessageSet(SessionScoped):
    type: Literal["session/pendingMessageSet"] = "session/pendingMessageSet"
    kind: Literal["steering", "queued"]
    id: Id
    user_message: content.UserMessage


class PendingMessageRemoved(SessionScoped):
    type: Literal["session/pendingMessageRemoved"] = "session/pendingMessageRemoved"
    kind: Literal["steering", "queued"]
    id: str


class QueuedMessagesReordered(SessionScoped):
    type: Literal["session/queuedMessagesReordered"] = "session/queuedMessagesReordered"
    order: tuple[str, ...]


class InputAnswerChanged(SessionScoped):
    type: Literal["session/inputAnswerChanged"] = "session/inputAnswerChanged"
    request_id: str
    question_id: str
    answer: content.Answer | None = None


class InputCompleted(SessionScoped):
    type: Literal["session/inputCompleted"] = "session/inputCompleted"
    request_id: str
    response: Literal["accept", "decline", "cancel"]
    answers: dict[str, content.Answer] | None = None


class TerminalInput(TerminalScoped):
    type: Literal["terminal/input"] = "terminal/input"
    data: str


class TerminalResized(TerminalScoped):
    type: Literal["terminal/resized"] = "terminal/resized"
    cols: StrictInt = Field(gt=0, le=10_000)
    rows: StrictInt = Field(gt=0, le=10_000)


class TerminalClaimed(TerminalScoped):
    type: Literal["terminal/claimed"] = "terminal/claimed"
    claim: state.TerminalClaim


class TerminalTitleChanged(TerminalScoped):
    type: Literal["terminal/titleChanged"] = "terminal/titleChanged"
    title: str


class TerminalCleared(TerminalScoped):
    type: Literal["terminal/cleared"] = "terminal/cleared"


# What only the server sends. -----------------------------------------------------------------------------------------


class AgentsChanged(AhpAction):
    type: Literal["root/agentsChanged"] = "root/agentsChanged"
    agents: list[Json]


class ActiveSessionsChanged(AhpAction):
    type: Literal["root/activeSessionsChanged"] = "root/activeSessionsChanged"
    active_sessions: StrictInt


class TerminalsChanged(AhpAction):
    type: Literal["root/terminalsChanged"] = "root/terminalsChanged"
    terminals: list[Json]


class SessionReady(SessionScoped):
    type: Literal["session/ready"] = "session/ready"


class CreationFailed(SessionScoped):
    type: Literal["session/creationFailed"] = "session/creationFailed"
    error: content.ErrorInfo


class MarkdownDelta(TurnScoped):
    """More of a Markdown part."""

    type: Literal["session/delta"] = "session/delta"
    part_id: str
    content: str


class ReasoningPartDelta(TurnScoped):
    """More of a reasoning part."""

    type: Literal["session/reasoning"] = "session/reasoning"
    part_id: str
    content: str


class PartAdded(TurnScoped):
    type: Literal["session/responsePart"] = "session/responsePart"
    part: content.ResponsePart


class ToolCallStart(CallScoped):
    type: Literal["session/toolCallStart"] = "session/toolCallStart"
    tool_name: str
    display_name: str
    tool_client_id: str | None = None
    """The client that runs the tool; None for the server's own tools."""


class ToolCallInputDelta(CallScoped):
    type: Literal["session/toolCallDelta"] = "session/toolCallDelta"
    content: str
    """More of the arguments, as the model writes them."""


class ToolCallReady(CallScoped):
    """The arguments are complete. The call waits for a confirmation, unless `confirmed` says that it needs none."""

    type: Literal["session/toolCallReady"] = "session/toolCallReady"
    invocation_message: content.MarkdownText
    tool_input: str | None = None
    edits: Json | None = None
    options: list[Json] | None = None
    confirmed: content.Confirmed | None = None


class TurnComplete(TurnScoped):
    type: Literal["session/turnComplete"] = "session/turnComplete"


class AhpTurnError(TurnScoped):
    type: Literal["session/error"] = "session/error"
    error: content.ErrorInfo


class UsageChanged(TurnScoped):
    type: Literal["session/usage"] = "session/usage"
    usage: Json


class ActivityChanged(SessionScoped):
    """Without `activity`, nothing goes on."""

    type: Literal["session/activityChanged"] = "session/activityChanged"
    activity: str | None = None


class DiffsChanged(SessionScoped):
    type: Literal["session/diffsChanged"] = "session/diffsChanged"
    diffs: list[Json]


class ServerToolsChanged(SessionScoped):
    type: Literal["session/serverToolsChanged"] = "session/serverToolsChanged"
    tools: list[Json]


class CustomizationsChanged(SessionScoped):
    type: Literal["session/customizationsChanged"] = "session/customizationsChanged"
    customizations: list[Json]


class CustomizationUpdated(SessionScoped):
    type: Literal["session/customizationUpdated"] = "session/customizationUpdated"
    customization: Json
    enabled: StrictBool | None = None
    status: Literal["loading", "loaded", "degraded", "error"] | None = None
    status_message: str | None = None


class MetaChanged(SessionScoped):
    type: Literal["session/metaChanged"] = "session/metaChanged"
    meta: Any = Field(default=None, alias="_meta")


class InputRequested(SessionScoped):
    type: Literal["session/inputRequested"] = "session/inputRequested"
    request: Json


class TerminalData(TerminalScoped):
    type: Literal["terminal/data"] = "terminal/data"
    data: str


class TerminalCwdChanged(TerminalScoped):
    type: Literal["terminal/cwdChanged"] = "terminal/cwdChanged"
    cwd: Uri


class TerminalExited(TerminalScoped):
    type: Literal["terminal/exited"] = "terminal/exited"
    exit_code: StrictInt | None = None


class CommandDetectionAvailable(TerminalScoped):
    type: Literal["terminal/commandDetectionAvailable"] = "terminal/commandDetectionAvailable"


class TerminalCommandExecuted(TerminalScoped):
    type: Literal["terminal/commandExecuted"] = "terminal/commandExecuted"
    command_id: str
    command_line: str
    timestamp: StrictInt


class TerminalCommandFinished(TerminalScoped):
    type: Literal["terminal/commandFinished"] = "terminal/commandFinished"
    command_id: str
    exit_code: StrictInt | None = None
    duration_ms: StrictInt | None = None


# What a client's action is read as. -----------------------------------------------------------------------------------

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
    """Read an action of a client.

    Raises: pydantic.ValidationError if it is malformed, or of a type that no client may send.
    """
    return _ACTION.validate_python(action)
