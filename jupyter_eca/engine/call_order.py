"""In which order the calls of one answer run. Pure.

A model that writes "edit the cell" and then "run the cell" in one answer means this order. So a call that changes
something runs when all calls before it have ended, and a call that only reads runs when all changes before it have
ended. Reads without a change between them run side by side. When a change fails or is rejected, no call behind it runs:
it was written for a state that is not there. A failed read stops nothing.

| calls of the answer | what happens |
|---|---|
| read, read | both run at once |
| edit (undecided), run (allowed) | `run` waits until the user has decided about `edit` and it has ended |
| edit (rejected), run, read | `run` and `read` do not run; the model is told why |
| read (failed), edit | `edit` runs |

A call of `spawn_agent` is a read when the agent only reads: such subagents of one answer work side by side. An agent
that can change things counts as a change, and so does a tool of an MCP server, whatever its server says of it.

It must not know how a call is started or skipped: `tool_calls` does that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.tool_call import ToolCall


def find_blocker(calls: Sequence[ToolCall], call: ToolCall) -> ToolCall | None:
    """Return the last call before this one that must end before it can run; None when there is none."""
    before = reversed(calls[: _find_index(calls, call)])
    return next((other for other in before if not other.terminal and not (other.reads and call.reads)), None)


def is_pointless(calls: Sequence[ToolCall], call: ToolCall) -> bool:
    """Return whether a change before it failed or was rejected."""
    return any(other.failed and not other.reads for other in calls[: _find_index(calls, call)])


def _find_index(calls: Sequence[ToolCall], call: ToolCall) -> int:
    return next(index for index, other in enumerate(calls) if other.id == call.id)
