"""`ToolCall`, and the life of one as the table `TOOL_CALLS`.

The table must not know what a move does: `tool_calls` carries the moves out. Whether a call may run is decided in
`approval/policy`. The life of a turn is in `turn`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json

from jupyter_eca.engine.approval.policy import Adjusted
from jupyter_eca.engine.approval.shell_parser import only_reads
from jupyter_eca.engine.model.request import Remembers
from jupyter_eca.engine.table import Table
from jupyter_eca.protocol.content import FileChangeDetails, Origin

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import Cause, ToolCallDetails


class ToolCallStatus(StrEnum):
    """Where a call stands. Each is explained above the table."""

    PREPARING = "preparing"
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    CALLED = "called"
    REJECTED = "rejected"


class ToolCallSignal(StrEnum):
    """What can happen to a call."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
    FAIL = "fail"
    APPROVE = "approve"
    REJECT = "reject"
    START = "start"
    SKIP = "skip"
    FINISH = "finish"
    STOP = "stop"


class ToolCallMove(StrEnum):
    """What follows from a signal: contents that are shown (`announce`, `queue`, `started`, `called`, `rejected`) and
    effects."""

    ANNOUNCE = "announce"
    QUEUE = "queue"
    STARTED = "started"
    RUN = "run"
    ASK_USER = "ask user"
    CANCEL = "cancel"
    CALLED = "called"
    REJECTED = "rejected"


St, Si, Mo = ToolCallStatus, ToolCallSignal, ToolCallMove

# preparing   the model is still writing the arguments
# waiting     announced; somebody must approve or reject it
# queued      allowed or approved; it runs as soon as the calls before it let it
# running     the tool is at work
# stopping    asked to end; what it did until then may stand
# called      ended, with a result or an error (terminal, one `toolCalled`)
# rejected    did not run (terminal, one `toolCallRejected`)
#
# `fail` is a call that cannot be tried at all: a tool nobody offers, arguments that are no JSON. `start` and `skip`
# come from the order of the calls, see `call_order`: nothing before it is in the way, or a change before it came to
# nothing. A terminal status has no rows: a second approve, or one after a stop, is an illegal signal and changes
# nothing.
TOOL_CALLS: Table[ToolCallStatus, ToolCallSignal, ToolCallMove] = Table(
    {
        (St.PREPARING, Si.ALLOW): (St.QUEUED, (Mo.ANNOUNCE,)),
        (St.PREPARING, Si.ASK): (St.WAITING, (Mo.ANNOUNCE, Mo.ASK_USER)),
        (St.PREPARING, Si.DENY): (St.REJECTED, (Mo.ANNOUNCE, Mo.REJECTED)),
        (St.PREPARING, Si.FAIL): (St.CALLED, (Mo.ANNOUNCE, Mo.CALLED)),
        (St.PREPARING, Si.STOP): (St.REJECTED, (Mo.REJECTED,)),
        (St.WAITING, Si.APPROVE): (St.QUEUED, (Mo.QUEUE,)),
        (St.WAITING, Si.REJECT): (St.REJECTED, (Mo.REJECTED,)),
        (St.WAITING, Si.SKIP): (St.REJECTED, (Mo.REJECTED,)),
        (St.WAITING, Si.STOP): (St.REJECTED, (Mo.REJECTED,)),
        (St.QUEUED, Si.START): (St.RUNNING, (Mo.STARTED, Mo.RUN)),
        (St.QUEUED, Si.SKIP): (St.REJECTED, (Mo.REJECTED,)),
        (St.QUEUED, Si.STOP): (St.REJECTED, (Mo.REJECTED,)),
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
    """One tool call of the reply under way."""

    id: str
    """Unique in the chat."""
    name: str
    """What the model named."""
    tool: ToolSpec | None
    """The tool of that name; None when nobody offers one."""
    asks: bool = False
    """Whether it will likely have to be approved."""
    status: ToolCallStatus = St.PREPARING
    """Where it stands."""
    arguments_text: str = ""
    """The arguments as the model writes them, JSON in pieces."""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """The arguments, once all of them are written."""
    started: int = 0
    """When it began to run, in milliseconds since the epoch; 0 before that."""
    details: ToolCallDetails | None = None
    """What it would do or has done, for the reader."""
    adjusted: Adjusted = AS_IT_IS
    """What hooks make of it."""
    targets: CallTargets | None = None
    """What it names, as it was found on the disk; None for what its text says."""
    cause: Cause | None = None
    """What decided whether it may run."""
    signature: str = ""
    """What the vendor wants back with the call, word for word."""
    error: bool = False
    """Whether it ended with an error."""

    @property
    def terminal(self) -> bool:
        """Whether it has ended."""
        return self.status in TERMINAL

    @property
    def failed(self) -> bool:
        """Whether it has ended without doing what it was for."""
        return self.error or self.status is St.REJECTED

    @property
    def reads(self) -> bool:
        """Whether it changes nothing. Of a tool that nobody offers that is not known. A command line of programs that
        only read changes nothing either, so `grep` with its exit code 1 for "nothing found" stops no call."""
        if self.tool is None or self.tool.is_read_only:
            return self.tool is not None
        if self.arguments.get("agent") in self.tool.reading_agents:
            return True
        command = self.arguments.get("command") if self.tool.remembers is Remembers.COMMANDS else None
        return isinstance(command, str) and only_reads(command)

    @property
    def loads(self) -> str:
        """What a page would load from elsewhere as soon as it shows what the call changes; "" for nothing."""
        if isinstance(self.details, FileChangeDetails) and not self.reads:
            return self.details.loads or ""
        return ""

    def common_fields(self) -> dict[str, Any]:
        """Return the fields that all contents about the call share."""
        tool = self.tool
        origin = tool.origin if tool else Origin.UNKNOWN
        # While a call is prepared its arguments are not known yet: a summary without them would say too little.
        known = self.arguments or self.status is not St.PREPARING
        summary = tool.summary.format_map(_SummaryArguments(self.arguments)).strip() if tool and known else None
        server = tool.server if tool else "eca"
        names = {"id": self.id, "name": self.name, "server": server, "origin": origin}
        return {**names, "summary": _join_lines(summary or "") or None, "details": self.details}


def _join_lines(text: str) -> str:
    """Join the lines of a command visibly: `a` and `b` on two lines are not the command `a b`."""
    lines = [line.strip() for line in text.splitlines()]
    return text if len(lines) < 2 else " ↵ ".join(line for line in lines if line)


class _SummaryArguments(dict[str, Any]):
    """Arguments for a summary's `{name}`. A list is shown by its items, and one that is missing as nothing."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value

    def __missing__(self, key: str) -> str:
        return ""


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments, or None for a text that is no JSON object, or one that cannot be stored and sent again."""
    try:
        value: Any = from_json(text or "{}", allow_inf_nan=False)
        json.dumps(value, allow_nan=False)  # 1e999 is infinite too
    except (ValueError, TypeError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
