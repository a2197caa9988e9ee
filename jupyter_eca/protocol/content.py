"""ECA's content union: what `chat/contentReceived` can carry, and so what the engine can say.

Shapes are those of the ECA protocol document (sections "Chat Content Received"); fields that only newer
revisions know are optional. Nothing here knows how a content came to be.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model


class Role(StrEnum):
    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Who offers a tool."""

    NATIVE = "native"
    MCP = "mcp"


class TextContent(Model):
    type: Literal["text"] = "text"
    text: str
    content_id: str | None = None


class ProgressContent(Model):
    """Clients show a chat as busy from `running` until `finished`: each turn ends with exactly one `finished`."""

    type: Literal["progress"] = "progress"
    state: Literal["running", "finished"]
    text: str = ""


class ReasonStartedContent(Model):
    type: Literal["reasonStarted"] = "reasonStarted"
    id: str


class ReasonTextContent(Model):
    type: Literal["reasonText"] = "reasonText"
    id: str
    text: str


class ReasonFinishedContent(Model):
    type: Literal["reasonFinished"] = "reasonFinished"
    id: str
    total_time_ms: int = 0


class Limit(Model):
    """Sizes in tokens."""

    context: int
    output: int


class UsageContent(Model):
    """`session_tokens` is what fills the context window now; costs are US dollars as decimal strings."""

    type: Literal["usage"] = "usage"
    session_tokens: int
    message_input_tokens: int
    message_output_tokens: int
    last_message_cost: str | None = None
    session_cost: str | None = None
    limit: Limit | None = None


class FileChangeDetails(Model):
    """`diff` is in the unified format."""

    type: Literal["fileChange"] = "fileChange"
    path: str
    diff: str
    lines_added: int
    lines_removed: int


class ToolCallContent(Model):
    """What all messages about one tool call share; they are tied together by `id`."""

    id: str
    name: str
    server: str
    origin: Origin = Origin.NATIVE
    summary: str | None = None
    details: FileChangeDetails | None = None


class ToolCallPrepareContent(ToolCallContent):
    """Sent many times per id: clients append `arguments_text`."""

    type: Literal["toolCallPrepare"] = "toolCallPrepare"
    arguments_text: str


class ToolCallRunContent(ToolCallContent):
    """Sent once per id. With `manual_approval` the call waits for `chat/toolCallApprove` or `chat/toolCallReject`."""

    type: Literal["toolCallRun"] = "toolCallRun"
    arguments: dict[str, Any]
    manual_approval: bool


class ToolCallRunningContent(ToolCallContent):
    type: Literal["toolCallRunning"] = "toolCallRunning"
    arguments: dict[str, Any]


class TextOutput(Model):
    type: Literal["text"] = "text"
    text: str


class ToolCalledContent(ToolCallContent):
    """One of the two terminal contents of a call."""

    type: Literal["toolCalled"] = "toolCalled"
    arguments: dict[str, Any]
    error: bool
    outputs: tuple[TextOutput, ...]
    total_time_ms: int = 0


class RejectReason(StrEnum):
    """Why a call did not run."""

    USER = "user-choice"
    CONFIG = "user-config"
    STOP = "user-stop"
    NOBODY = "nobody-to-ask"


class ToolCallRejectedContent(ToolCallContent):
    """The other terminal content of a call: it did not run."""

    type: Literal["toolCallRejected"] = "toolCallRejected"
    arguments: dict[str, Any]
    reason: RejectReason


class MetadataContent(Model):
    type: Literal["metadata"] = "metadata"
    title: str


class UrlContent(Model):
    type: Literal["url"] = "url"
    title: str
    url: str


Content = Annotated[
    TextContent
    | UrlContent
    | ProgressContent
    | UsageContent
    | ReasonStartedContent
    | ReasonTextContent
    | ReasonFinishedContent
    | ToolCallPrepareContent
    | ToolCallRunContent
    | ToolCallRunningContent
    | ToolCalledContent
    | ToolCallRejectedContent
    | MetadataContent,
    Field(discriminator="type"),
]
