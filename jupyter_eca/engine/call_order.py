"""Decides in which order the tool calls of one reply run. Pure.

It must not know how a call is started or skipped: its neighbour `tool_calls` does that.

A model that writes "edit the cell" and then "run the cell" in one reply means this order. So a call that changes
something runs after all calls before it have ended, and a call that only reads runs after all changes before it have
ended. Reads without a change between them run in parallel. When a change fails or is rejected, no later call runs,
because the model wrote the later calls for a state that was never reached. A failed read stops no other call.

| calls of the reply | what happens |
|---|---|
| read, read | both run in parallel |
| edit (undecided), run (allowed) | `run` waits until the user has decided about `edit` and `edit` has ended |
| edit (rejected), run, read | `run` and `read` do not run; the model is told why |
| read (failed), edit | `edit` runs |

A call of `spawn_agent` is a read if the agent only reads: such subagents of one reply work in parallel. A subagent that
can change things counts as a change. So does each call of a tool of an MCP server, whatever its server claims.

An outside agent makes its calls one by one, and reads the result of each. So it decides about their order itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.tool_call import ToolCall


def find_blocker(calls: Sequence[ToolCall], call: ToolCall) -> ToolCall | None:
    """Return the last earlier call that must end before this call can run; None when no call is in the way."""
    if call.outside:
        return None
    before = reversed(calls[: _find_index(calls, call)])
    return next(
        (other for other in before if not other.has_ended and not (other.is_read_only and call.is_read_only)), None
    )


def follows_failed_change(calls: Sequence[ToolCall], call: ToolCall) -> bool:
    """Return whether an earlier call that changes something has not done all that the model wanted, see
    `ToolCall.ended_incomplete`."""
    return not call.outside and any(
        other.ended_incomplete and not other.is_read_only for other in calls[: _find_index(calls, call)]
    )


def _find_index(calls: Sequence[ToolCall], call: ToolCall) -> int:
    """Return the index of a call, which is found by its id."""
    return next(index for index, other in enumerate(calls) if other.id == call.id)
