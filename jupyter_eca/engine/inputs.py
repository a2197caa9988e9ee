"""Everything that can happen to a chat. `at` is the time it happened, in milliseconds since the epoch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.protocol.content import RejectReason

if TYPE_CHECKING:
    from jupyter_eca.engine.approval import Policy
    from jupyter_eca.engine.delta import Delta
    from jupyter_eca.engine.spec import ToolSpec
    from jupyter_eca.protocol.content import ToolCallDetails


@dataclass(frozen=True, slots=True)
class Setup:
    """What one turn is run with. An empty `model` means that none could be found."""

    model: str
    system: str = ""
    tools: tuple[ToolSpec, ...] = ()
    policy: Policy | None = None


@dataclass(frozen=True, slots=True)
class Prompted:
    """`turn` and `content_id` are fresh ids; `context` is text for the model alone."""

    at: int
    turn: str
    message: str
    content_id: str
    setup: Setup
    context: str = ""


@dataclass(frozen=True, slots=True)
class Streamed:
    """`request` is the number of the model call that said it: what a cancelled call still says is ignored."""

    at: int
    request: int
    delta: Delta


@dataclass(frozen=True, slots=True)
class ModelFinished:
    """The stream ended as it should."""

    at: int
    request: int


@dataclass(frozen=True, slots=True)
class ModelFailed:
    """`message` is complete: what happened and what to do."""

    at: int
    request: int
    message: str


@dataclass(frozen=True, slots=True)
class ToolFinished:
    at: int
    call: str
    text: str
    error: bool = False
    details: ToolCallDetails | None = None


@dataclass(frozen=True, slots=True)
class Approved:
    """`remember`: calls of this tool in this chat run unasked from now on."""

    at: int
    call: str
    remember: bool = False


@dataclass(frozen=True, slots=True)
class Rejected:
    at: int
    call: str
    reason: RejectReason = RejectReason.USER
    words: str = ""


@dataclass(frozen=True, slots=True)
class Stopped:
    at: int


Input = Prompted | Streamed | ModelFinished | ModelFailed | ToolFinished | Approved | Rejected | Stopped
