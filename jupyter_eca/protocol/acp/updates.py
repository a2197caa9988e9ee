"""Owns the updates of a session in the Agent Client Protocol (ACP): the params of the notification `session/update`.

It must not know what a client may ask: `requests.py` beside it does.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field

from jupyter_eca.protocol.acp.content import CallContent, CallLocation, ContentBlock, RawJson
from jupyter_eca.protocol.base import Model


class CallKind(StrEnum):
    """What a tool call does. Clients choose an icon by it."""

    READ = "read"
    EDIT = "edit"
    DELETE = "delete"
    MOVE = "move"
    SEARCH = "search"
    EXECUTE = "execute"
    THINK = "think"
    FETCH = "fetch"
    SWITCH_MODE = "switch_mode"
    OTHER = "other"


class CallStatus(StrEnum):
    """How far a tool call is. A call that was rejected or stopped has failed."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETED = "completed"
    FAILED = "failed"


class UpdateByPerson(Model):
    """The base of updates about something that a person has done."""

    meta: dict[str, Any] | None = Field(default=None, alias="_meta")
    """`{"eca": {"by": PERSON}}`: the person who has sent the message, or has approved or rejected the call. The
    protocol has no field for this."""


class MessageChunk(UpdateByPerson):
    """A piece of a message."""

    session_update: Literal["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]
    """Whose message it is: the user's, the agent's answer, or the agent's reasoning."""
    content: ContentBlock
    message_id: str | None = None
    """Pieces with the same id are one message."""


class CallFields(UpdateByPerson):
    """The fields of a tool call that can change. A field that is absent stays as it is; a list is replaced as a
    whole."""

    tool_call_id: str
    title: str | None = None
    name: str | None = None
    """The name of the tool."""
    kind: CallKind | None = None
    status: CallStatus | None = None
    content: tuple[CallContent, ...] | None = None
    """What clients show of the call: texts, diffs, terminals."""
    locations: tuple[CallLocation, ...] | None = None
    """The files that the call works on."""
    raw_input: RawJson = None
    """The arguments."""
    raw_output: RawJson = None
    """The result."""


class CallStart(CallFields):
    """A new tool call."""

    session_update: Literal["tool_call"] = "tool_call"
    title: str | None = ""  # a new call must have a title


class CallChange(CallFields):
    """A change of a tool call."""

    session_update: Literal["tool_call_update"] = "tool_call_update"


class PlanEntry(Model):
    """A step of a plan."""

    content: str
    """What is to be done in this step."""
    priority: Literal["high", "medium", "low"] = "medium"
    status: Literal["pending", "in_progress", "completed"]


class PlanUpdate(Model):
    """The whole plan."""

    session_update: Literal["plan"] = "plan"
    entries: tuple[PlanEntry, ...]


class CommandInput(Model):
    """What may be typed after a command."""

    hint: str
    """A text that clients show until the user types something."""


class AvailableCommand(Model):
    """A `/` command."""

    name: str
    """The name without the slash."""
    description: str
    input: CommandInput | None = None
    """Absent for a command after which nothing is typed."""


class CommandsUpdate(Model):
    """The commands that the user can type."""

    session_update: Literal["available_commands_update"] = "available_commands_update"
    available_commands: tuple[AvailableCommand, ...]


class ModeUpdate(Model):
    """The mode of the session."""

    session_update: Literal["current_mode_update"] = "current_mode_update"
    current_mode_id: str


class SelectValue(Model):
    """A value that the user can choose."""

    value: str
    name: str
    """The name of the value for the user."""
    description: str | None = None


class SelectOption(Model):
    """An option of a session that has one of several values."""

    id: str
    name: str
    description: str | None = None
    category: str | None = None
    """`mode`, `model`, `thought_level` or another word, by which clients place the option."""
    type: Literal["select"] = "select"
    current_value: str
    options: tuple[SelectValue, ...]


class OptionsUpdate(Model):
    """All options of the session."""

    session_update: Literal["config_option_update"] = "config_option_update"
    config_options: tuple[SelectOption, ...]


class InfoUpdate(Model):
    """The title of the session."""

    session_update: Literal["session_info_update"] = "session_info_update"
    title: str | None = None


class SessionCost(Model):
    """A sum of money."""

    amount: float
    currency: str = "USD"


class ContextUpdate(Model):
    """How full the model's context window is, and what the session has cost so far."""

    session_update: Literal["usage_update"] = "usage_update"
    used: int
    """Tokens in the context window."""
    size: int
    """The size of the window in tokens."""
    cost: SessionCost | None = None


class NoticeUpdate(Model):
    """A message for the user that is no part of the session. Only clients with the capability `session.notices` may
    get it."""

    session_update: Literal["notice"] = "notice"
    severity: Literal["info", "warning", "error"]
    title: str = Field(min_length=1)
    """The message itself."""


SessionUpdate = Annotated[
    MessageChunk
    | CallStart
    | CallChange
    | PlanUpdate
    | CommandsUpdate
    | ModeUpdate
    | OptionsUpdate
    | InfoUpdate
    | ContextUpdate
    | NoticeUpdate,
    Field(discriminator="session_update"),
]


class SessionUpdateParams(Model):
    """The params of `session/update`."""

    session_id: str
    update: SessionUpdate
