"""What the configuration's `hooks` say (ECA, "Hooks"). A bad one costs itself alone."""

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

# As ECA's; in milliseconds, since its users write them so.
DEFAULT_TIMEOUT: Final = 30_000


class HookType(StrEnum):
    """The moments."""

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


TOOL_CALL: Final = frozenset({HookType.PRE_TOOL_CALL, HookType.POST_TOOL_CALL})
COMPACT: Final = frozenset({HookType.PRE_COMPACT, HookType.POST_COMPACT})

_OLDER: Final = {"prePrompt": HookType.PRE_REQUEST, "postPrompt": HookType.POST_REQUEST}


class Action(Model):
    """A line for the shell, or the file of a script."""

    type: Literal["shell"] = "shell"
    """The only kind there is."""
    shell: str | None = None
    """A line for the shell. What it is about comes on its input, as JSON."""
    file: str | None = None
    """Or a script; a relative path starts at the folder of the configuration."""
    timeout: float | None = Field(default=None, gt=0)
    """Milliseconds; not set: as the hook's."""

    @model_validator(mode="after")
    def _either(self) -> Action:
        if bool(self.shell) == bool(self.file):
            raise ValueError("an action needs either a `shell` or a `file`")
        return self


class Hook(Model):
    """Programs that run at a moment of a chat."""

    name: str
    """No key to be written: the key it stands under."""
    type: HookType
    """The moment."""
    actions: tuple[Action, ...] = Field(min_length=1)
    """What is run, one after the other."""
    matcher: str | dict[str, Rule] | None = None
    """Of tool calls: a regular expression for `server__tool`, or rules by selector as in `toolCall.approval`. Of
    summaries: `manual` or `auto`. Not set: all."""
    visible: bool = True
    """The chat shows that it ran, and what it said."""
    description: str = ""
    """What `/hooks` says of it."""
    run_on_error: bool = False
    """Behind a tool call: also behind one that failed."""
    timeout: float | None = Field(default=None, gt=0)
    """Milliseconds after which an action is ended; not set: 30000."""
    source: str = ""
    """No key to be written: the file it is from."""
    folder: str = ""
    """No key to be written: the folder of that file."""

    @field_validator("type", mode="before")
    @classmethod
    def _todays_name(cls, value: object) -> object:
        return _OLDER.get(value, value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _pattern(self) -> Hook:
        if isinstance(self.matcher, str) and self.type in TOOL_CALL:
            try:
                re.compile(self.matcher)
            except (re.error, OverflowError, RecursionError) as error:
                raise ValueError(f"its matcher is not a regular expression: {error}") from error
        return self

    def seconds(self, action: Action) -> float:
        return (action.timeout or self.timeout or DEFAULT_TIMEOUT) / 1000


@dataclass(frozen=True, slots=True)
class Refused:
    """A hook that is not in force."""

    name: str
    source: str
    why: str

    @property
    def told(self) -> str:
        where = f" of {self.source}" if self.source else ""
        return f"The hook {self.name!r}{where} was left out: {self.why}."


def read(written: Mapping[str, Any]) -> tuple[tuple[Hook, ...], tuple[Refused, ...]]:
    """In the order in which they run, and those that cannot."""
    hooks: list[Hook] = []
    refused: list[Refused] = []
    for name in sorted(written):
        settings = written[name]
        if not isinstance(settings, dict):
            refused.append(Refused(name, "", "it is not an object"))
            continue
        fields = cast("dict[str, Any]", settings)
        try:
            hooks.append(Hook.model_validate({**fields, "name": name}))
        except ValidationError as error:
            refused.append(Refused(name, str(fields.get("source", "")), _reason(error)))
    return tuple(hooks), tuple(refused)


def _reason(error: ValidationError) -> str:
    """Without the values: a line may hold a key."""
    # Of those that say why it is neither of two things, the one that looked deepest.
    first = max(error.errors(include_url=False, include_input=False), key=lambda one: len(one["loc"]))
    place = ".".join(str(part) for part in first["loc"])
    words = first["msg"].removeprefix("Value error, ")
    return f"{place}: {words}" if place else words
