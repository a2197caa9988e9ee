"""Owns the schema of the key `hooks`. Each hook is parsed separately, so an error stops only one hook.

A hook is a program of the user that runs at an event in a chat, for example before each tool call. The format is ECA's.
This module must not run a hook: `host.hooks` does. `schema` is its neighbour: it has all other keys.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from pydantic import Field, ValidationError, field_validator, model_validator

from jupyter_eca.engine.approval.policy import Rule
from jupyter_eca.protocol.base import Model

if TYPE_CHECKING:
    from collections.abc import Mapping

# How long a program of a hook may run by default: the number and the unit (milliseconds) are those of ECA.
DEFAULT_TIMEOUT: Final = 30_000


class HookType(StrEnum):
    """The event at which a hook runs."""

    SESSION_START = "sessionStart"
    SESSION_END = "sessionEnd"
    CHAT_START = "chatStart"
    CHAT_END = "chatEnd"
    CHAT_STATUS_CHANGED = "chatStatusChanged"
    SUBAGENT_START = "subagentStart"
    PRE_REQUEST = "preRequest"
    POST_REQUEST = "postRequest"
    SUBAGENT_POST_REQUEST = "subagentPostRequest"
    PRE_TOOL_CALL = "preToolCall"
    POST_TOOL_CALL = "postToolCall"
    PRE_COMPACT = "preCompact"
    POST_COMPACT = "postCompact"


# The hooks whose `matcher` selects tool calls, and those whose `matcher` selects summaries. A chat is compacted when
# the model writes a summary that replaces the conversation: the user asked for it (`manual`), or the window was full
# (`auto`).
TOOL_CALL: Final = frozenset({HookType.PRE_TOOL_CALL, HookType.POST_TOOL_CALL})
COMPACT: Final = frozenset({HookType.PRE_COMPACT, HookType.POST_COMPACT})

# The older names of two events.
_OLDER: Final = {"prePrompt": HookType.PRE_REQUEST, "postPrompt": HookType.POST_REQUEST}


class Action(Model):
    """A program that a hook runs: a shell command, or a script."""

    type: Literal["shell"] = "shell"
    """The only kind of action."""
    shell: str | None = None
    """A shell command. It receives the event as JSON on its standard input."""
    file: str | None = None
    """A script, instead of `shell`. A relative path starts at the folder of the configuration file, or, if there is no
    such file there, at the first folder of the workspace."""
    timeout: float | None = Field(default=None, gt=0)
    """Milliseconds after which the action is ended. Not set: the timeout of the hook."""

    @model_validator(mode="after")
    def _check_one_is_set(self) -> Action:
        """Raise ValueError unless exactly one of `shell` and `file` is set."""
        if bool(self.shell) == bool(self.file):
            raise ValueError("an action needs either a `shell` or a `file`")
        return self


class Hook(Model):
    """Programs that run at an event in a chat."""

    name: str
    """Not a key of a file: the name under which the hook is written."""
    type: HookType
    """The event at which the hook runs."""
    actions: tuple[Action, ...] = Field(min_length=1)
    """The programs, which run one after the other."""
    matcher: str | dict[str, Rule] | None = None
    """For tool calls: a regular expression for `server__tool`, or rules by selector as in `toolCall.approval`. For
    summaries: `manual` or `auto`. Not set: all of them."""
    visible: bool = True
    """The chat shows that the hook ran, and its output."""
    description: str = ""
    """The text that `/hooks` shows."""
    run_on_error: bool = False
    """For `postToolCall`: the hook also runs after a call that failed."""
    timeout: float | None = Field(default=None, gt=0)
    """Milliseconds after which an action is ended. Not set: 30000."""
    source: str = ""
    """Not a key of a file: the configuration file. `layers` adds it to each hook."""
    folder: str = ""
    """Not a key of a file: the folder of the configuration file."""

    @field_validator("type", mode="before")
    @classmethod
    def _to_current_name(cls, value: object) -> object:
        """Accept the older name of an event."""
        return _OLDER.get(value, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _check_matcher(self) -> Hook:
        """Raise ValueError for a pattern that is not a regular expression."""
        if isinstance(self.matcher, str) and self.type in TOOL_CALL:
            try:
                re.compile(self.matcher)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"its matcher is not a regular expression: {error}") from error
        return self

    def get_timeout_seconds(self, action: Action) -> float:
        """Return the timeout of an action in seconds."""
        return (action.timeout or self.timeout or DEFAULT_TIMEOUT) / 1000


@dataclass(frozen=True, slots=True)
class RejectedHook:
    """A hook that is ignored because of an error."""

    name: str
    """The name of the hook."""
    source: str
    """The configuration file; empty when it is unknown."""
    why: str
    """The error, in words that follow a colon."""

    @property
    def message(self) -> str:
        """The sentence for the user."""
        source = f" of {self.source}" if self.source else ""
        return f"The hook {self.name!r}{source} was left out: {self.why}."


def parse_hooks(written: Mapping[str, Any]) -> tuple[tuple[Hook, ...], tuple[RejectedHook, ...]]:
    """Return the valid hooks in the order in which they run, and those that are ignored because of an error.

    `written` is the value of the key `hooks`, by the name of the hook.
    """
    hooks: list[Hook] = []
    refused: list[RejectedHook] = []
    for name in sorted(written):
        settings = written[name]
        if not isinstance(settings, dict):
            refused.append(RejectedHook(name, "", "it is not an object"))
            continue
        fields = cast("dict[str, Any]", settings)
        try:
            hooks.append(Hook.model_validate({**fields, "name": name}))
        except ValidationError as error:
            refused.append(RejectedHook(name, str(fields.get("source", "")), _describe_error(error)))
    return tuple(hooks), tuple(refused)


def _describe_error(error: ValidationError) -> str:
    """Return the reason for an error without any value, because a value may contain a key."""
    # For a union there is an error for each member. The error with the longest path is the most exact one.
    deepest = max(error.errors(include_url=False, include_input=False), key=lambda detail: len(detail["loc"]))
    path = ".".join(str(part) for part in deepest["loc"])
    message = deepest["msg"].removeprefix("Value error, ")
    return f"{path}: {message}" if path else message
