"""The life of one tool call, as a table. The walk through it is in `chat`; who may call what is in `approval`."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json

from jupyter_eca.engine.approval.policy import Adjusted
from jupyter_eca.engine.table import Table
from jupyter_eca.protocol.content import Origin

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import Cause, ToolCallDetails


class ToolCallStatus(StrEnum):
    PREPARING = "preparing"
    WAITING = "waiting"
    RUNNING = "running"
    STOPPING = "stopping"
    CALLED = "called"
    REJECTED = "rejected"


class ToolCallSignal(StrEnum):
    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    FAIL = "fail"
    APPROVE = "approve"
    REJECT = "reject"
    FINISH = "finish"
    STOP = "stop"


class ToolCallMove(StrEnum):
    """What happens on the way: contents that are shown (`announce`, `started`, `called`, `rejected`) and effects."""

    ANNOUNCE = "announce"
    STARTED = "started"
    RUN = "run"
    ASK_USER = "ask user"
    CANCEL = "cancel"
    CALLED = "called"
    REJECTED = "rejected"


St, Si, Mo = ToolCallStatus, ToolCallSignal, ToolCallMove

# preparing   the model is still writing the arguments
# waiting     announced; somebody must approve or reject it
# running     the tool is at work
# stopping    asked to end; what it did until then may stand
# called      ended, with a result or an error (terminal, one `toolCalled`)
# rejected    did not run (terminal, one `toolCallRejected`)
#
# `fail` is a call that cannot be tried at all: a tool nobody offers, arguments that are no JSON. A terminal status has
# no rows: a second approve, or one after a stop, is an illegal signal and changes nothing.
TOOL_CALLS: Table[ToolCallStatus, ToolCallSignal, ToolCallMove] = Table(
    {
        (St.PREPARING, Si.ALLOW): (St.RUNNING, (Mo.ANNOUNCE, Mo.STARTED, Mo.RUN)),
        (St.PREPARING, Si.ASK): (St.WAITING, (Mo.ANNOUNCE, Mo.ASK_USER)),
        (St.PREPARING, Si.DENY): (St.REJECTED, (Mo.ANNOUNCE, Mo.REJECTED)),
        (St.PREPARING, Si.FAIL): (St.CALLED, (Mo.ANNOUNCE, Mo.CALLED)),
        (St.PREPARING, Si.STOP): (St.REJECTED, (Mo.REJECTED,)),
        (St.WAITING, Si.APPROVE): (St.RUNNING, (Mo.STARTED, Mo.RUN)),
        (St.WAITING, Si.REJECT): (St.REJECTED, (Mo.REJECTED,)),
        (St.WAITING, Si.STOP): (St.REJECTED, (Mo.REJECTED,)),
        (St.RUNNING, Si.FINISH): (St.CALLED, (Mo.CALLED,)),
        (St.RUNNING, Si.STOP): (St.STOPPING, (Mo.CANCEL,)),
        (St.STOPPING, Si.FINISH): (St.CALLED, (Mo.CALLED,)),
        (St.STOPPING, Si.STOP): (St.STOPPING, ()),
    }
)

TERMINAL = frozenset({St.CALLED, St.REJECTED})

AS_IT_IS: Final = Adjusted()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`tool` is None when nobody offers what the model named. `asks`: it will likely have to be approved. `started` is
    in milliseconds since the epoch; `adjusted` is what hooks make of it, `cause` what decided whether it may run,
    `signature` the vendor's own word about it."""

    id: str
    name: str
    tool: ToolSpec | None
    asks: bool = False
    status: ToolCallStatus = St.PREPARING
    arguments_text: str = ""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    started: int = 0
    details: ToolCallDetails | None = None
    adjusted: Adjusted = AS_IT_IS
    cause: Cause | None = None
    signature: str = ""

    @property
    def terminal(self) -> bool:
        return self.status in TERMINAL

    def about(self) -> dict[str, Any]:
        """The fields that all contents about it share."""
        tool = self.tool
        origin = tool.origin if tool else Origin.UNKNOWN
        # While a call is prepared its arguments are not known yet: a summary without them would say too little.
        known = self.arguments or self.status is not St.PREPARING
        summary = tool.summary.format_map(_Shown(self.arguments)).strip() if tool and known else None
        server = tool.server if tool else "eca"
        names = {"id": self.id, "name": self.name, "server": server, "origin": origin}
        return {**names, "summary": _one_line(summary or "") or None, "details": self.details}


def _one_line(text: str) -> str:
    """A command may have many lines. Where they end is told: `a` and `b` are not the command `a b`."""
    lines = [line.strip() for line in text.splitlines()]
    return text if len(lines) < 2 else " ↵ ".join(line for line in lines if line)


class _Shown(dict[str, Any]):
    """Arguments for a summary's `{name}`: a list is shown by its items, one that was not given as nothing."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value

    def __missing__(self, key: str) -> str:
        return ""


def parsed(text: str) -> dict[str, Any] | None:
    """Only what can be stored and sent again: no infinity, no half of a surrogate pair, no nesting without end."""
    try:
        value: Any = from_json(text or "{}", allow_inf_nan=False)
        json.dumps(value, allow_nan=False)  # 1e999 is infinite too
    except (ValueError, TypeError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
