"""Owns the reducers of turns. A turn is one message of the user and the answer to it. It starts, gets parts and text,
and ends. A client can also remove the last turns of a session. Pure.

Each function takes the state of the session, an action, and the time in milliseconds, and returns the state after the
action. An action of a turn that is not active changes nothing. `tool_call.py` owns the tool calls in a turn.
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
    """Return the active turn if the action is about this turn, else None."""
    turn = state.get("activeTurn")
    return turn if turn and turn.get("id") == action.get("turnId") else None


def add_part(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Add a part to the answer: for example an empty text, or an image."""
    turn = find_active(state, action)
    if turn is None:
        return state
    return replace_fields(
        state, activeTurn=replace_fields(turn, responseParts=[*get_list(turn, "responseParts"), action.get("part")])
    )


def append_text(kind: str, state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Append text to the first part with the id of the action, if the part is of this kind (`markdown` or
    `reasoning`)."""
    turn = find_active(state, action)
    if turn is None:
        return state
    parts = get_list(turn, "responseParts")
    wanted = action.get("partId")
    index = next((index for index, part in enumerate(parts) if _find_id(part) == wanted), None)
    if index is None or parts[index].get("kind") != kind:
        return state
    part = parts[index]
    longer = replace_fields(part, content=(part.get("content") or "") + (action.get("content") or ""))
    new_parts = [*parts[:index], longer, *parts[index + 1 :]]
    return replace_fields(state, activeTurn=replace_fields(turn, responseParts=new_parts))


def _find_id(part: Json) -> object:
    """Return the id of a part. For a part without an id, return the part itself, because it is different from every
    id."""
    if part.get("kind") == "toolCall":
        return get_object(part, "toolCall").get("toolCallId")
    return part.get("id", part)


def set_usage(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Set the numbers of tokens that the turn has used."""
    turn = find_active(state, action)
    return state if turn is None else replace_fields(state, activeTurn=replace_fields(turn, usage=action.get("usage")))


def end(outcome: str, state: Json, action: Json, now: int) -> Json:
    """End the active turn. Its tool calls that have not ended are cancelled. `outcome` is `complete`, `cancelled` or
    `error`."""
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
    """Return a part as it is after its turn has ended."""
    call = part.get("toolCall")
    return replace_fields(part, toolCall=cancel_call(call)) if part.get("kind") == "toolCall" and call else part


def truncate(state: Json, action: Json, now: int) -> Json:
    """Remove all turns after the turn of the action, or all turns if the action names none."""
    turns, wanted = get_list(state, "turns"), action.get("turnId")
    count = 0
    if wanted is not None:
        count = next((number for number, turn in enumerate(turns, 1) if turn.get("id") == wanted), 0)
        if not count:
            return state  # there is no such turn
    state = replace_fields(state, turns=turns[:count], activeTurn=None, inputRequests=None)
    return update_activity(set_modified(state, now))
