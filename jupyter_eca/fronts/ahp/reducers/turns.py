"""Owns the reducers of turns: a turn starts, gets parts and text, and ends; later turns can be cut off. Pure.

`tool_call.py` owns the tool calls in a turn.
"""

from __future__ import annotations

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, set_flag, set_modified, update_activity
from jupyter_eca.fronts.ahp.reducers.tool_call import cancel_call


def start(state: Json, action: Json, now: int) -> Json:
    """Start a turn. If its message was queued, remove it from the queue."""
    turn = omit_none(id=action.get("turnId"), userMessage=action.get("userMessage"), responseParts=[])
    state = replace_fields(state, activeTurn=turn)
    if queued := action.get("queuedMessageId"):
        steering = state.get("steeringMessage")
        if steering and steering.get("id") == queued:
            state = replace_fields(state, steeringMessage=None)
        if state.get("queuedMessages"):
            remaining = [
                queued_message
                for queued_message in get_list(state, "queuedMessages")
                if queued_message.get("id") != queued
            ]
            state = replace_fields(state, queuedMessages=remaining or None)
    return set_modified(set_flag(update_activity(state), SessionStatus.IS_READ, on=False), now)


def find_active(state: Json, action: Json) -> Json | None:
    """Return the active turn if the action is about it."""
    turn = state.get("activeTurn")
    return turn if turn and turn.get("id") == action.get("turnId") else None


def add_part(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    turn = find_active(state, action)
    if turn is None:
        return state
    return replace_fields(
        state, activeTurn=replace_fields(turn, responseParts=[*get_list(turn, "responseParts"), action.get("part")])
    )


def append_text(kind: str, state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Append text to the first part with the id of the action, if the part is of this kind."""
    turn = find_active(state, action)
    if turn is None:
        return state
    parts = get_list(turn, "responseParts")
    wanted = action.get("partId")
    at = next((i for i, part in enumerate(parts) if _id(part) == wanted), None)
    if at is None or parts[at].get("kind") != kind:
        return state
    grown = replace_fields(parts[at], content=(parts[at].get("content") or "") + (action.get("content") or ""))
    return replace_fields(state, activeTurn=replace_fields(turn, responseParts=[*parts[:at], grown, *parts[at + 1 :]]))


def _id(part: Json) -> object:
    """Return the id of a part. A part without an id is its own id, so that no other part matches it."""
    if part.get("kind") == "toolCall":
        return get_object(part, "toolCall").get("toolCallId")
    return part.get("id", part)


def set_usage(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    turn = find_active(state, action)
    return state if turn is None else replace_fields(state, activeTurn=replace_fields(turn, usage=action.get("usage")))


def end(outcome: str, state: Json, action: Json, now: int) -> Json:
    """End the active turn. Its tool calls that have not ended are cancelled."""
    turn = find_active(state, action)
    if turn is None:
        return state
    ended = omit_none(
        id=turn.get("id"),
        userMessage=turn.get("userMessage"),
        responseParts=[_close_part(part) for part in get_list(turn, "responseParts")],
        usage=turn.get("usage"),
        state=outcome,
        error=action.get("error") if outcome == "error" else None,
    )
    state = replace_fields(state, turns=[*get_list(state, "turns"), ended], activeTurn=None, inputRequests=None)
    return update_activity(set_modified(state, now), SessionStatus.ERROR if outcome == "error" else None)


def _close_part(part: Json) -> Json:
    call = part.get("toolCall")
    return replace_fields(part, toolCall=cancel_call(call)) if part.get("kind") == "toolCall" and call else part


def truncate(state: Json, action: Json, now: int) -> Json:
    """Remove all turns after the turn of the action, or all turns if the action names none."""
    turns, wanted = get_list(state, "turns"), action.get("turnId")
    count = 0
    if wanted is not None:
        count = next((i + 1 for i, turn in enumerate(turns) if turn.get("id") == wanted), 0)
        if not count:
            return state
    state = replace_fields(state, turns=turns[:count], activeTurn=None, inputRequests=None)
    return update_activity(set_modified(state, now))
