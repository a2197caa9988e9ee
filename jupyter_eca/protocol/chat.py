"""Requests and notifications about chats, in both directions. Contents are in `content`, the envelope in `event`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import Model
from jupyter_eca.protocol.content import Content, Role
from jupyter_eca.protocol.event import Outcome

ChatId = str | int
"""Minted by either side; nvim sends a number and matches replies by it, so it is echoed unchanged."""


class LinesRange(Model):
    """1-based, both ends included."""

    start: int
    end: int


class FileContext(Model):
    type: Literal["file"] = "file"
    path: str
    lines_range: LinesRange | None = None


class TextContext(Model):
    type: Literal["text"] = "text"
    label: str = ""
    content: str


class OtherContext(Model):
    """A context whose text only a later version can fetch; the model is told its name, so that nothing is dropped
    without a word."""

    type: str
    path: str = ""
    url: str = ""
    uri: str = ""


ChatContext = Annotated[FileContext | TextContext | OtherContext, Field(union_mode="left_to_right")]


class ChatPromptParams(Model):
    """`behavior` is the older name of `agent`. Without `chat_id` a chat is made."""

    message: str
    chat_id: ChatId | None = None
    model: str | None = None
    agent: str | None = None
    behavior: str | None = None
    contexts: tuple[ChatContext, ...] = ()

    @field_validator("contexts", mode="before")
    @classmethod
    def _no_contexts(cls, value: object) -> object:
        return value or ()


class PromptStatus(StrEnum):
    PROMPTING = "prompting"
    ERROR = "error"


class ChatPromptResult(Model):
    chat_id: ChatId
    model: str
    status: PromptStatus = PromptStatus.PROMPTING


class ChatContentReceivedParams(Model):
    """The fields after `content` are the envelope, sent to clients that declare the capability `envelope`."""

    chat_id: ChatId
    role: Role
    content: Content
    turn: str | None = None
    seq: int | None = None
    at: int | None = None
    outcome: Outcome | None = None


class ChatToolCallApproveParams(Model):
    chat_id: ChatId
    tool_call_id: str
    save: Literal["session"] | None = None


class ChatToolCallRejectParams(Model):
    """`reason` is ours, and optional: it goes to the model."""

    chat_id: ChatId
    tool_call_id: str
    reason: str = ""


class ChatPromptStopParams(Model):
    chat_id: ChatId


class ChatStatus(StrEnum):
    RUNNING = "running"
    IDLE = "idle"
    STOPPING = "stopping"


class ChatStatusChangedParams(Model):
    chat_id: ChatId
    status: ChatStatus


class ChatOpenParams(Model):
    chat_id: ChatId
    after: int = 0


class ChatOpenResult(Model):
    found: bool
    chat_id: ChatId | None = None
    title: str | None = None


class ChatOpenedParams(Model):
    chat_id: ChatId
    title: str | None = None


class ChatClearedParams(Model):
    chat_id: ChatId
    messages: bool = True


class ChatListParams(Model):
    limit: int | None = None
    sort_by: str | None = None

    @field_validator("limit", mode="before")
    @classmethod
    def _no_limit(cls, value: Any) -> Any:
        return value or None


class ChatSummary(Model):
    """Times are milliseconds since the epoch."""

    id: ChatId
    title: str | None = None
    status: ChatStatus
    created_at: int
    updated_at: int
    model: str | None = None
    message_count: int


class ChatListResult(Model):
    chats: tuple[ChatSummary, ...]


class ChatSelectedModelChangedParams(Model):
    model: str
    chat_id: ChatId | None = None


class ChatSelectedAgentChangedParams(Model):
    agent: str
    chat_id: ChatId | None = None


class ChatSelectedBehaviorChangedParams(Model):
    behavior: str
    chat_id: ChatId | None = None
