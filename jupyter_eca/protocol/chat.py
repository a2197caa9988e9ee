"""What is said in a chat, in both directions. Contents are in `content`, the envelope in `event`, the list of chats and
what can be done to one in `chats`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Literal

from pydantic import Field, field_validator

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.content import Content, Role
from jupyter_eca.protocol.context import ChatContext
from jupyter_eca.protocol.event import Outcome

# What the ids of subagents' chats begin with; nobody else may make such a one.
SUBAGENT: Final = "subagent-"


class ChatLock(Model):
    """Where the answer is to be recorded, and replayed from. All paths are the asker's, and must be in the workspace.

    `on`: None leaves it to the configuration. `file` is the lock file where the user names one; else it stands beside
    the `notebook`, else in the `folder`. `cell` is empty where it is not known; `occurrence` counts the cells before
    this one that ask the same; `renew`: ask again, whatever is recorded.
    """

    on: bool | None = None
    file: str = ""
    notebook: str = ""
    folder: str = ""
    cell: str = ""
    occurrence: int = Field(default=0, ge=0)
    renew: bool = False


class ChatPromptParams(Model):
    """`behavior` is the older name of `agent`. Without `chat_id` a chat is made. `trust`: what would have to ask runs
    unasked in this chat. `lock` is ours: kernels send it for their cells."""

    message: str
    chat_id: ChatId | None = None
    model: str | None = None
    agent: str | None = None
    behavior: str | None = None
    variant: str | None = None
    trust: bool | None = None
    contexts: tuple[ChatContext, ...] = ()
    lock: ChatLock | None = None

    @field_validator("contexts", mode="before")
    @classmethod
    def _no_contexts(cls, value: object) -> object:
        return value or ()


class PromptStatus(StrEnum):
    PROMPTING = "prompting"
    LOGIN = "login"
    ERROR = "error"


class ChatPromptResult(Model):
    chat_id: ChatId
    model: str
    status: PromptStatus = PromptStatus.PROMPTING


class ChatContentReceivedParams(Model):
    """`turn` to `outcome` are the envelope, sent to clients that declare the capability `envelope`. `parent_chat_id` is
    set in the chat of a subagent."""

    chat_id: ChatId
    role: Role
    content: Content
    turn: str | None = None
    seq: int | None = None
    at: int | None = None
    outcome: Outcome | None = None
    parent_chat_id: ChatId | None = None


class ChatToolCallApproveParams(Model):
    chat_id: ChatId
    tool_call_id: str
    save: Literal["session"] | None = None


class ChatToolCallRejectParams(Model):
    """`reason` is ours, and optional: it goes to the model."""

    chat_id: ChatId
    tool_call_id: str
    reason: str = ""


class ChatToolCallProgressParams(Model):
    """Ours: how far a call that runs has come, in place of what was told before. `text` is the end of what it has put
    out; `progress` of `total` is in a unit of the tool's. Never stored, and never told again. `background`:
    `chat/toolCallBackground` would be heeded."""

    chat_id: ChatId
    id: str
    text: str = ""
    progress: float | None = None
    total: float | None = None
    background: bool | None = None


class ChatToolCallBackgroundParams(Model):
    """Ours: nobody waits for a call any more; it goes on as a job, and the turn goes on without it."""

    chat_id: ChatId
    id: str


class ChatToolOutputParams(Model):
    """Ours: the whole output of the call `id`, of which its `toolCalled` has only the head and the tail; in bytes of
    UTF-8."""

    chat_id: ChatId
    id: str
    offset: int = Field(default=0, ge=0)
    limit: int = Field(default=100_000, ge=1, le=1_000_000)


class ChatToolOutputResult(Model):
    """From `offset` to `end` of `total` bytes; characters are whole."""

    text: str
    offset: int
    end: int
    total: int


class ChatPromptStopParams(Model):
    chat_id: ChatId


class ChatPromptSteerParams(Model):
    """Words for the model, told to it before its next step of the turn that is under way."""

    chat_id: ChatId
    message: str


class ChatPromptSteerRemoveParams(Model):
    chat_id: ChatId


class ChatSelectedModelChangedParams(Model):
    model: str
    chat_id: ChatId | None = None
    variant: str | None = None


class ChatSelectedAgentChangedParams(Model):
    agent: str
    chat_id: ChatId | None = None


class ChatSelectedBehaviorChangedParams(Model):
    behavior: str
    chat_id: ChatId | None = None
