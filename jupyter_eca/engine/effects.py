"""What the shell must do for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ModelRequest, ToolSpec


@dataclass(frozen=True, slots=True)
class Gather:
    """Read what the turn's prompt points at, or carry out the command that it is."""


@dataclass(frozen=True, slots=True)
class CancelGathering:
    pass


@dataclass(frozen=True, slots=True)
class CallModel:
    number: int
    request: ModelRequest


@dataclass(frozen=True, slots=True)
class CancelModel:
    number: int


@dataclass(frozen=True, slots=True)
class Wait:
    """Say so when `seconds` have passed. `number` is that of the model call that failed."""

    number: int
    seconds: float


@dataclass(frozen=True, slots=True)
class CancelWait:
    number: int


@dataclass(frozen=True, slots=True)
class RunTool:
    call: str
    tool: ToolSpec
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CancelTool:
    call: str


@dataclass(frozen=True, slots=True)
class AskUser:
    """Somebody must approve or reject `call`; when nobody can, the shell feeds a rejection."""

    call: str


Effect = Gather | CancelGathering | CallModel | CancelModel | Wait | CancelWait | RunTool | CancelTool | AskUser
