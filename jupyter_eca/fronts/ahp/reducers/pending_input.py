"""Owns the reducers of what waits in a session. Pure.

- A queued message becomes the next turn.
- The steering message is read by the model in the turn that runs now. There is at most one.
- An input request contains questions to the user.

Each function takes the state of the session, an action, and the time in milliseconds, and returns the state after the
action.
"""

from __future__ import annotations

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, set_flag, set_modified, update_activity


def set_message(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Set the steering message, or add or replace a queued message."""
    message = omit_none(id=action.get("id"), userMessage=action.get("userMessage"))
    if action.get("kind") == "steering":
        return replace_fields(state, steeringMessage=message)
    queue = get_list(state, "queuedMessages")
    if any(queued.get("id") == message.get("id") for queued in queue):
        queue = [message if queued.get("id") == message.get("id") else queued for queued in queue]
    else:
        queue = [*queue, message]
    return replace_fields(state, queuedMessages=queue)


def remove_message(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Remove the steering message, or a queued message, if it has the id of the action."""
    if action.get("kind") == "steering":
        steering = get_object(state, "steeringMessage")
        return replace_fields(state, steeringMessage=None) if steering.get("id") == action.get("id") else state
    queue = get_list(state, "queuedMessages")
    remaining = [queued for queued in queue if queued.get("id") != action.get("id")]
    return state if len(remaining) == len(queue) else replace_fields(state, queuedMessages=remaining or None)


def reorder_messages(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Put the queued messages into the order of the ids in the action. Messages whose ids are not in the action come
    last."""
    queue = get_list(state, "queuedMessages")
    if not queue:
        return state
    by_id = {queued.get("id"): queued for queued in queue}
    first = [id for id in dict.fromkeys(action.get("order") or ()) if id in by_id]
    rest = [queued for queued in queue if queued.get("id") not in first]
    return replace_fields(state, queuedMessages=[*(by_id[id] for id in first), *rest])


def add_request(state: Json, action: Json, now: int) -> Json:
    """Add an input request. If a request with this id exists, it is replaced. Its answers are kept, unless the new
    request has answers."""
    request, requests = get_object(action, "request"), get_list(state, "inputRequests")
    old = next((known for known in requests if known.get("id") == request.get("id")), None)
    if old is None:
        requests = [*requests, request]
    else:
        new = replace_fields(request, answers=request.get("answers") or old.get("answers"))
        requests = [new if known is old else known for known in requests]
    state = update_activity(replace_fields(state, inputRequests=requests))
    return set_modified(set_flag(state, SessionStatus.IS_READ, on=False), now)


def set_answer(state: Json, action: Json, now: int) -> Json:
    """Set or remove the draft of an answer to one question of an input request."""
    requests = get_list(state, "inputRequests")
    request = next((known for known in requests if known.get("id") == action.get("requestId")), None)
    if request is None:
        return state
    answers = {
        name: answer for name, answer in get_object(request, "answers").items() if name != action.get("questionId")
    }
    if action.get("answer") is not None:
        answers[str(action.get("questionId"))] = action["answer"]
    changed = replace_fields(request, answers=answers or None)
    return set_modified(
        replace_fields(state, inputRequests=[changed if known is request else known for known in requests]),
        now,
    )


def remove_request(state: Json, action: Json, now: int) -> Json:
    """Remove an input request that was answered or withdrawn."""
    requests = get_list(state, "inputRequests")
    remaining = [request for request in requests if request.get("id") != action.get("requestId")]
    if len(remaining) == len(requests):
        return state
    return set_modified(update_activity(replace_fields(state, inputRequests=remaining or None)), now)
