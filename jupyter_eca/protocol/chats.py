"""The chats of a workspace: listed, opened, cut back, forked, deleted."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Literal

from pydantic import field_validator

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.chat import ChatContentReceivedParams


class ChatStatus(StrEnum):
    RUNNING = "running"
    IDLE = "idle"
    STOPPING = "stopping"
    LOGIN = "login"


class ChatStatusChangedParams(Model):
    chat_id: ChatId
    status: ChatStatus


class ChatOpenedParams(Model):
    chat_id: ChatId
    title: str | None = None


class ChatClearedParams(Model):
    chat_id: ChatId
    messages: bool = True


class ChatDeletedParams(Model):
    chat_id: ChatId


class ChatListParams(Model):
    """`sort_by` is `updatedAt` (the default) or `createdAt`; the newest come first."""

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


Cursor = int | str
"""A place in a chat: the sequence number of an event, or `lastCompaction`. Opaque to clients."""


class ChatPageParams(Model):
    """A window on a chat: the newest `limit` messages, or those next to a cursor, which is left out itself."""

    chat_id: ChatId
    limit: int | None = None
    before: Cursor | None = None
    after: Cursor | None = None


class ChatOpenParams(ChatPageParams):
    """A client with the capability `envelope` gives the last `seq` that it was shown as `after`."""


class ChatSelection(Model):
    """What the chat's next turn would be run with."""

    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    variants: tuple[str, ...] = ()
    trust: bool = False


class PageMeta(Model):
    """`total` and `returned` count contents; a cursor is absent where there is nothing more."""

    total: int
    returned: int
    before_cursor: Cursor | None = None
    after_cursor: Cursor | None = None
    compaction_cursor: Cursor | None = None


class PageErrorCode(StrEnum):
    CHAT_NOT_FOUND = "chat_not_found"
    CURSOR_EXPIRED = "cursor_expired"


class PageError(Model):
    code: PageErrorCode
    message: str = ""


class ChatOpenResult(Model):
    found: bool
    chat_id: ChatId | None = None
    title: str | None = None
    selection: ChatSelection | None = None
    meta: PageMeta | None = None
    error: PageError | None = None


class ChatHistoryParams(ChatPageParams):
    pass


class ChatHistoryResult(Model):
    contents: tuple[ChatContentReceivedParams, ...] = ()
    meta: PageMeta | None = None
    error: PageError | None = None


class ChatDeleteParams(Model):
    chat_id: ChatId | None = None


class ChatClearParams(Model):
    """The chat stays, its messages go. `messages` false keeps them and forgets only the usage."""

    chat_id: ChatId
    messages: bool = True

    @field_validator("messages", mode="before")
    @classmethod
    def _absent(cls, value: Any) -> Any:
        return True if value is None else value


class ChatMessageParams(Model):
    """`content_id` is that of a user's message."""

    chat_id: ChatId
    content_id: str


class ChatRollbackParams(ChatMessageParams):
    """Back to before the message; what to take back, everything when empty."""

    include: tuple[Literal["messages", "tools"], ...] = ()

    @field_validator("include", mode="before")
    @classmethod
    def _absent(cls, value: Any) -> Any:
        return value or ()


class ChatForkParams(ChatMessageParams):
    """A new chat with everything up to the end of the turn that began with the message."""


class ChatAddFlagParams(ChatMessageParams):
    text: str


class ChatRemoveFlagParams(ChatMessageParams):
    pass


class ChatUpdateParams(Model):
    """An absent field stays as it is."""

    chat_id: ChatId
    title: str | None = None
    trust: bool | None = None
