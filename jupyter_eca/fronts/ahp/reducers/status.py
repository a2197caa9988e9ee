"""Owns the status of a session, which is one number. Its lower five bits are the activity: exactly one of idle, error,
in progress, input needed. The higher bits are independent flags. Pure. The reducers of this folder use it.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, replace_fields


class SessionStatus(IntFlag):
    """The values of the activity, and the flags, as the protocol numbers them."""

    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24  # 8 + 16: a session that needs input is also in progress
    IS_READ = 32
    IS_ARCHIVED = 64


# The bits of the activity: the lower five.
ACTIVITY: Final = 31

# The statuses in which a tool call waits for a user.
WAITING_STATUSES: Final = frozenset({"pending-confirmation", "pending-result-confirmation"})


def list_calls(turn: Json) -> list[Json]:
    """Return the tool calls of a turn."""
    parts = get_list(turn, "responseParts")
    return [part["toolCall"] for part in parts if part.get("kind") == "toolCall" and part.get("toolCall")]


def update_activity(state: Json, activity: SessionStatus | None = None) -> Json:
    """Return the state with another activity, and with the same flags. Without `activity`, it follows from the active
    turn and the open questions."""
    turn = state.get("activeTurn")
    if activity is None:
        if state.get("inputRequests") or (
            turn and any(call.get("status") in WAITING_STATUSES for call in list_calls(turn))
        ):
            activity = SessionStatus.INPUT_NEEDED
        else:
            activity = SessionStatus.IN_PROGRESS if turn else SessionStatus.IDLE
    before = int(state["summary"].get("status") or 0)
    return replace_fields(state, summary=replace_fields(state["summary"], status=int(before & ~ACTIVITY | activity)))


def set_modified(state: Json, now: int, **fields: object) -> Json:
    """Return the state with `now` as the time of its last change, and with these other fields of the summary."""
    return replace_fields(state, summary=replace_fields(state["summary"], modifiedAt=now, **fields))


def set_flag(state: Json, flag: SessionStatus, *, on: bool) -> Json:
    """Return the state with a flag of the status set (`on`) or removed."""
    before = int(state["summary"].get("status") or 0)
    return replace_fields(
        state, summary=replace_fields(state["summary"], status=int(before | flag if on else before & ~flag))
    )
