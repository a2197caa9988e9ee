"""Owns the reducer of a session, which returns the state of the session after an action. The table `_CHANGES` has a
function for each type of action. Pure.

The functions for turns are in `turns.py`, for tool calls in `tool_call.py`, for queued messages and questions in
`pending_input.py`. A customization is something that extends the agent, such as a tool server or a rule.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers import pending_input, turns
from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, get_object, merge_config, replace_fields
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, set_flag, set_modified
from jupyter_eca.fronts.ahp.reducers.tool_call import CHANGES, reduce_tool_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.fronts.ahp.reducers.base import Reducer


def reduce_session(state: Json, action: Json, now: int) -> Json:
    """Return the state after an action. `now` is the time in milliseconds. An action of an unknown type changes
    nothing."""
    change = _CHANGES.get(str(action.get("type")))
    return change(state, action, now) if change else state


def _set_ready(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Make the session ready. The protocol resets the whole status, also the flags for "read" and "archived"."""
    return replace_fields(
        state, lifecycle="ready", summary=replace_fields(state["summary"], status=int(SessionStatus.IDLE))
    )


def _set_summary_field(name: str, state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Set a field of the summary to the field with the same name of the action."""
    return replace_fields(state, summary=replace_fields(state["summary"], **{name: action.get(name)}))


def _change_config(state: Json, action: Json, now: int) -> Json:
    """Change values of the configuration, if the session has one."""
    config = state.get("config")
    return set_modified(replace_fields(state, config=merge_config(config, action)), now) if config else state


def _set_client_tools(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Replace the tools of the active client, if there is one."""
    client = state.get("activeClient")
    return replace_fields(state, activeClient=replace_fields(client, tools=action.get("tools"))) if client else state


def _toggle_customization(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Enable or disable the customization with the URI of the action."""
    customizations = get_list(state, "customizations")
    changed = [
        replace_fields(customization, enabled=action.get("enabled"))
        if _get_uri(customization) == action.get("uri")
        else customization
        for customization in customizations
    ]
    return replace_fields(state, customizations=changed) if changed != customizations else state


def _update_customization(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Replace a customization, or add it if it is new."""
    ref = get_object(action, "customization")
    fields = {name: action[name] for name in ("enabled", "status", "statusMessage") if action.get(name) is not None}
    customizations = get_list(state, "customizations")
    if any(_get_uri(customization) == ref.get("uri") for customization in customizations):
        changed = [
            replace_fields(customization, customization=ref, **fields)
            if _get_uri(customization) == ref.get("uri")
            else customization
            for customization in customizations
        ]
        return replace_fields(state, customizations=changed)
    return replace_fields(state, customizations=[*customizations, {"customization": ref, "enabled": False, **fields}])


def _get_uri(customization: Json) -> object:
    """Return the URI of a customization."""
    return get_object(customization, "customization").get("uri")


# For each type of action, the function that returns the state of the session after it.
_CHANGES: Final[Mapping[str, Reducer]] = {
    "session/ready": _set_ready,
    "session/creationFailed": lambda state, action, _: replace_fields(
        state, lifecycle="creationFailed", creationError=action.get("error")
    ),
    "session/turnStarted": turns.start,
    "session/delta": partial(turns.append_text, "markdown"),
    "session/reasoning": partial(turns.append_text, "reasoning"),
    "session/responsePart": turns.add_part,
    "session/toolCallStart": reduce_tool_call,
    **dict.fromkeys(CHANGES, reduce_tool_call),
    "session/turnComplete": partial(turns.end, "complete"),
    "session/turnCancelled": partial(turns.end, "cancelled"),
    "session/error": partial(turns.end, "error"),
    "session/titleChanged": lambda state, action, now: set_modified(state, now, title=action.get("title")),
    "session/usage": turns.set_usage,
    "session/modelChanged": lambda state, action, now: set_modified(state, now, model=action.get("model")),
    "session/isReadChanged": lambda state, action, _: set_flag(
        state, SessionStatus.IS_READ, on=bool(action.get("isRead"))
    ),
    "session/isArchivedChanged": lambda state, action, _: set_flag(
        state, SessionStatus.IS_ARCHIVED, on=bool(action.get("isArchived"))
    ),
    "session/activityChanged": partial(_set_summary_field, "activity"),
    "session/diffsChanged": partial(_set_summary_field, "diffs"),
    "session/serverToolsChanged": lambda state, action, _: replace_fields(state, serverTools=action.get("tools")),
    "session/activeClientChanged": lambda state, action, _: replace_fields(
        state, activeClient=action.get("activeClient")
    ),
    "session/activeClientToolsChanged": _set_client_tools,
    "session/customizationsChanged": lambda state, action, _: replace_fields(
        state, customizations=action.get("customizations")
    ),
    "session/customizationToggled": _toggle_customization,
    "session/customizationUpdated": _update_customization,
    "session/configChanged": _change_config,
    "session/metaChanged": lambda state, action, _: replace_fields(state, _meta=action.get("_meta")),
    "session/truncated": turns.truncate,
    "session/pendingMessageSet": pending_input.set_message,
    "session/pendingMessageRemoved": pending_input.remove_message,
    "session/queuedMessagesReordered": pending_input.reorder_messages,
    "session/inputRequested": pending_input.add_request,
    "session/inputAnswerChanged": pending_input.set_answer,
    "session/inputCompleted": pending_input.remove_request,
}
