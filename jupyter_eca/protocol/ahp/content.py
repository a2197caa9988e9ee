"""Owns what sessions consist of (specification, 6.3 to 6.5): messages, tool calls, parts of an answer, questions.

It must not know states (`state.py`) and what changes them (`actions.py`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, StrictBool, StrictInt

from jupyter_eca.protocol.ahp.base import Ahp, Json, Meta, Uri


class Markdown(Ahp):
    markdown: str


MarkdownText = str | Markdown
"""Plain text, or Markdown."""


class ModelSelection(Ahp):
    id: str
    config: dict[str, str] | None = None


class ErrorInfo(Ahp):
    error_type: str
    message: str
    stack: str | None = None


class ContentRef(Ahp):
    uri: Uri
    size_hint: StrictInt | None = None
    content_type: str | None = None


class FileSide(Ahp):
    uri: Uri
    content: ContentRef


class LineCounts(Ahp):
    added: StrictInt | None = None
    removed: StrictInt | None = None


class FileEdit(Ahp):
    """A change of a file. Only `after`: created; only `before`: deleted; different URIs: moved."""

    before: FileSide | None = None
    after: FileSide | None = None
    diff: LineCounts | None = None


# Messages ------------------------------------------------------------------------------------------------------------


class TextPosition(Ahp):
    line: StrictInt
    character: StrictInt


class TextRange(Ahp):
    start: TextPosition
    end: TextPosition


class Selected(Ahp):
    range: TextRange


class Attachment(Meta):
    label: str
    range: TextRange | None = None
    display_kind: str | None = None


class SimpleAttachment(Attachment):
    type: Literal["simple"] = "simple"
    model_representation: str | None = None


class EmbeddedAttachment(Attachment):
    """An attachment with its content. `data` is base64."""

    type: Literal["embeddedResource"] = "embeddedResource"
    data: str
    content_type: str
    selection: Selected | None = None


class ResourceAttachment(Attachment):
    type: Literal["resource"] = "resource"
    uri: Uri
    size_hint: StrictInt | None = None
    content_type: str | None = None
    selection: Selected | None = None


MessageAttachment = Annotated[SimpleAttachment | EmbeddedAttachment | ResourceAttachment, Field(discriminator="type")]


class UserMessage(Ahp):
    text: str
    attachments: tuple[MessageAttachment, ...] | None = None


class PendingMessage(Ahp):
    id: str
    user_message: UserMessage


class UsageInfo(Meta):
    input_tokens: StrictInt | None = None
    output_tokens: StrictInt | None = None
    cache_read_tokens: StrictInt | None = None
    model: str | None = None


# Tools ---------------------------------------------------------------------------------------------------------------


class AhpToolSchema(Ahp):
    type: Literal["object"] = "object"
    properties: dict[str, Any] | None = None
    required: tuple[str, ...] | None = None


class ToolDefinition(Meta):
    name: str = Field(min_length=1)
    title: str | None = None
    description: str | None = None
    input_schema: AhpToolSchema | None = None
    output_schema: AhpToolSchema | None = None
    annotations: Json | None = None


class ConfirmationOption(Ahp):
    id: str
    label: str
    kind: Literal["approve", "deny"]
    group: StrictInt | None = None


class TextResult(Ahp):
    type: Literal["text"] = "text"
    text: str


class EmbeddedResult(Ahp):
    type: Literal["embeddedResource"] = "embeddedResource"
    data: str
    content_type: str


class ResourceResult(ContentRef):
    type: Literal["resource"] = "resource"


class FileEditResult(Ahp):
    """See `FileEdit`. It does not inherit, so that the type is written first."""

    type: Literal["fileEdit"] = "fileEdit"
    before: FileSide | None = None
    after: FileSide | None = None
    diff: LineCounts | None = None


class TerminalResult(Ahp):
    type: Literal["terminal"] = "terminal"
    resource: Uri
    title: str


class SubagentResult(Ahp):
    type: Literal["subagent"] = "subagent"
    resource: Uri
    title: str
    agent_name: str | None = None
    description: str | None = None


ToolContent = Annotated[
    TextResult | EmbeddedResult | ResourceResult | FileEditResult | TerminalResult | SubagentResult,
    Field(discriminator="type"),
]


class ToolFailure(Ahp):
    message: str
    code: str | None = None


class AhpToolResult(Ahp):
    success: StrictBool
    past_tense_message: MarkdownText
    content: tuple[ToolContent, ...] | None = None
    structured_content: Json | None = None
    error: ToolFailure | None = None


Confirmed = Literal["not-needed", "user-action", "setting"]


class AhpToolCall(Meta):
    tool_call_id: str
    tool_name: str
    display_name: str
    tool_client_id: str | None = None


class StreamingCall(AhpToolCall):
    status: Literal["streaming"] = "streaming"
    partial_input: str | None = None
    invocation_message: MarkdownText | None = None


class _Invoked(AhpToolCall):
    invocation_message: MarkdownText
    tool_input: str | None = None
    selected_option: ConfirmationOption | None = None


class FileEdits(Ahp):
    items: tuple[FileEdit, ...]


class PendingCall(_Invoked):
    status: Literal["pending-confirmation"] = "pending-confirmation"
    confirmation_title: MarkdownText | None = None
    edits: FileEdits | None = None
    editable: StrictBool | None = None
    options: tuple[ConfirmationOption, ...] | None = None


class RunningCall(_Invoked):
    status: Literal["running"] = "running"
    confirmed: Confirmed
    content: tuple[ToolContent, ...] | None = None


class _Ended(_Invoked):
    confirmed: Confirmed
    success: StrictBool
    past_tense_message: MarkdownText
    content: tuple[ToolContent, ...] | None = None
    structured_content: Json | None = None
    error: ToolFailure | None = None


class UnconfirmedCall(_Ended):
    status: Literal["pending-result-confirmation"] = "pending-result-confirmation"


class CompletedCall(_Ended):
    status: Literal["completed"] = "completed"


class CancelledCall(_Invoked):
    status: Literal["cancelled"] = "cancelled"
    reason: Literal["denied", "skipped", "result-denied"]
    reason_message: MarkdownText | None = None
    user_suggestion: UserMessage | None = None


ToolCallState = Annotated[
    StreamingCall | PendingCall | RunningCall | UnconfirmedCall | CompletedCall | CancelledCall,
    Field(discriminator="status"),
]

# Answers -------------------------------------------------------------------------------------------------------------


class MarkdownPart(Ahp):
    kind: Literal["markdown"] = "markdown"
    id: str
    content: str


class AhpReasoningPart(Ahp):
    kind: Literal["reasoning"] = "reasoning"
    id: str
    content: str


class ToolCallPart(Ahp):
    kind: Literal["toolCall"] = "toolCall"
    tool_call: ToolCallState


class ContentPart(Ahp):
    """See `ContentRef`. It does not inherit, so that the kind is written first."""

    kind: Literal["contentRef"] = "contentRef"
    uri: Uri
    content_type: str | None = None
    size_hint: StrictInt | None = None


class SystemPart(Ahp):
    kind: Literal["systemNotification"] = "systemNotification"
    content: MarkdownText


ResponsePart = Annotated[
    MarkdownPart | AhpReasoningPart | ToolCallPart | ContentPart | SystemPart, Field(discriminator="kind")
]


class ActiveTurn(Ahp):
    id: str
    user_message: UserMessage
    response_parts: tuple[ResponsePart, ...]
    usage: UsageInfo | None = None


class AhpTurn(ActiveTurn):
    state: Literal["complete", "cancelled", "error"]
    error: ErrorInfo | None = None


# Questions -----------------------------------------------------------------------------------------------------------


class AnswerValue(Ahp):
    kind: Literal["text", "number", "boolean", "selected", "selected-many"]
    value: Any
    freeform_values: tuple[str, ...] | None = None


class FilledAnswer(Ahp):
    state: Literal["draft", "submitted"]
    value: AnswerValue


class Skipped(Ahp):
    state: Literal["skipped"] = "skipped"
    freeform_values: tuple[str, ...] | None = None


Answer = Annotated[FilledAnswer | Skipped, Field(discriminator="state")]


class Option(Ahp):
    id: str
    label: str
    description: str | None = None
    recommended: StrictBool | None = None


class QuestionKind(StrEnum):
    TEXT = "text"
    NUMBER = "number"
    INTEGER = "integer"
    BOOLEAN = "boolean"
    SINGLE = "single-select"
    MULTI = "multi-select"


class InputQuestion(Ahp):
    kind: QuestionKind
    id: str
    message: str
    title: str | None = None
    required: StrictBool | None = None
    options: tuple[Option, ...] | None = None
    allow_freeform_input: StrictBool | None = None
    default_value: str | float | StrictBool | None = None
    format: str | None = None
    min: float | None = None
    max: float | None = None


class InputRequest(Ahp):
    id: str
    message: str | None = None
    url: Uri | None = None
    questions: tuple[InputQuestion, ...] | None = None
    answers: dict[str, Answer] | None = None
