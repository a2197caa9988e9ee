"""Owns the parts of a session of the Agent Host Protocol (specification, 6.3 to 6.5): messages, tool calls, answers.

A session is a chat in this protocol. This module must not know the shared states or their changes: its neighbours
`state` and `actions` have them. The fields are those of the specification.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from jupyter_eca.protocol.ahp.base import AhpModel, Json, ModelWithMeta, Uri


class Markdown(AhpModel):
    """A text in Markdown."""

    markdown: str


MarkdownText = str | Markdown
"""A plain text, or a text in Markdown."""


class ModelSelection(AhpModel):
    """A model that was chosen, and its configuration."""

    id: str
    config: dict[str, str] | None = None
    """The values of the model's settings by name, for example of `effort`."""


class ErrorInfo(AhpModel):
    """An error."""

    error_type: str
    """A word for programs."""
    message: str
    stack: str | None = None


class ContentRef(AhpModel):
    """The address of a content that is not sent with the message."""

    uri: Uri
    size_hint: StrictInt | None = None
    """About how many bytes the content has."""
    content_type: str | None = None
    """The MIME type of the content."""


class FileSide(AhpModel):
    """A file before or after a change."""

    uri: Uri
    """The URI of the file."""
    content: ContentRef
    """Where the text of the file at that time can be read."""


class LineCounts(AhpModel):
    """The numbers of added and removed lines."""

    added: StrictInt | None = None
    removed: StrictInt | None = None


class FileEdit(AhpModel):
    """A change of a file. It was created if there is only `after`, deleted if there is only `before`, and moved if the
    URIs differ."""

    before: FileSide | None = None
    after: FileSide | None = None
    diff: LineCounts | None = None
    """How many lines the change adds and removes."""


# Messages ------------------------------------------------------------------------------------------------------------


class TextPosition(AhpModel):
    """A position in a text, counted from 0."""

    line: StrictInt
    character: StrictInt


class TextRange(AhpModel):
    """A part of a text."""

    start: TextPosition
    end: TextPosition


class SelectedPart(AhpModel):
    """The selected part of an attachment."""

    range: TextRange


class Attachment(ModelWithMeta):
    """The fields that all attachments of a message have in common."""

    label: str
    """The name of the attachment for the user."""
    range: TextRange | None = None
    """Where the text of the message mentions the attachment."""
    display_kind: str | None = None
    """The word by which clients choose an icon: `image`, `document`, `symbol`, `directory`, `selection` or another."""


class SimpleAttachment(Attachment):
    """An attachment that is only a text for the model."""

    type: Literal["simple"] = "simple"
    model_representation: str | None = None
    """The text that the model reads."""


class EmbeddedAttachment(Attachment):
    """An attachment with its content. `data` is base64."""

    type: Literal["embeddedResource"] = "embeddedResource"
    data: str
    content_type: str
    selection: SelectedPart | None = None


class ResourceAttachment(Attachment):
    """An attachment that is read from its URI."""

    type: Literal["resource"] = "resource"
    uri: Uri
    size_hint: StrictInt | None = None
    content_type: str | None = None
    selection: SelectedPart | None = None


MessageAttachment = Annotated[SimpleAttachment | EmbeddedAttachment | ResourceAttachment, Field(discriminator="type")]


class UserMessage(AhpModel):
    """A message of the user."""

    text: str
    attachments: tuple[MessageAttachment, ...] | None = None


class PendingMessage(AhpModel):
    """A message of the user that the model has not read yet."""

    id: str
    user_message: UserMessage


class UsageInfo(ModelWithMeta):
    """The tokens that a turn has used, and the model that has used them."""

    input_tokens: StrictInt | None = None
    output_tokens: StrictInt | None = None
    cache_read_tokens: StrictInt | None = None
    """How many of the input tokens came from the vendor's cache."""
    model: str | None = None


# Tools ---------------------------------------------------------------------------------------------------------------


class AhpToolSchema(AhpModel):
    """The JSON schema of the arguments or the results of a tool."""

    type: Literal["object"] = "object"
    properties: dict[str, Any] | None = None
    required: tuple[str, ...] | None = None


class ToolDefinition(ModelWithMeta):
    """A tool, as a server or a client offers it."""

    name: str = Field(min_length=1)
    title: str | None = None
    description: str | None = None
    input_schema: AhpToolSchema | None = None
    output_schema: AhpToolSchema | None = None
    annotations: Json | None = None
    """Hints about the tool in the words of MCP, for example `readOnlyHint`."""


class ConfirmationOption(AhpModel):
    """A button with which the user confirms or denies a tool call."""

    id: str
    label: str
    kind: Literal["approve", "deny"]
    group: StrictInt | None = None
    """Clients draw a line between buttons with different numbers."""


class TextResult(AhpModel):
    """A text as the result of a tool."""

    type: Literal["text"] = "text"
    text: str


class EmbeddedResult(AhpModel):
    """A file as the result of a tool. `data` is base64."""

    type: Literal["embeddedResource"] = "embeddedResource"
    data: str
    content_type: str


class ResourceResult(ContentRef):
    """A result of a tool that is read from its URI."""

    type: Literal["resource"] = "resource"


class FileEditResult(AhpModel):
    """A change of a file as the result of a tool. It does not inherit from `FileEdit`, so that `type` comes first in
    the JSON."""

    type: Literal["fileEdit"] = "fileEdit"
    before: FileSide | None = None
    after: FileSide | None = None
    diff: LineCounts | None = None


class TerminalResult(AhpModel):
    """The terminal in which a tool runs."""

    type: Literal["terminal"] = "terminal"
    resource: Uri
    """The URI of the terminal."""
    title: str


class SubagentResult(AhpModel):
    """The session of a subagent that a tool has spawned."""

    type: Literal["subagent"] = "subagent"
    resource: Uri
    """The URI of the session."""
    title: str
    agent_name: str | None = None
    description: str | None = None


ToolContent = Annotated[
    TextResult | EmbeddedResult | ResourceResult | FileEditResult | TerminalResult | SubagentResult,
    Field(discriminator="type"),
]


class ToolFailure(AhpModel):
    """Why a tool call has failed."""

    message: str
    code: str | None = None
    """A word for programs."""


class AhpToolResult(AhpModel):
    """The result of a tool call."""

    success: StrictBool
    past_tense_message: MarkdownText
    """What the call has done, for the user."""
    content: tuple[ToolContent, ...] | None = None
    """The output."""
    structured_content: Json | None = None
    """The result as a JSON object, if the tool returns one."""
    error: ToolFailure | None = None


ConfirmationReason = Literal["not-needed", "user-action", "setting"]
"""Why a tool call may run: it needs no confirmation, the user has confirmed it, or a setting allows it."""


class AhpToolCall(ModelWithMeta):
    """The fields that a tool call has in every status."""

    tool_call_id: str
    tool_name: str
    display_name: str
    """The name of the tool for the user."""
    tool_client_id: str | None = None
    """The client that runs the tool; None for the server's own tools."""


class StreamingCall(AhpToolCall):
    """A tool call whose arguments the model is still writing."""

    status: Literal["streaming"] = "streaming"
    partial_input: str | None = None
    """The arguments so far, the beginning of a JSON text."""
    invocation_message: MarkdownText | None = None
    """What the call will do, for the user."""


class _InvokedCall(AhpToolCall):
    """The fields of a tool call whose arguments are complete."""

    invocation_message: MarkdownText
    """What the call does, for the user."""
    tool_input: str | None = None
    """The arguments as JSON text."""
    selected_option: ConfirmationOption | None = None
    """The button that the user has pressed."""


class FileEdits(AhpModel):
    """The changes of files that a tool call would make."""

    items: tuple[FileEdit, ...]


class PendingCall(_InvokedCall):
    """A tool call that waits for the user's confirmation."""

    status: Literal["pending-confirmation"] = "pending-confirmation"
    confirmation_title: MarkdownText | None = None
    """The question to the user."""
    edits: FileEdits | None = None
    editable: StrictBool | None = None
    """Whether the user may change the arguments."""
    options: tuple[ConfirmationOption, ...] | None = None
    """The buttons; absent when the client chooses them."""


class RunningCall(_InvokedCall):
    """A tool call that is running."""

    status: Literal["running"] = "running"
    confirmed: ConfirmationReason
    content: tuple[ToolContent, ...] | None = None
    """The output so far."""


class _EndedCall(_InvokedCall):
    """The fields of a tool call that has run."""

    confirmed: ConfirmationReason
    success: StrictBool
    past_tense_message: MarkdownText
    """What the call has done, for the user."""
    content: tuple[ToolContent, ...] | None = None
    structured_content: Json | None = None
    error: ToolFailure | None = None


class UnconfirmedCall(_EndedCall):
    """A tool call that has run, and whose result waits for the user's confirmation."""

    status: Literal["pending-result-confirmation"] = "pending-result-confirmation"


class CompletedCall(_EndedCall):
    """A tool call that has run."""

    status: Literal["completed"] = "completed"


class CancelledCall(_InvokedCall):
    """A tool call that did not run, or whose result the user denied."""

    status: Literal["cancelled"] = "cancelled"
    reason: Literal["denied", "skipped", "result-denied"]
    """`skipped`: nobody decided, for example because the turn ended. `result-denied`: the model must not read the
    result."""
    reason_message: MarkdownText | None = None
    """Why the user denied the call, in words."""
    user_suggestion: UserMessage | None = None
    """What the user suggests to the model instead of the call."""


ToolCallState = Annotated[
    StreamingCall | PendingCall | RunningCall | UnconfirmedCall | CompletedCall | CancelledCall,
    Field(discriminator="status"),
]

# Answers -------------------------------------------------------------------------------------------------------------


class MarkdownPart(AhpModel):
    """Markdown text of an answer."""

    kind: Literal["markdown"] = "markdown"
    id: str
    content: str


class AhpReasoningPart(AhpModel):
    """Reasoning of the model."""

    kind: Literal["reasoning"] = "reasoning"
    id: str
    content: str


class ToolCallPart(AhpModel):
    """A tool call as a part of an answer."""

    kind: Literal["toolCall"] = "toolCall"
    tool_call: ToolCallState


class ContentPart(AhpModel):
    """The address of a content as a part of an answer. It does not inherit from `ContentRef`, so that `kind` comes
    first in the JSON."""

    kind: Literal["contentRef"] = "contentRef"
    uri: Uri
    content_type: str | None = None
    size_hint: StrictInt | None = None


class SystemPart(AhpModel):
    """A remark of the system in an answer."""

    kind: Literal["systemNotification"] = "systemNotification"
    content: MarkdownText


ResponsePart = Annotated[
    MarkdownPart | AhpReasoningPart | ToolCallPart | ContentPart | SystemPart, Field(discriminator="kind")
]


class ActiveTurn(AhpModel):
    """A turn that is running."""

    id: str
    user_message: UserMessage
    response_parts: tuple[ResponsePart, ...]
    """The parts of the answer so far."""
    usage: UsageInfo | None = None


class AhpTurn(ActiveTurn):
    """A turn that has ended."""

    state: Literal["complete", "cancelled", "error"]
    error: ErrorInfo | None = None


# Questions -----------------------------------------------------------------------------------------------------------


class AnswerValue(AhpModel):
    """The value of an answer; its type depends on the kind."""

    kind: Literal["text", "number", "boolean", "selected", "selected-many"]
    value: Any
    """A text, a number or a boolean. For `selected`, the id of the chosen option. For `selected-many`, a list of
    ids."""
    freeform_values: tuple[str, ...] | None = None
    """Texts that the user has typed in addition to, or instead of, the options."""


class FilledAnswer(AhpModel):
    """An answer that has a value."""

    state: Literal["draft", "submitted"]
    """`draft`: the user may still change it."""
    value: AnswerValue


class SkippedAnswer(AhpModel):
    """A question that the user has skipped."""

    state: Literal["skipped"] = "skipped"
    freeform_values: tuple[str, ...] | None = None
    """Texts that the user has typed nevertheless."""


Answer = Annotated[FilledAnswer | SkippedAnswer, Field(discriminator="state")]


class Option(AhpModel):
    """An answer that the user can choose."""

    id: str
    label: str
    description: str | None = None
    recommended: StrictBool | None = None
    """Whether clients mark it as the suggested answer."""


class QuestionKind(StrEnum):
    """The kind of value that a question asks for."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    SINGLE = "single-select"
    MULTI = "multi-select"


class InputQuestion(AhpModel):
    """One question to the user."""

    kind: QuestionKind
    id: str
    message: str
    """The question itself."""
    title: str | None = None
    """A short heading."""
    required: StrictBool | None = None
    options: tuple[Option, ...] | None = None
    allow_freeform_input: StrictBool | None = None
    """Whether the user can type an answer that is none of the options."""
    default_value: str | float | StrictBool | None = None
    """The answer that is filled in already."""
    format: str | None = None
    """The format of a text, for example `email` or `date`."""
    min: float | None = None
    """The smallest number, the shortest length of a text, or the smallest number of choices."""
    max: float | None = None
    """The largest number, the greatest length of a text, or the largest number of choices."""


class InputRequest(AhpModel):
    """A request for input: some questions to the user, or a page to open."""

    id: str
    message: str | None = None
    """What the request is about."""
    url: Uri | None = None
    """The page to open."""
    questions: tuple[InputQuestion, ...] | None = None
    answers: dict[str, Answer] | None = None
    """The answers so far, by the ids of their questions."""
