"""Owns what waits in a session: messages for later, and questions to the user. Pure."""

from __future__ import annotations

from jupyter_eca.fronts.ahp.reducers.base import Json, items, omit_none, put, record
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, set_flag, set_modified, update_activity


def set_message(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    message = omit_none(id=action.get("id"), userMessage=action.get("userMessage"))
    if action.get("kind") == "steering":
        return put(state, steeringMessage=message)
    queue = items(state, "queuedMessages")
    if any(one.get("id") == message.get("id") for one in queue):
        queue = [message if one.get("id") == message.get("id") else one for one in queue]
    else:
        queue = [*queue, message]
    return put(state, queuedMessages=queue)


def remove_message(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    if action.get("kind") == "steering":
        steering = record(state, "steeringMessage")
        return put(state, steeringMessage=None) if steering.get("id") == action.get("id") else state
    queue = items(state, "queuedMessages")
    left = [one for one in queue if one.get("id") != action.get("id")]
    return state if len(left) == len(queue) else put(state, queuedMessages=left or None)


def reorder_messages(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    queue = items(state, "queuedMessages")
    if not queue:
        return state
    by_id = {one.get("id"): one for one in queue}
    first = [id for id in dict.fromkeys(action.get("order") or ()) if id in by_id]
    rest = [one for one in queue if one.get("id") not in first]
    return put(state, queuedMessages=[*(by_id[id] for id in first), *rest])


def add_request(state: Json, action: Json, now: int) -> Json:
    """Add a question. One that is asked again keeps its answers, unless it brings some."""
    request, open_ones = record(action, "request"), items(state, "inputRequests")
    old = next((one for one in open_ones if one.get("id") == request.get("id")), None)
    if old is None:
        open_ones = [*open_ones, request]
    else:
        new = put(request, answers=request.get("answers") or old.get("answers"))
        open_ones = [new if one is old else one for one in open_ones]
    state = update_activity(put(state, inputRequests=open_ones))
    return set_modified(set_flag(state, SessionStatus.IS_READ, on=False), now)


def set_answer(state: Json, action: Json, now: int) -> Json:
    open_ones = items(state, "inputRequests")
    asked = next((one for one in open_ones if one.get("id") == action.get("requestId")), None)
    if asked is None:
        return state
    answers = {name: one for name, one in record(asked, "answers").items() if name != action.get("questionId")}
    if action.get("answer") is not None:
        answers[str(action.get("questionId"))] = action["answer"]
    changed = put(asked, answers=answers or None)
    return set_modified(put(state, inputRequests=[changed if one is asked else one for one in open_ones]), now)


def remove_request(state: Json, action: Json, now: int) -> Json:
    open_ones = items(state, "inputRequests")
    left = [one for one in open_ones if one.get("id") != action.get("requestId")]
    if len(left) == len(open_ones):
        return state
    return set_modified(update_activity(put(state, inputRequests=left or None)), now)
