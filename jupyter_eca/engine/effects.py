"""Owns the effects: what the host must do for the engine, one class for each kind of work.

An effect is plain data and must not know how the work is done. `host/turn/effect_runner` does the work. It feeds the
result back to the engine: it calls `step` with one of the `inputs`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ModelRequest, ToolSpec


@dataclass(frozen=True, slots=True)
class Gather:
    """Read the contexts that the prompt mentions (`@data.csv`); or, if the prompt is a command, run the command."""


@dataclass(frozen=True, slots=True)
class CancelGathering:
    """Stop what `Gather` began: the reading of contexts, or the command."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send a request to the model, or to the outside agent of the turn.

    Feed `Streamed` for each piece of the reply, then `ModelFinished` or `ModelFailed`. For an outside agent, also feed
    `CallBegun` and `CallReady` for each of its tool calls.
    """

    number: int
    """The number of the model call. All inputs about this call have the same number in their field `request`."""
    request: ModelRequest
    """The request to send."""


@dataclass(frozen=True, slots=True)
class CancelModel:
    """Cancel a model call."""

    number: int
    """The number of the model call."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Feed `WaitEnded` when the time has passed."""

    number: int
    """The number of the model call that failed."""
    seconds: float
    """How long the wait lasts."""


@dataclass(frozen=True, slots=True)
class CancelWait:
    """Cancel a wait."""

    number: int
    """The number of the model call that failed."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """Run a tool. Feed `ToolFinished` when it has ended."""

    call: str
    """The id of the call."""
    tool: ToolSpec
    """The tool to run."""
    arguments: dict[str, Any]
    """The arguments of the call."""


@dataclass(frozen=True, slots=True)
class CancelTool:
    """Cancel a running tool. Still feed `ToolFinished` when it has ended."""

    call: str
    """The id of the call."""


@dataclass(frozen=True, slots=True)
class AskUser:
    """Ask the user to approve or reject a call. Feed `Approved` or `Rejected`; feed `Rejected` if nobody can answer."""

    call: str
    """The id of the call."""


@dataclass(frozen=True, slots=True)
class MakeTitle:
    """Ask a model for the title of the chat. The turn does not wait for it.

    Feed `FactAdded` with the title, unless the chat has got another title meanwhile. Feed nothing if the request fails.
    """

    request: ModelRequest
    """The request to send."""


@dataclass(frozen=True, slots=True)
class RefuseCall:
    """Tell the outside agent that one of its calls was rejected. It is waiting for the decision."""

    call: str
    """The id of the call."""
    text: str
    """Why the call does not run, in words for the agent."""


Effect = (
    Gather
    | CancelGathering
    | CallModel
    | CancelModel
    | Wait
    | CancelWait
    | RunTool
    | CancelTool
    | AskUser
    | MakeTitle
    | RefuseCall
)
