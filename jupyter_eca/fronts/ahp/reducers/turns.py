"""Turns: begun, streamed into, ended, cut away."""

from __future__ import annotations

from jupyter_eca.fronts.ahp.reducers.base import Json, items, present, put, record
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, flagged, settled, touched
from jupyter_eca.fronts.ahp.reducers.toolcall import cancelled


def started(state: Json, action: Json, now: int) -> Json:
    turn = present(id=action.get("turnId"), userMessage=action.get("userMessage"), responseParts=[])
    state = put(state, activeTurn=turn)
    if queued := action.get("queuedMessageId"):
        steering = state.get("steeringMessage")
        if steering and steering.get("id") == queued:
            state = put(state, steeringMessage=None)
        if state.get("queuedMessages"):
            left = [one for one in items(state, "queuedMessages") if one.get("id") != queued]
            state = put(state, queuedMessages=left or None)
    return touched(flagged(settled(state), SessionStatus.IS_READ, on=False), now)


def active(state: Json, action: Json) -> Json | None:
    """The turn under way, when it is the one that the action is about."""
    turn = state.get("activeTurn")
    return turn if turn and turn.get("id") == action.get("turnId") else None


def part_added(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    turn = active(state, action)
    if turn is None:
        return state
    return put(state, activeTurn=put(turn, responseParts=[*items(turn, "responseParts"), action.get("part")]))


def appended(kind: str, state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Only the first part of that id is looked at, and only if it is of that kind."""
    turn = active(state, action)
    if turn is None:
        return state
    parts = items(turn, "responseParts")
    wanted = action.get("partId")
    at = next((i for i, part in enumerate(parts) if _id(part) == wanted), None)
    if at is None or parts[at].get("kind") != kind:
        return state
    grown = put(parts[at], content=(parts[at].get("content") or "") + (action.get("content") or ""))
    return put(state, activeTurn=put(turn, responseParts=[*parts[:at], grown, *parts[at + 1 :]]))


def _id(part: Json) -> object:
    if part.get("kind") == "toolCall":
        return record(part, "toolCall").get("toolCallId")
    return part.get("id", part)


def usage(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    turn = active(state, action)
    return state if turn is None else put(state, activeTurn=put(turn, usage=action.get("usage")))


def ended(how: str, state: Json, action: Json, now: int) -> Json:
    """What is still open of the turn is skipped."""
    turn = active(state, action)
    if turn is None:
        return state
    done = present(
        id=turn.get("id"),
        userMessage=turn.get("userMessage"),
        responseParts=[_closed(part) for part in items(turn, "responseParts")],
        usage=turn.get("usage"),
        state=how,
        error=action.get("error") if how == "error" else None,
    )
    state = put(state, turns=[*items(state, "turns"), done], activeTurn=None, inputRequests=None)
    return settled(touched(state, now), SessionStatus.ERROR if how == "error" else None)


def _closed(part: Json) -> Json:
    call = part.get("toolCall")
    return put(part, toolCall=cancelled(call)) if part.get("kind") == "toolCall" and call else part


def truncated(state: Json, action: Json, now: int) -> Json:
    turns, wanted = items(state, "turns"), action.get("turnId")
    kept = 0
    if wanted is not None:
        kept = next((i + 1 for i, turn in enumerate(turns) if turn.get("id") == wanted), 0)
        if not kept:
            return state
    state = put(state, turns=turns[:kept], activeTurn=None, inputRequests=None)
    return settled(touched(state, now))
