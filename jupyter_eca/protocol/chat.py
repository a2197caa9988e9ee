"""What is said in a chat, in both directions. Contents are in `content`, the envelope in `event`, the list of chats and
what can be done to one in `chats`."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import field_validator

from jupyter_eca.protocol.base import ChatId, Model
from jupyter_eca.protocol.content import Content, Role
from jupyter_eca.protocol.context import ChatContext
from jupyter_eca.protocol.event import Outcome


class ChatPromptParams(Model):
    """`behavior` is the older name of `agent`. Without `chat_id` a chat is made. `trust`: what would have to ask runs
    unasked in this chat."""

    message: str
    chat_id: ChatId | None = None
    model: str | None = None
    agent: str | None = None
    behavior: str | None = None
    variant: str | None = None
    trust: bool | None = None
    contexts: tuple[ChatContext, ...] = ()

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
    out; `progress` of `total` is in a unit of the tool's. Never stored, and never told again."""

    chat_id: ChatId
    id: str
    text: str = ""
    progress: float | None = None
    total: float | None = None


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
