"""Owns `ToolCall`, one tool call of a reply, and `TOOL_CALLS`, the table that says what such a call can do next.

The table must not know what a move does: its neighbour `tool_calls` carries the moves out. Whether a call may run is
decided in `approval/policy`. The table for a whole turn is in `turn`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic_core import from_json

from jupyter_eca.engine.approval.policy import CallAdjustment
from jupyter_eca.engine.approval.shell_parser import certainly_changes_nothing
from jupyter_eca.engine.model.request import ApprovalCoverage
from jupyter_eca.engine.table import Table
from jupyter_eca.protocol.changes import ReviewTime
from jupyter_eca.protocol.content import FileChangeDetails, Origin, SandboxState, ShellCommandDetails

if TYPE_CHECKING:
    from jupyter_eca.engine.approval.call_targets import CallTargets
    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import Cause, ToolCallDetails
    from jupyter_eca.protocol.event import Person


class ToolCallStatus(StrEnum):
    """What a call is waiting for, or how it has ended. The comment above the table explains each status."""

    PREPARING = "preparing"
    WAITING = "waiting"
    QUEUED = "queued"
    RUNNING = "running"
    STOPPING = "stopping"
    CALLED = "called"
    REJECTED = "rejected"


class ToolCallSignal(StrEnum):
    """What can happen to a call. The comment above the table explains each signal."""

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
    """The work that follows from a signal. The comment above the table explains each move."""

    ANNOUNCE = "announce"
    QUEUE = "queue"
    STARTED = "started"
    RUN = "run"
    ASK_USER = "ask user"
    CANCEL = "cancel"
    CALLED = "called"
    REJECTED = "rejected"


# Short names for the table.
Status, Signal, Move = ToolCallStatus, ToolCallSignal, ToolCallMove

# The statuses:
# preparing   the model is still writing the arguments
# waiting     the call is shown to the user, who must approve or reject it
# queued      the call is allowed or approved; it runs as soon as no earlier call is in its way (see `call_order`)
# running     the tool is running
# stopping    the tool was told to end, but has not ended yet; what it has done so far may remain
# called      the call has ended with a result or an error (terminal, exactly one content `toolCalled`)
# rejected    the call did not run (terminal, exactly one content `toolCallRejected`)
#
# The signals:
# allow, ask, deny    the decision of the approval rules about the call; until it runs, changed rules may ask or deny
# fail                the call cannot be tried: there is no such tool, or its arguments are not valid JSON
# approve, reject     the answer of the user
# start               no earlier call is in the way
# skip                an earlier change has failed or was rejected, so this call must not run
# finish              the tool has ended
# stop                the turn is stopped
#
# The moves:
# announce             show the call with its complete arguments
# queue                show for which earlier call this call waits, if there is one
# started              show that the tool is running
# run, ask user, cancel    add the effect `RunTool`, `AskUser` or `CancelTool`
# called               no work: the function that gives the signal shows the result
# rejected             show that the call did not run, and why
#
# A terminal status has no rows. So a second approval, or an approval after a stop, is an illegal signal and changes
# nothing.
TOOL_CALLS: Table[ToolCallStatus, ToolCallSignal, ToolCallMove] = Table(
    {
        (Status.PREPARING, Signal.ALLOW): (Status.QUEUED, (Move.ANNOUNCE,)),
        (Status.PREPARING, Signal.ASK): (Status.WAITING, (Move.ANNOUNCE, Move.ASK_USER)),
        (Status.PREPARING, Signal.DENY): (Status.REJECTED, (Move.ANNOUNCE, Move.REJECTED)),
        (Status.PREPARING, Signal.FAIL): (Status.CALLED, (Move.ANNOUNCE, Move.CALLED)),
        (Status.PREPARING, Signal.STOP): (Status.REJECTED, (Move.REJECTED,)),
        (Status.WAITING, Signal.APPROVE): (Status.QUEUED, (Move.QUEUE,)),
        (Status.WAITING, Signal.REJECT): (Status.REJECTED, (Move.REJECTED,)),
        (Status.WAITING, Signal.DENY): (Status.REJECTED, (Move.REJECTED,)),
        (Status.WAITING, Signal.SKIP): (Status.REJECTED, (Move.REJECTED,)),
        (Status.WAITING, Signal.STOP): (Status.REJECTED, (Move.REJECTED,)),
        (Status.QUEUED, Signal.START): (Status.RUNNING, (Move.STARTED, Move.RUN)),
        (Status.QUEUED, Signal.ASK): (Status.WAITING, (Move.ANNOUNCE, Move.ASK_USER)),
        (Status.QUEUED, Signal.DENY): (Status.REJECTED, (Move.REJECTED,)),
        (Status.QUEUED, Signal.SKIP): (Status.REJECTED, (Move.REJECTED,)),
        (Status.QUEUED, Signal.STOP): (Status.REJECTED, (Move.REJECTED,)),
        (Status.RUNNING, Signal.FINISH): (Status.CALLED, (Move.CALLED,)),
        (Status.RUNNING, Signal.STOP): (Status.STOPPING, (Move.CANCEL,)),
        (Status.STOPPING, Signal.FINISH): (Status.CALLED, (Move.CALLED,)),
        (Status.STOPPING, Signal.STOP): (Status.STOPPING, ()),
    }
)

# The statuses of a call that has ended.
TERMINAL = frozenset({Status.CALLED, Status.REJECTED})

# For a call that no hook has changed.
NO_ADJUSTMENT: Final = CallAdjustment()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One tool call of the reply under way."""

    id: str
    """The id of the call. No other call of the chat has the same id."""
    name: str
    """The name of the tool, as the model wrote it."""
    tool: ToolSpec | None
    """The tool of that name; None when there is no such tool."""
    will_likely_ask: bool = False
    """Whether the user will probably be asked to approve the call. This is computed before the arguments are known."""
    status: ToolCallStatus = Status.PREPARING
    """The status, see `TOOL_CALLS`."""
    arguments_text: str = ""
    """The JSON of the arguments that has arrived so far."""
    arguments: dict[str, Any] = field(default_factory=dict[str, Any])
    """The arguments; empty until all of them have arrived."""
    started_at: int = 0
    """When the call began to run, in milliseconds since the epoch; 0 before that."""
    details: ToolCallDetails | None = None
    """What the call would do or has done, for the user."""
    adjustment: CallAdjustment = NO_ADJUSTMENT
    """How hooks have changed the call, and whether its preview has found that it cannot succeed."""
    targets: CallTargets | None = None
    """The files that the call names, as they were found on the disk; None to use the paths as they are written."""
    cause: Cause | None = None
    """The rule or the approval that decided whether the call may run."""
    review: ReviewTime = ReviewTime.BEFORE
    """When the user reviews what the call changes."""
    unseen_path: str = ""
    """A path that was changed without approval and that nobody has reviewed yet; "" for none. See `ModelFinished`."""
    approved: bool = False
    """Whether the user has approved exactly this call. False if it runs because of a rule, or because of the approval
    of another call."""
    by: Person | None = None
    """Who has approved or rejected the call, if that is known."""
    signature: str = ""
    """The vendor's proof that its model has written the call. It is sent back with the call, unchanged. Empty for
    none."""
    error: bool = False
    """Whether the call has ended with an error."""
    outside: bool = False
    """Whether an outside agent makes the call. Such an agent knows how its earlier calls have ended, and runs several
    at once, so no call waits for another one."""

    @property
    def has_ended(self) -> bool:
        """Whether the call has ended."""
        return self.status in TERMINAL

    @property
    def ended_incomplete(self) -> bool:
        """Whether the call has ended and not done all that the model wanted: it has ended with an error, it was
        rejected, or the user approved only a part of it."""
        return self.error or self.status is Status.REJECTED or self.is_narrowed

    @property
    def is_narrowed(self) -> bool:
        """Whether the user has approved only a part of the change."""
        return isinstance(self.details, FileChangeDetails) and bool(self.details.left_out)

    @property
    def is_read_only(self) -> bool:
        """Whether it is certain that the call changes nothing. It is not certain if there is no such tool.

        A shell command also counts as a read if all programs in it only read files. An example is `grep`. Its exit code
        is 1 when it finds nothing, which is an error of the call. Because it is a read, later calls still run.
        """
        if self.tool is None or self.tool.is_read_only:
            return self.tool is not None
        if self.arguments.get("agent") in self.tool.reading_agents:
            return True
        command = self.arguments.get("command") if self.tool.approval_covers is ApprovalCoverage.COMMANDS else None
        runs_program = self.targets is not None and bool(self.targets.git_program)
        return isinstance(command, str) and certainly_changes_nothing(command) and not runs_program

    @property
    def is_allowed_when_planning(self) -> bool:
        """Whether the call may run in plan mode: its tool changes nothing, as far as the tool's server says, or it
        gives a task to an agent that changes nothing. In contrast to `is_read_only`, a shell command
        never counts, whatever programs it runs."""
        tool = self.tool
        return tool is not None and (tool.read_only_hint or self.arguments.get("agent") in tool.reading_agents)

    @property
    def loads(self) -> str:
        """What a page would load from elsewhere as soon as it shows the cells that the call changes, in words; "" for
        nothing. An example is an image in a Markdown cell."""
        if isinstance(self.details, FileChangeDetails) and not self.is_read_only:
            return self.details.loads or ""
        return ""

    @property
    def is_sandboxed(self) -> bool:
        """Whether the command of the call runs in a sandbox that the user trusts."""
        return isinstance(self.details, ShellCommandDetails) and self.details.sandbox is SandboxState.TRUSTED

    @property
    def leaves_sandbox(self) -> bool:
        """Whether the model wants to run the command outside of the sandbox. An approval for the session does not hold
        for such a call, because the user may have given it for the same command inside the sandbox."""
        return isinstance(self.details, ShellCommandDetails) and self.details.sandbox is SandboxState.OUTSIDE

    def build_common_fields(self) -> dict[str, Any]:
        """Return the fields that all contents about the call have in common."""
        tool = self.tool
        origin = tool.origin if tool else Origin.UNKNOWN
        # No summary while the arguments are still arriving: without them it would say too little.
        is_complete = self.arguments or self.status is not Status.PREPARING
        summary = None
        if tool and is_complete:
            summary = tool.summary.format_map(_SummaryArguments(tool.rename_arguments(self.arguments))).strip()
        # A tool that changes several cells in one call: the summary says what happens to which cell.
        if summary and tool and tool.parts and isinstance(self.details, FileChangeDetails):
            summary = self.details.describe_cells()
        server = tool.server if tool else "eca"
        names = {"id": self.id, "name": self.name, "server": server, "origin": origin}
        return {**names, "summary": _join_lines(summary or "") or None, "details": self.details}


def _join_lines(text: str) -> str:
    """Join the lines of a command by a visible sign: `a` and `b` on two lines are two commands, and `a b` is one."""
    lines = [line.strip() for line in text.splitlines()]
    return text if len(lines) < 2 else " ↵ ".join(line for line in lines if line)


class _SummaryArguments(dict[str, Any]):
    """The arguments that fill the `{name}` places of a summary. A list is joined; a missing argument is left out."""

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        return ", ".join(map(str, cast("list[Any]", value))) if isinstance(value, list) else value

    def __missing__(self, key: str) -> str:
        return ""


def parse_arguments(text: str) -> dict[str, Any] | None:
    """Return the arguments. Return None if the text is no JSON object, or one that cannot be stored and sent again."""
    try:
        value: Any = from_json(text or "{}", allow_inf_nan=False)
        json.dumps(value, allow_nan=False)  # the parser turns 1e999 into infinity, which JSON cannot express
    except (ValueError, TypeError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None
