"""Owns the actions of the Agent Host Protocol (specification, section 7): changes of a shared state, a model for each.

A shared state is one of which the server and its clients each have a copy, such as a session. This module must not
apply an action to a state: the reducers in `fronts/ahp/reducers/` do. Its neighbour `state` has the states. Clients may
send the actions of the first part of this module, which `parse` reads. The server may send all of them, and
`as_json_object` writes them as JSON. The fields are those of the specification.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt, TypeAdapter

from jupyter_eca.protocol.ahp import content, state
from jupyter_eca.protocol.ahp.base import AhpModel, Json, Uri

Id = Annotated[str, Field(min_length=1, max_length=200)]
"""An id that a client made. Its length is limited because it is stored and sent to other clients."""


class AhpAction(AhpModel):
    """A change of one shared state. The base of all actions."""

    def as_json_object(self) -> dict[str, object]:
        """Return the action as JSON. The type comes first, where people who read a log look for it."""
        fields = super().as_json_object()
        return {"type": fields.pop("type"), **fields}


class SessionScoped(AhpAction):
    """A change of one session. The base of all its actions."""

    session: Uri
    """The URI of the session."""


class TurnScoped(SessionScoped):
    """A change of one turn of a session. The base of all its actions."""

    turn_id: Id
    """The id of the turn."""


class CallScoped(TurnScoped):
    """A change of one tool call of a turn. The base of all its actions."""

    tool_call_id: str
    """The id of the call."""


class TerminalScoped(AhpAction):
    """A change of one terminal. The base of all its actions."""

    terminal: Uri
    """The URI of the terminal."""


# Actions that clients may send. The server may send them too. ---------------------------------------------------------


class RootConfigChanged(AhpAction):
    """The configuration of the server has changed. In the protocol, the state that belongs to no session is the
    root."""

    type: Literal["root/configChanged"] = "root/configChanged"
    config: Json
    """The new values, by the names of the settings."""
    replace: StrictBool = False
    """Whether all earlier values are dropped. If not, only the values in `config` are replaced."""


class TurnStarted(TurnScoped):
    """A turn begins with a message of the user."""

    type: Literal["session/turnStarted"] = "session/turnStarted"
    user_message: content.UserMessage
    queued_message_id: str | None = None
    """The queued message that begins the turn."""


class ToolCallApproved(CallScoped):
    """The user approves a tool call."""

    type: Literal["session/toolCallConfirmed"] = "session/toolCallConfirmed"
    approved: Literal[True]
    confirmed: content.ConfirmationReason
    edited_tool_input: str | None = None
    """The arguments, if the user has changed them."""
    selected_option_id: str | None = None
    """The id of the button that the user has pressed, see `content.ConfirmationOption`."""


class ToolCallDenied(CallScoped):
    """The user denies or skips a tool call."""

    type: Literal["session/toolCallConfirmed"] = "session/toolCallConfirmed"
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    """`skipped`: the user has not decided about the call, but it must not run."""
    user_suggestion: content.UserMessage | None = None
    """What the user suggests to the model instead of the call."""
    reason_message: content.MarkdownText | None = None
    """Why the user denies the call, in words."""
    selected_option_id: str | None = None
    """The id of the button that the user has pressed, see `content.ConfirmationOption`."""


class ToolCallComplete(CallScoped):
    """A tool call has ended with a result. A client sends it for a tool that it runs."""

    type: Literal["session/toolCallComplete"] = "session/toolCallComplete"
    result: content.AhpToolResult
    requires_result_confirmation: StrictBool | None = None
    """Whether the user must approve the result before the model reads it."""


class ToolCallResultConfirmed(CallScoped):
    """The user approves or denies that the model reads the result of a tool call."""

    type: Literal["session/toolCallResultConfirmed"] = "session/toolCallResultConfirmed"
    approved: StrictBool


class ToolCallContentChanged(CallScoped):
    """The output of a running tool call has changed."""

    type: Literal["session/toolCallContentChanged"] = "session/toolCallContentChanged"
    content: tuple[content.ToolContent, ...]
    """The whole output so far."""


class TurnCancelled(TurnScoped):
    """The turn was stopped."""

    type: Literal["session/turnCancelled"] = "session/turnCancelled"


class TitleChanged(SessionScoped):
    """The session has a new title."""

    type: Literal["session/titleChanged"] = "session/titleChanged"
    title: str


class ModelChanged(SessionScoped):
    """The session has another model."""

    type: Literal["session/modelChanged"] = "session/modelChanged"
    model: content.ModelSelection


class IsReadChanged(SessionScoped):
    """The user has read the session, or it counts as unread again."""

    type: Literal["session/isReadChanged"] = "session/isReadChanged"
    is_read: StrictBool


class IsArchivedChanged(SessionScoped):
    """The session was archived, or taken out of the archive."""

    type: Literal["session/isArchivedChanged"] = "session/isArchivedChanged"
    is_archived: StrictBool


class ActiveClientChanged(SessionScoped):
    """The active client of the session has changed: the only client whose tools the session can use. Without
    `active_client`, there is none now."""

    type: Literal["session/activeClientChanged"] = "session/activeClientChanged"
    active_client: state.ActiveClient | None = None


class ActiveClientToolsChanged(SessionScoped):
    """The active client offers other tools."""

    type: Literal["session/activeClientToolsChanged"] = "session/activeClientToolsChanged"
    tools: tuple[content.ToolDefinition, ...]


class CustomizationToggled(SessionScoped):
    """A customization was switched on or off. A customization is something that extends the agent: a rule, a skill or
    an MCP server of the host, or files that a client brings."""

    type: Literal["session/customizationToggled"] = "session/customizationToggled"
    uri: Uri
    """The URI of the customization."""
    enabled: StrictBool


class ConfigChanged(SessionScoped):
    """The configuration of the session has changed."""

    type: Literal["session/configChanged"] = "session/configChanged"
    config: Json
    """The new values, by the names of the settings."""
    replace: StrictBool = False
    """Whether all earlier values are dropped. If not, only the values in `config` are replaced."""


class TurnsTruncated(SessionScoped):
    """All turns after one turn were removed; without `turn_id`, all turns."""

    type: Literal["session/truncated"] = "session/truncated"
    turn_id: str | None = None
    """The last turn that stays."""


class PendingMessageSet(SessionScoped):
    """A steering or queued message was added or changed."""

    type: Literal["session/pendingMessageSet"] = "session/pendingMessageSet"
    kind: Literal["steering", "queued"]
    """`steering`: the model reads it before its next step. `queued`: it begins a later turn."""
    id: Id
    user_message: content.UserMessage


class PendingMessageRemoved(SessionScoped):
    """A steering or queued message was removed."""

    type: Literal["session/pendingMessageRemoved"] = "session/pendingMessageRemoved"
    kind: Literal["steering", "queued"]
    id: str


class QueuedMessagesReordered(SessionScoped):
    """The queued messages have another order."""

    type: Literal["session/queuedMessagesReordered"] = "session/queuedMessagesReordered"
    order: tuple[str, ...]
    """The ids of the messages."""


class InputAnswerChanged(SessionScoped):
    """The user has changed the draft of an answer."""

    type: Literal["session/inputAnswerChanged"] = "session/inputAnswerChanged"
    request_id: str
    question_id: str
    answer: content.Answer | None = None
    """The new draft; absent when the draft was removed."""


class InputCompleted(SessionScoped):
    """The user has answered or declined a request for input."""

    type: Literal["session/inputCompleted"] = "session/inputCompleted"
    request_id: str
    response: Literal["accept", "decline", "cancel"]
    """`decline`: the user does not want to answer. `cancel`: the user has closed the request, or nobody waits for the
    answer any more."""
    answers: dict[str, content.Answer] | None = None
    """The answers by the ids of their questions."""


class TerminalInput(TerminalScoped):
    """The user has typed something into a terminal."""

    type: Literal["terminal/input"] = "terminal/input"
    data: str
    """What the user has typed, with control characters."""


class TerminalResized(TerminalScoped):
    """A terminal has another size."""

    type: Literal["terminal/resized"] = "terminal/resized"
    cols: StrictInt = Field(gt=0, le=10_000)
    """The width in characters."""
    rows: StrictInt = Field(gt=0, le=10_000)
    """The height in lines."""


class TerminalClaimed(TerminalScoped):
    """A terminal belongs to another client or session."""

    type: Literal["terminal/claimed"] = "terminal/claimed"
    claim: state.TerminalClaim


class TerminalTitleChanged(TerminalScoped):
    """A terminal has another title."""

    type: Literal["terminal/titleChanged"] = "terminal/titleChanged"
    title: str


class TerminalCleared(TerminalScoped):
    """The output of a terminal was removed."""

    type: Literal["terminal/cleared"] = "terminal/cleared"


# Actions that only the server may send. ------------------------------------------------------------------------------


class AgentsChanged(AhpAction):
    """The list of agents has changed."""

    type: Literal["root/agentsChanged"] = "root/agentsChanged"
    agents: list[Json]
    """The whole new list. Each is a `state.AgentInfo`."""


class ActiveSessionsChanged(AhpAction):
    """The number of sessions has changed."""

    type: Literal["root/activeSessionsChanged"] = "root/activeSessionsChanged"
    active_sessions: StrictInt


class TerminalsChanged(AhpAction):
    """The list of terminals has changed."""

    type: Literal["root/terminalsChanged"] = "root/terminalsChanged"
    terminals: list[Json]
    """The whole new list. Each is a `state.TerminalInfo`."""


class SessionReady(SessionScoped):
    """A session that was being created can be used."""

    type: Literal["session/ready"] = "session/ready"


class CreationFailed(SessionScoped):
    """A session could not be created."""

    type: Literal["session/creationFailed"] = "session/creationFailed"
    error: content.ErrorInfo


class MarkdownDelta(TurnScoped):
    """A piece of text for a Markdown part of the answer."""

    type: Literal["session/delta"] = "session/delta"
    part_id: str
    """The id of the part."""
    content: str


class ReasoningPartDelta(TurnScoped):
    """A piece of text for a reasoning part of the answer."""

    type: Literal["session/reasoning"] = "session/reasoning"
    part_id: str
    """The id of the part."""
    content: str


class PartAdded(TurnScoped):
    """The answer has a new part."""

    type: Literal["session/responsePart"] = "session/responsePart"
    part: content.ResponsePart


class ToolCallStart(CallScoped):
    """The model begins a tool call."""

    type: Literal["session/toolCallStart"] = "session/toolCallStart"
    tool_name: str
    display_name: str
    """The name of the tool for the user."""
    tool_client_id: str | None = None
    """The client that runs the tool; None for the server's own tools."""


class ToolCallInputDelta(CallScoped):
    """The model has written a piece of the arguments of a tool call."""

    type: Literal["session/toolCallDelta"] = "session/toolCallDelta"
    content: str
    """The piece, which is JSON text."""


class ToolCallReady(CallScoped):
    """The arguments are complete. The call waits for a confirmation, unless `confirmed` says that it needs none."""

    type: Literal["session/toolCallReady"] = "session/toolCallReady"
    invocation_message: content.MarkdownText
    """What the call does, for the user."""
    tool_input: str | None = None
    """The arguments as JSON text."""
    edits: Json | None = None
    """The changes of files that the call would make, a `content.FileEdits`."""
    options: list[Json] | None = None
    """The buttons for the user. Each is a `content.ConfirmationOption`."""
    confirmed: content.ConfirmationReason | None = None
    """Why the call runs without a question to the user; absent when it waits for the user."""


class TurnComplete(TurnScoped):
    """The turn has ended."""

    type: Literal["session/turnComplete"] = "session/turnComplete"


class AhpTurnError(TurnScoped):
    """The turn has failed."""

    type: Literal["session/error"] = "session/error"
    error: content.ErrorInfo


class UsageChanged(TurnScoped):
    """The tokens that the turn has used."""

    type: Literal["session/usage"] = "session/usage"
    usage: Json
    """A `content.UsageInfo`."""


class ActivityChanged(SessionScoped):
    """The short text about what the session is doing has changed. Without `activity`, it is doing nothing."""

    type: Literal["session/activityChanged"] = "session/activityChanged"
    activity: str | None = None


class DiffsChanged(SessionScoped):
    """The files that the session has changed."""

    type: Literal["session/diffsChanged"] = "session/diffsChanged"
    diffs: list[Json]
    """The whole new list. Each is a `content.FileEdit`."""


class ServerToolsChanged(SessionScoped):
    """The server offers other tools in the session."""

    type: Literal["session/serverToolsChanged"] = "session/serverToolsChanged"
    tools: list[Json]
    """The whole new list. Each is a `content.ToolDefinition`."""


class CustomizationsChanged(SessionScoped):
    """The list of customizations has changed."""

    type: Literal["session/customizationsChanged"] = "session/customizationsChanged"
    customizations: list[Json]
    """The whole new list. Each is a `state.Customization`."""


class CustomizationUpdated(SessionScoped):
    """The status of one customization has changed."""

    type: Literal["session/customizationUpdated"] = "session/customizationUpdated"
    customization: Json
    """A `state.CustomizationRef`."""
    enabled: StrictBool | None = None
    """Whether the customization is switched on; absent when that has not changed."""
    status: Literal["loading", "loaded", "degraded", "error"] | None = None
    """`degraded`: only a part of the customization can be used. Absent when the status has not changed."""
    status_message: str | None = None


class MetaChanged(SessionScoped):
    """The `_meta` of the session has changed."""

    type: Literal["session/metaChanged"] = "session/metaChanged"
    meta: Any = Field(default=None, alias="_meta")


class InputRequested(SessionScoped):
    """The server asks the user for input."""

    type: Literal["session/inputRequested"] = "session/inputRequested"
    request: Json
    """A `content.InputRequest`."""


class TerminalData(TerminalScoped):
    """A terminal has new output."""

    type: Literal["terminal/data"] = "terminal/data"
    data: str


class TerminalCwdChanged(TerminalScoped):
    """The shell in a terminal has another working directory."""

    type: Literal["terminal/cwdChanged"] = "terminal/cwdChanged"
    cwd: Uri


class TerminalExited(TerminalScoped):
    """The program in a terminal has ended."""

    type: Literal["terminal/exited"] = "terminal/exited"
    exit_code: StrictInt | None = None
    """Absent when it is not known."""


class CommandDetectionAvailable(TerminalScoped):
    """From now on, the server knows where each command in a terminal begins and ends."""

    type: Literal["terminal/commandDetectionAvailable"] = "terminal/commandDetectionAvailable"


class TerminalCommandExecuted(TerminalScoped):
    """A command was started in a terminal."""

    type: Literal["terminal/commandExecuted"] = "terminal/commandExecuted"
    command_id: str
    command_line: str
    timestamp: StrictInt
    """When the command was started, in milliseconds since the epoch."""


class TerminalCommandFinished(TerminalScoped):
    """A command in a terminal has ended."""

    type: Literal["terminal/commandFinished"] = "terminal/commandFinished"
    command_id: str
    exit_code: StrictInt | None = None
    duration_ms: StrictInt | None = None


# The union of the actions that clients may send. ----------------------------------------------------------------------

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
    | TurnsTruncated
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
    """Parse an action of a client. Only the names of the protocol count for its fields (`turnId`), and not those in
    Python (`turn_id`). `AhpModel.model_validate` says why.

    Raises: pydantic.ValidationError if it is malformed, or has a type that clients may not send.
    """
    return _ACTION.validate_python(action, by_alias=True, by_name=False)
