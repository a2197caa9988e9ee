"""Owns the messages about the chats of a workspace: listing, opening, clearing, rolling back, forking and deleting.

A field marked "Not in ECA" is our addition to ECA, the protocol that our clients speak. This module must not know where
a chat is stored. `chat` is its neighbour: it has the messages of a running chat.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import field_validator

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model
from jupyter_eca.protocol.chat import ChatContentReceivedParams
from jupyter_eca.protocol.content import AnswerRating, TaskDetails, UsageContent
from jupyter_eca.protocol.event import Outcome, Person


class ChatStatus(StrEnum):
    """What a chat is doing. `login`: it waits until the user has signed in to a provider."""

    RUNNING = "running"
    IDLE = "idle"
    STOPPING = "stopping"
    LOGIN = "login"


class ChatStatusChangedParams(Model):
    """The status of a chat has changed."""

    chat_id: ChatId
    status: ChatStatus


class ChatOpenedParams(Model):
    """The server sends a chat from its beginning; its contents follow."""

    chat_id: ChatId
    title: str | None = None


class ChatClearedParams(Model):
    """A chat was cleared."""

    chat_id: ChatId
    messages: bool = True
    """Whether its messages were removed too, not only its usage."""


class ChatDeletedParams(Model):
    """A chat was deleted."""

    chat_id: ChatId


class ChatListParams(Model):
    """Asks for the chats of the workspace, the newest first."""

    limit: Annotated[int | None, EMPTY_IS_DEFAULT] = None
    """How many chats to return; without a limit, all."""
    sort_by: str | None = None
    """The time by which the chats are sorted: `updatedAt` (the default) or `createdAt`."""
    query: str | None = None
    """Not in ECA: return only the chats whose title or messages contain these words. Upper and lower case are the
    same."""
    notebook: str | None = None
    """Not in ECA: the path of the notebook in front of the user. If it was moved outside of Jupyter, its chats follow
    it before they are listed."""


class ChatSummary(Model):
    """A chat in a list. Times are milliseconds since the epoch."""

    id: ChatId
    title: str | None = None
    status: ChatStatus
    created_at: int
    updated_at: int
    model: str | None = None
    message_count: int
    """The number of messages of the user."""
    notebook: str | None = None
    """Not in ECA: the path of the notebook that the chat belongs to."""
    waiting: bool | None = None
    """Not in ECA: true if the running turn waits for the user, who must approve a tool call or answer a question."""
    outcome: Outcome | None = None
    """Not in ECA: how the last turn ended."""
    asked_by: Person | None = None
    """Not in ECA: who has asked last, while the chat is running; absent if that is not known."""
    excerpt: str | None = None
    """Not in ECA: the sentence in which a search has found the words. It is absent if only the title has them."""


class ChatListResult(Model):
    """The chats of the workspace."""

    chats: tuple[ChatSummary, ...]


Cursor = int | str
"""A position in a chat: the sequence number of an event, or `lastCompaction`. Clients only send it back."""


class ChatPageParams(Model):
    """Asks for a part of a chat: its newest messages, or those before or after a cursor."""

    chat_id: ChatId
    limit: int | None = None
    """How many messages to return."""
    before: Cursor | None = None
    """Return the messages before this position, without the one at it."""
    after: Cursor | None = None
    """Return the messages after this position, without the one at it."""


class ChatOpenParams(ChatPageParams):
    """Opens a chat. A client with the capability `envelope` sends the last `seq` that it has received as `after`."""


class ChatSelection(Model):
    """The settings for the next turn of a chat."""

    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    variants: tuple[str, ...] = ()
    """The variants that the model has."""
    trust: bool = False
    """Whether tool calls run without a question where the rules would ask."""


class ChatSelectionParams(Model):
    """Asks for the selection of a chat, or of a new chat."""

    chat_id: ChatId | None = None
    """The chat. Absent or unknown: a new chat."""
    notebook: str | None = None
    """The path of the notebook in which a new chat begins, empty for none. It begins with what the user has chosen
    before. Absent: it begins with the configured defaults."""


class PageMeta(Model):
    """Which part of a chat was returned. A cursor is absent when there is nothing more in its direction."""

    total: int
    """The number of contents in the chat."""
    returned: int
    """The number of contents in this part."""
    before_cursor: Cursor | None = None
    """Where the previous part ends."""
    after_cursor: Cursor | None = None
    """Where the next part begins."""
    compaction_cursor: Cursor | None = None
    """Where the last summary is, which the model reads in place of the older messages; absent when there is none."""


class PageErrorCode(StrEnum):
    """Why a part of a chat cannot be returned. `cursor_expired`: the chat no longer has the position of the cursor,
    because it was cleared or taken back."""

    CHAT_NOT_FOUND = "chat_not_found"
    CURSOR_EXPIRED = "cursor_expired"


class PageError(Model):
    """The error that is returned in place of a part of a chat: a code for programs, and a message for people."""

    code: PageErrorCode
    message: str = ""


class ChatOpenResult(Model):
    """The opened chat. Its contents are sent separately, as `chat/contentReceived`."""

    found: bool
    """Whether there is such a chat."""
    chat_id: ChatId | None = None
    title: str | None = None
    selection: ChatSelection | None = None
    meta: PageMeta | None = None
    error: PageError | None = None
    usage: UsageContent | None = None
    """Not in ECA: the last usage before the page; absent when there is none."""
    tasks: TaskDetails | None = None
    """Not in ECA: the last list of tasks before the page; absent when there is none."""


class ChatHistoryParams(ChatPageParams):
    """Asks for a part of a chat without opening it."""


class ChatHistoryResult(Model):
    """A part of a chat."""

    contents: tuple[ChatContentReceivedParams, ...] = ()
    meta: PageMeta | None = None
    error: PageError | None = None


class ChatDeleteParams(Model):
    """Delete a chat."""

    chat_id: ChatId | None = None
    undoable: bool = False
    """Not in ECA: keep the chat for a while, so that `chat/restore` can bring it back. Nobody sees it meanwhile."""


class ChatRestoreParams(Model):
    """Not in ECA: bring back a chat that was deleted with `undoable`."""

    chat_id: ChatId


class ChatClearParams(Model):
    """Clear a chat. The chat itself stays."""

    chat_id: ChatId
    messages: bool = True
    """Whether to remove the messages; if not, only the usage is forgotten."""

    @field_validator("messages", mode="before")
    @classmethod
    def _read_null_as_true(cls, value: Any) -> Any:
        """Return the default for null, which some clients send when they mean to leave the field out."""
        return True if value is None else value


class ChatMessageParams(Model):
    """Names a message of the user in a chat."""

    chat_id: ChatId
    content_id: str
    """The id of the message's content."""


class ChatRollbackParams(ChatMessageParams):
    """Take a chat back to the state before a message."""

    include: Annotated[tuple[Literal["messages", "tools"], ...], EMPTY_IS_DEFAULT] = ()
    """What to take back: the messages, the changes that tools made, or both when it is empty."""


class ChatForkParams(ChatMessageParams):
    """Copy a chat into a new one, up to the end of the turn that began with the message."""


class ChatAddFlagParams(ChatMessageParams):
    """Set a mark at a message."""

    text: str
    """What the mark says, for the user."""


class ChatRemoveFlagParams(ChatMessageParams):
    """Remove the mark at a message."""


class ChatRateAnswerParams(ChatMessageParams):
    """Not in ECA: rate the answer after a message of the user. The rating stays in the chat, and no model reads it."""

    rating: AnswerRating | None = None
    """The rating; absent: remove it."""


class ChatUpdateParams(Model):
    """Change the settings of a chat. An absent field stays unchanged."""

    chat_id: ChatId
    title: str | None = None
    trust: bool | None = None
    """Whether tool calls run without a question where the rules would ask."""
