"""Owns the messages of a running chat, in both directions: prompts, approvals, progress and the choice of a model.

A field or a message marked "Not in ECA" is our addition to ECA, the protocol that our clients speak. This module must
not know where a chat is stored. Its neighbours: `content` has what a turn consists of, `event` the recorded events, and
`chats` the list of chats and the operations on a chat.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import Field

from jupyter_eca.protocol.base import EMPTY_IS_DEFAULT, ChatId, Model
from jupyter_eca.protocol.content import Content, FileChangeDetails, Role
from jupyter_eca.protocol.context import ChatContext
from jupyter_eca.protocol.event import Outcome, Person

# The ids of subagents' chats begin with this text. A client may not make such an id.
SUBAGENT: Final = "subagent-"


class AnswerLock(Model):
    """Whether and where the answer to a prompt is locked. A locked answer is recorded in a file, and replayed later
    without a model. All paths are as the kernel that sends the prompt sees them. They must be in the workspace."""

    on: bool | None = None
    """Whether the answer is locked. Absent: the configuration decides."""
    file: str = ""
    """The lock file, if the user names one. Empty: the file is beside `notebook`, or in `folder` if there is none."""
    notebook: str = ""
    """The notebook whose cell sends the prompt."""
    folder: str = ""
    """The folder of the kernel."""
    cell: str = ""
    """The id of the cell that sends the prompt; empty when it is not known."""
    occurrence: int = Field(default=0, ge=0)
    """How many cells before this one ask the same question."""
    renew: bool = False
    """Whether to ask the model again, even if an answer is recorded."""


class ChatPromptParams(Model):
    """A prompt of the user."""

    message: str
    chat_id: ChatId | None = None
    """The chat; without an id a new chat is made."""
    model: str | None = None
    """The model, as PROVIDER/MODEL."""
    agent: str | None = None
    """The agent that answers, for example `plan`; absent for the agent that was selected before."""
    behavior: str | None = None
    """The older name of `agent`."""
    variant: str | None = None
    """The variant of the model, for example its reasoning effort."""
    trust: bool | None = None
    """Whether tool calls in this chat run without a question where the rules would ask."""
    contexts: Annotated[tuple[ChatContext, ...], EMPTY_IS_DEFAULT] = ()
    """What the user has added to the prompt, for example files and cells."""
    lock: AnswerLock | None = None
    """Not in ECA: kernels send it with the prompts of their cells."""
    notebook: str | None = None
    """Not in ECA: the path of the notebook that the user asked in, empty for none. Without it the server uses the one
    that is active when the prompt arrives."""


class PromptStatus(StrEnum):
    """What happens to a prompt: a turn begins, the user must sign in first, or there is an error."""

    PROMPTING = "prompting"
    LOGIN = "login"
    ERROR = "error"


class ChatPromptResult(Model):
    """The chat and the model that answer a prompt."""

    chat_id: ChatId
    model: str
    status: PromptStatus = PromptStatus.PROMPTING


class ChatContentReceivedParams(Model):
    """One content of a chat. The fields from `turn` to `by` are the envelope: only clients with the capability
    `envelope` receive them."""

    chat_id: ChatId
    role: Role
    content: Content
    turn: str | None = None
    """The id of the turn."""
    seq: int | None = None
    """The sequence number of the event in its chat."""
    at: int | None = None
    """When the event was recorded, in milliseconds since the epoch."""
    outcome: Outcome | None = None
    """How the turn ended; only with its last content."""
    by: Person | None = None
    """Who has sent the message, or has approved or rejected the tool call, on a server with several users."""
    parent_chat_id: ChatId | None = None
    """In a subagent's chat, the chat that spawned it."""


class ChatToolCallApproveParams(Model):
    """The user approves a tool call that waits."""

    chat_id: ChatId
    tool_call_id: str
    save: Literal["session"] | None = None
    """With `session`, later calls of this tool in this chat are approved too."""
    left_out: tuple[int, ...] = ()
    """Not in ECA: the indexes of the parts of the change that are not approved, see `FileChangeDetails.parts`."""


class ChatRemainingChangeParams(Model):
    """Not in ECA: asks what a waiting tool call would change if the user left out some parts of its change."""

    chat_id: ChatId
    tool_call_id: str
    left_out: tuple[int, ...]
    """The indexes of the parts that are left out, see `FileChangeDetails.parts`."""


class ChatRemainingChangeResult(Model):
    """Not in ECA: what would be changed. An approval without the same parts makes exactly this change."""

    details: FileChangeDetails | None = None
    """Absent when nothing would remain, when the change does not have these parts, or when the call does not wait."""


class ChatToolCallRejectParams(Model):
    """The user rejects a tool call that waits."""

    chat_id: ChatId
    tool_call_id: str
    reason: str = ""
    """Not in ECA: why the call is rejected. The model reads it."""


class ChatToolCallProgressParams(Model):
    """Not in ECA: the progress of a running tool call. It replaces the progress sent before, and is not stored."""

    chat_id: ChatId
    id: str
    """The id of the call."""
    text: str = ""
    """The end of the output so far."""
    progress: float | None = None
    """How much is done, in a unit that the tool chooses."""
    total: float | None = None
    """How much there is to do, in the same unit."""
    background: bool | None = None
    """Whether the call can be continued as a background job, by `chat/toolCallBackground`."""


class ChatToolCallBackgroundParams(Model):
    """Not in ECA: continue a running tool call as a background job. The turn goes on without waiting for it."""

    chat_id: ChatId
    id: str
    """The id of the call."""


class ChatToolOutputParams(Model):
    """Not in ECA: asks for a part of a tool call's whole output. `toolCalled` may have only its head and tail."""

    chat_id: ChatId
    id: str
    """The id of the call."""
    offset: int = Field(default=0, ge=0)
    """Where the part begins, in bytes of UTF-8."""
    limit: int = Field(default=100_000, ge=1, le=1_000_000)
    """The longest part to return, in bytes of UTF-8."""


class ChatToolOutputResult(Model):
    """A part of a tool call's output. It never begins or ends within a character."""

    text: str
    offset: int
    """Where the part begins, in bytes of UTF-8."""
    end: int
    """Where the part ends, in bytes of UTF-8."""
    total: int
    """The size of the whole output, in bytes of UTF-8."""


class ChatPromptStopParams(Model):
    """Stop the running turn of a chat."""

    chat_id: ChatId


class ChatPromptSteerParams(Model):
    """A message for the running turn. The model reads it with the next request of this turn."""

    chat_id: ChatId
    message: str
    contexts: Annotated[tuple[ChatContext, ...], EMPTY_IS_DEFAULT] = ()
    """Not in ECA: the contexts of the message. They are read as those of a prompt."""


class ChatPromptSteerRemoveParams(Model):
    """Remove a steering message that the model has not read yet."""

    chat_id: ChatId


class ChosenPart(StrEnum):
    """What the user has changed in a selection of a model and a variant."""

    MODEL = "model"
    VARIANT = "variant"


class ChatSelectedModelChangedParams(Model):
    """The user has selected a model in a client."""

    model: str
    chat_id: ChatId | None = None
    """The chat; absent when the selection is for new chats."""
    variant: str | None = None
    """The variant of the model, for example its reasoning effort."""
    chosen: ChosenPart | None = None
    """Not in ECA: which part of the selection the user has changed. Absent: the model, and perhaps the variant too."""
    notebook: str | None = None
    """Not in ECA: the path of the notebook in front of the user, empty for none. The selection is remembered for it.
    New chats of this notebook begin with the selection, and also new chats of notebooks for which nothing was ever
    selected. Absent: the selection is not remembered."""


class ChatSelectedAgentChangedParams(Model):
    """The user has selected an agent in a client."""

    agent: str
    chat_id: ChatId | None = None
    """The chat; absent when the selection is for new chats."""
    notebook: str | None = None
    """Not in ECA: see `ChatSelectedModelChangedParams`."""


class ChatSelectedOptionChangedParams(Model):
    """The user has chosen a value of an option of the chat's outside agent. Not in ECA."""

    chat_id: ChatId
    option: str
    """The id of the option."""
    value: str


class ChatSelectedBehaviorChangedParams(Model):
    """The older form of `ChatSelectedAgentChangedParams`."""

    behavior: str
    chat_id: ChatId | None = None
    """The chat; absent when the selection is for new chats."""
