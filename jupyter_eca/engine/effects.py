"""What the shell must do for the engine, one class for each.

They are plain data. They must not know how it is done: `host/turn/effect_runner` does it, and feeds what comes of it
back as one of the `inputs`.
"""

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
    """Stop reading, or stop the command."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send a request, and feed what the model says."""

    number: int
    """The number of the model call. All inputs about it have it as `request`."""
    request: ModelRequest
    """What is sent."""


@dataclass(frozen=True, slots=True)
class CancelModel:
    """End a model call."""

    number: int
    """The number of the model call."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Feed `Waited` when the time has passed."""

    number: int
    """The number of the model call that failed."""
    seconds: float
    """How long to wait."""


@dataclass(frozen=True, slots=True)
class CancelWait:
    """End a wait."""

    number: int
    """The number of the model call that failed."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool, and feed `ToolFinished`."""

    call: str
    """The id of the call."""
    tool: ToolSpec
    """The tool."""
    arguments: dict[str, Any]
    """What it is called with."""


@dataclass(frozen=True, slots=True)
class CancelTool:
    """End a tool that runs. `ToolFinished` is still fed."""

    call: str
    """The id of the call."""


@dataclass(frozen=True, slots=True)
class AskUser:
    """Have somebody approve or reject a call. When nobody can, feed a rejection."""

    call: str
    """The id of the call."""


Effect = Gather | CancelGathering | CallModel | CancelModel | Wait | CancelWait | RunTool | CancelTool | AskUser
