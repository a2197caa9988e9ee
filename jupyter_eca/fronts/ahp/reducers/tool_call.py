"""Owns the reducer of a tool call in the active turn. Pure.

The table `CHANGES` has a function for each type of action. The statuses of a call follow each other like this:

    streaming (its arguments arrive) -> pending-confirmation (a user decides) -> running -> completed

A call that needs no user goes from `streaming` to `running`. If a user has to confirm the result too,
`pending-result-confirmation` comes before `completed`. A call that is denied, or whose turn ends, is `cancelled`. A
function ignores an action that does not fit the status of the call, and returns the same object. `turns.py` cancels the
calls of a turn that ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, omit_none, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import update_activity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# The fields that a call keeps in every status.
_COMMON_FIELDS: Final = ("toolCallId", "toolName", "displayName", "toolClientId", "_meta")
# The fields that a call has when its arguments are complete.
_ARGUMENT_FIELDS: Final = ("invocationMessage", "toolInput")

# The statuses in which a call has ended.
ENDED_STATUSES: Final = frozenset({"completed", "cancelled"})


def _pick(call: Json, *names: str) -> Json:
    """Return those of the named fields that are present."""
    return {name: call[name] for name in names if name in call}


def cancel_call(call: Json) -> Json:
    """Return a call as it is after its turn has ended: a call that has not ended is cancelled."""
    if call.get("status") in ENDED_STATUSES:
        return call
    params = {"invocationMessage": call.get("invocationMessage", "")}
    params |= {} if call.get("status") == "streaming" else _pick(call, "toolInput")
    return {"status": "cancelled", **_pick(call, *_COMMON_FIELDS), **params, "reason": "skipped"}


def reduce_tool_call(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001  # all reducers have the same signature
    """Return the state of the session after an action on the tool call that it names. An action of a turn that is not
    active changes nothing."""
    kind = str(action.get("type"))
    turn = state.get("activeTurn")
    if not turn or turn.get("id") != action.get("turnId"):
        return state
    if kind == "session/toolCallStart":
        started = omit_none(**_pick(action, *_COMMON_FIELDS), status="streaming")
        parts = [*get_list(turn, "responseParts"), {"kind": "toolCall", "toolCall": started}]
        return replace_fields(state, activeTurn=replace_fields(turn, responseParts=parts))
    changed = False
    new_parts: list[Json] = []
    for part in get_list(turn, "responseParts"):
        call = get_object(part, "toolCall")
        if part.get("kind") == "toolCall" and call.get("toolCallId") == action.get("toolCallId"):
            after = CHANGES[kind](call, action)
            changed = changed or after is not call
            new_parts.append(replace_fields(part, toolCall=after))
        else:
            new_parts.append(part)
    if not changed:
        return state
    state = replace_fields(state, activeTurn=replace_fields(turn, responseParts=new_parts))
    # These two actions never change the status of a call, so the activity of the session stays the same.
    return state if kind in {"session/toolCallDelta", "session/toolCallContentChanged"} else update_activity(state)


def _append_input(call: Json, action: Json) -> Json:
    """Append a piece of the arguments, which the model is still writing."""
    if call.get("status") != "streaming":
        return call
    call = replace_fields(call, partialInput=(call.get("partialInput") or "") + (action.get("content") or ""))
    message = action.get("invocationMessage")
    return call if message is None else replace_fields(call, invocationMessage=message)


def _make_ready(call: Json, action: Json) -> Json:
    """Set the complete arguments of a call. If the action says that it is confirmed, the call runs. Otherwise the call
    waits for a user."""
    if call.get("status") not in {"streaming", "running"}:
        return call
    base = {**_pick(call, *_COMMON_FIELDS), **omit_none(**_pick(action, *_ARGUMENT_FIELDS))}
    if action.get("confirmed"):
        return {"status": "running", **base, "confirmed": action["confirmed"]}
    request = omit_none(**_pick(action, "confirmationTitle", "edits", "editable", "options"))
    return {"status": "pending-confirmation", **base, **request}


def _find_option(call: Json, action: Json) -> Json:
    """Return the option that a user has selected: `{"selectedOption": OPTION}`, or {} if no option was selected."""
    wanted = action.get("selectedOptionId")
    selected = next((option for option in get_list(call, "options") if wanted and option.get("id") == wanted), None)
    return omit_none(selectedOption=selected)


def _confirm(call: Json, action: Json) -> Json:
    """Apply the decision of a user: the call runs or is cancelled."""
    if call.get("status") != "pending-confirmation":
        return call
    base = {**_pick(call, *_COMMON_FIELDS, *_ARGUMENT_FIELDS), **_find_option(call, action)}
    if action.get("approved"):
        edited = action.get("editedToolInput")
        base = base if edited is None else {**base, "toolInput": edited}
        return {"status": "running", **base, **omit_none(confirmed=action.get("confirmed"))}
    denial = omit_none(**_pick(action, "reason", "reasonMessage", "userSuggestion"))
    return {"status": "cancelled", **base, **denial}


def _complete(call: Json, action: Json) -> Json:
    """Set the result of a call."""
    if call.get("status") not in {"running", "pending-confirmation"}:
        return call
    status = "pending-result-confirmation" if action.get("requiresResultConfirmation") else "completed"
    base = _pick(call, *_COMMON_FIELDS, *_ARGUMENT_FIELDS, "selectedOption")
    confirmed = call.get("confirmed") if call.get("status") == "running" else "not-needed"
    return {"status": status, **base, "confirmed": confirmed, **omit_none(**get_object(action, "result"))}


def _confirm_result(call: Json, action: Json) -> Json:
    """Apply the decision of a user about a result: the model gets it, or the call is cancelled."""
    if call.get("status") != "pending-result-confirmation":
        return call
    if action.get("approved"):
        return {**call, "status": "completed"}
    return {
        "status": "cancelled",
        **_pick(call, *_COMMON_FIELDS, *_ARGUMENT_FIELDS, "selectedOption"),
        "reason": "result-denied",
    }


def _set_content(call: Json, action: Json) -> Json:
    """Show the content that a running call has until now."""
    return replace_fields(call, content=action.get("content")) if call.get("status") == "running" else call


# For each type of action, the function that returns the call after it.
CHANGES: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "session/toolCallDelta": _append_input,
    "session/toolCallReady": _make_ready,
    "session/toolCallConfirmed": _confirm,
    "session/toolCallComplete": _complete,
    "session/toolCallResultConfirmed": _confirm_result,
    "session/toolCallContentChanged": _set_content,
}
