"""ECA's content union: what `chat/contentReceived` can carry, and so what the engine can say.

Shapes are those of the ECA protocol document (sections "Chat Content Received"); fields that only newer
revisions know are optional. Nothing here knows how a content came to be.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.notebook import CellChange


class Role(StrEnum):
    USER = "user"
    SYSTEM = "system"
    ASSISTANT = "assistant"


class Origin(StrEnum):
    """Who offers a tool."""

    NATIVE = "native"
    MCP = "mcp"
    SERVER = "server"
    UNKNOWN = "unknown"


class TextContent(Model):
    type: Literal["text"] = "text"
    text: str
    content_id: str | None = None


class ProgressContent(Model):
    """Clients show a chat as busy from `running` until `finished`: each turn ends with exactly one `finished`.

    Ours, for clients with the envelope: with `plan` the turn ended with a plan, which `/go` carries out.
    """

    type: Literal["progress"] = "progress"
    state: Literal["running", "finished"]
    text: str = ""
    plan: bool | None = None


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


class ContextCategory(Model):
    """One kind of thing in the context window."""

    name: str
    tokens: int
    color: str = ""
    emoji: str = ""


class ContextBreakdown(Model):
    categories: tuple[ContextCategory, ...]
    used_tokens: int
    free_tokens: int | None = None
    context_limit: int | None = None


class UsageContent(Model):
    """`session_tokens` is what fills the context window now; costs are US dollars as decimal strings.

    `message_cost` is what the older revision calls `last_message_cost`. Ours, for clients with the envelope: how many
    of the tokens that went in came from the vendor's cache, and `replayed`, that the answer came from a lock file and
    no model was asked.
    """

    type: Literal["usage"] = "usage"
    session_tokens: int
    message_input_tokens: int
    message_output_tokens: int
    message_cached_tokens: int | None = None
    last_message_cost: str | None = None
    message_cost: str | None = None
    session_cost: str | None = None
    limit: Limit | None = None
    auto_compact_percentage: int | None = None
    context_breakdown: ContextBreakdown | None = None
    replayed: bool | None = None


class FileChangeDetails(Model):
    """`diff` is in the unified format. Of a notebook it is that of its cells as text, and `cells` are the changes that
    it shows: what is approved is what is then made."""

    type: Literal["fileChange"] = "fileChange"
    path: str
    diff: str
    lines_added: int
    lines_removed: int
    cells: tuple[CellChange, ...] | None = None


class JsonOutputsDetails(Model):
    """`jsons` are the structured results of a tool, each as JSON text."""

    type: Literal["jsonOutputs"] = "jsonOutputs"
    jsons: tuple[str, ...]


class ShellCommandPart(Model):
    """One command of a line. `approval_key` is what "remember" would remember, None when it may not be remembered."""

    command: str
    args: tuple[str, ...] = ()
    approval_key: str | None = None
    remembered: bool = False


class ShellCommandDetails(Model):
    type: Literal["shellCommand"] = "shellCommand"
    commands: tuple[ShellCommandPart, ...]
    background: bool = False


class TaskStatus(StrEnum):
    PENDING = "pending"
    IN_PROGRESS = "in-progress"
    DONE = "done"


class Task(Model):
    id: str
    subject: str
    status: TaskStatus = TaskStatus.PENDING


class TaskSummary(Model):
    done: int
    in_progress: int
    pending: int
    total: int


class TaskDetails(Model):
    """The chat's plan as it stands after the call."""

    type: Literal["task"] = "task"
    tasks: tuple[Task, ...]
    in_progress_task_ids: tuple[str, ...] = ()
    summary: TaskSummary
    active_summary: str | None = None


class SubagentDetails(Model):
    type: Literal["subagent"] = "subagent"
    agent_name: str
    step: int
    subagent_chat_id: str | None = None
    model: str | None = None
    variant: str | None = None
    max_steps: int | None = None


ToolCallDetails = Annotated[
    FileChangeDetails | JsonOutputsDetails | ShellCommandDetails | TaskDetails | SubagentDetails,
    Field(discriminator="type"),
]


class Cause(Model):
    """What decided whether a call may run. `rule` is the selector of a rule in `toolCall.approval`, for `trust` of the
    one that would have asked; `agent` is the agent whose own rule or default it is, None for everybody's."""

    kind: Literal["rule", "remembered", "trust", "default"]
    rule: str | None = None
    agent: str | None = None


class ToolCallContent(Model):
    """What all messages about one tool call share; they are tied together by `id`."""

    id: str
    name: str
    server: str
    origin: Origin = Origin.NATIVE
    summary: str | None = None
    details: ToolCallDetails | None = None


class ToolCallPrepareContent(ToolCallContent):
    """Sent many times per id: clients append `arguments_text`."""

    type: Literal["toolCallPrepare"] = "toolCallPrepare"
    arguments_text: str
    manual_approval: bool = False


class ToolCallRunContent(ToolCallContent):
    """Sent once per id. With `manual_approval` the call waits for `chat/toolCallApprove` or `chat/toolCallReject`.

    Ours, for clients with the envelope: `cause` tells why it waits, or why it does not.
    """

    type: Literal["toolCallRun"] = "toolCallRun"
    arguments: dict[str, Any]
    manual_approval: bool
    cause: Cause | None = None


class ToolCallRunningContent(ToolCallContent):
    type: Literal["toolCallRunning"] = "toolCallRunning"
    arguments: dict[str, Any]


class TextOutput(Model):
    type: Literal["text"] = "text"
    text: str


class ToolCalledContent(ToolCallContent):
    """One of the two terminal contents of a call. Ours, for clients with the envelope: `whole` is how many characters
    the output had that `outputs` is the head and tail of; `chat/toolOutput` gives all of them."""

    type: Literal["toolCalled"] = "toolCalled"
    arguments: dict[str, Any]
    error: bool
    outputs: tuple[TextOutput, ...]
    total_time_ms: int = 0
    whole: int | None = None


class RejectReason(StrEnum):
    """Why a call did not run."""

    USER = "user-choice"
    CONFIG = "user-config"
    STOP = "user-stop"
    NOBODY = "nobody-to-ask"
    HOOK = "hook-rejected"


class ToolCallRejectedContent(ToolCallContent):
    """The other terminal content of a call: it did not run.

    Ours, for clients with the envelope: `cause` tells which rule forbade it.
    """

    type: Literal["toolCallRejected"] = "toolCallRejected"
    arguments: dict[str, Any]
    reason: RejectReason
    cause: Cause | None = None


class MetadataContent(Model):
    type: Literal["metadata"] = "metadata"
    title: str


class UrlContent(Model):
    type: Literal["url"] = "url"
    title: str
    url: str


class ImageContent(Model):
    """An image of the user's (role `user`) or of a tool; `base64` is the raw data, without a prefix."""

    type: Literal["image"] = "image"
    media_type: str
    base64: str


class FlagContent(Model):
    """A mark that the user set at the message `content_id`."""

    type: Literal["flag"] = "flag"
    text: str
    content_id: str


class HookActionStartedContent(Model):
    type: Literal["hookActionStarted"] = "hookActionStarted"
    id: str
    name: str
    action_type: Literal["shell"] = "shell"


class HookActionFinishedContent(Model):
    type: Literal["hookActionFinished"] = "hookActionFinished"
    id: str
    name: str
    action_type: Literal["shell"] = "shell"
    status: int
    output: str | None = None
    error: str | None = None
    tool_call_id: str | None = None


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
    | MetadataContent
    | ImageContent
    | FlagContent
    | HookActionStartedContent
    | HookActionFinishedContent,
    Field(discriminator="type"),
]
