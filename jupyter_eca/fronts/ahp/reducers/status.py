"""The status of a session: one activity in the lower bits, independent flags above."""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from jupyter_eca.fronts.ahp.reducers.base import Json, items, put


class SessionStatus(IntFlag):
    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24
    IS_READ = 32
    IS_ARCHIVED = 64


ACTIVITY: Final = 31

# A call in one of these waits for a user.
WAITING: Final = frozenset({"pending-confirmation", "pending-result-confirmation"})


def calls(turn: Json) -> list[Json]:
    parts = items(turn, "responseParts")
    return [part["toolCall"] for part in parts if part.get("kind") == "toolCall" and part.get("toolCall")]


def settled(state: Json, activity: SessionStatus | None = None) -> Json:
    """With the status that its content means; `activity` is one that the content does not tell."""
    turn = state.get("activeTurn")
    if activity is None:
        if state.get("inputRequests") or (turn and any(call.get("status") in WAITING for call in calls(turn))):
            activity = SessionStatus.INPUT_NEEDED
        else:
            activity = SessionStatus.IN_PROGRESS if turn else SessionStatus.IDLE
    before = int(state["summary"].get("status") or 0)
    return put(state, summary=put(state["summary"], status=int(before & ~ACTIVITY | activity)))


def touched(state: Json, now: int, **fields: object) -> Json:
    return put(state, summary=put(state["summary"], modifiedAt=now, **fields))


def flagged(state: Json, flag: SessionStatus, *, on: bool) -> Json:
    before = int(state["summary"].get("status") or 0)
    return put(state, summary=put(state["summary"], status=int(before | flag if on else before & ~flag)))
