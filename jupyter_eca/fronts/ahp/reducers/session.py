"""A session: a table of what each action changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers import turns, waiting
from jupyter_eca.fronts.ahp.reducers.base import Json, items, merged, put, record
from jupyter_eca.fronts.ahp.reducers.status import SessionStatus, flagged, touched
from jupyter_eca.fronts.ahp.reducers.toolcall import CHANGES, reduce_tool_call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.fronts.ahp.reducers.base import Reducer


def reduce_session(state: Json, action: Json, now: int) -> Json:
    change = _CHANGES.get(str(action.get("type")))
    return change(state, action, now) if change else state


def _ready(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    """Whatever the status was, flags too."""
    return put(state, lifecycle="ready", summary=put(state["summary"], status=int(SessionStatus.IDLE)))


def _summary(name: str, state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    return put(state, summary=put(state["summary"], **{name: action.get(name)}))


def _configured(state: Json, action: Json, now: int) -> Json:
    config = state.get("config")
    return touched(put(state, config=merged(config, action)), now) if config else state


def _tools(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    client = state.get("activeClient")
    return put(state, activeClient=put(client, tools=action.get("tools"))) if client else state


def _toggled(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    found = items(state, "customizations")
    changed = [put(one, enabled=action.get("enabled")) if _uri(one) == action.get("uri") else one for one in found]
    return put(state, customizations=changed) if changed != found else state


def _updated(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001
    ref = record(action, "customization")
    given = {name: action[name] for name in ("enabled", "status", "statusMessage") if action.get(name) is not None}
    found = items(state, "customizations")
    if any(_uri(one) == ref.get("uri") for one in found):
        changed = [put(one, customization=ref, **given) if _uri(one) == ref.get("uri") else one for one in found]
        return put(state, customizations=changed)
    return put(state, customizations=[*found, {"customization": ref, "enabled": False, **given}])


def _uri(customization: Json) -> object:
    return record(customization, "customization").get("uri")


_CHANGES: Final[Mapping[str, Reducer]] = {
    "session/ready": _ready,
    "session/creationFailed": lambda state, action, _: put(
        state, lifecycle="creationFailed", creationError=action.get("error")
    ),
    "session/turnStarted": turns.started,
    "session/delta": partial(turns.appended, "markdown"),
    "session/reasoning": partial(turns.appended, "reasoning"),
    "session/responsePart": turns.part_added,
    "session/toolCallStart": reduce_tool_call,
    **dict.fromkeys(CHANGES, reduce_tool_call),
    "session/turnComplete": partial(turns.ended, "complete"),
    "session/turnCancelled": partial(turns.ended, "cancelled"),
    "session/error": partial(turns.ended, "error"),
    "session/titleChanged": lambda state, action, now: touched(state, now, title=action.get("title")),
    "session/usage": turns.usage,
    "session/modelChanged": lambda state, action, now: touched(state, now, model=action.get("model")),
    "session/isReadChanged": lambda state, action, _: flagged(
        state, SessionStatus.IS_READ, on=bool(action.get("isRead"))
    ),
    "session/isArchivedChanged": lambda state, action, _: flagged(
        state, SessionStatus.IS_ARCHIVED, on=bool(action.get("isArchived"))
    ),
    "session/activityChanged": partial(_summary, "activity"),
    "session/diffsChanged": partial(_summary, "diffs"),
    "session/serverToolsChanged": lambda state, action, _: put(state, serverTools=action.get("tools")),
    "session/activeClientChanged": lambda state, action, _: put(state, activeClient=action.get("activeClient")),
    "session/activeClientToolsChanged": _tools,
    "session/customizationsChanged": lambda state, action, _: put(state, customizations=action.get("customizations")),
    "session/customizationToggled": _toggled,
    "session/customizationUpdated": _updated,
    "session/configChanged": _configured,
    "session/metaChanged": lambda state, action, _: put(state, _meta=action.get("_meta")),
    "session/truncated": turns.truncated,
    "session/pendingMessageSet": waiting.message_set,
    "session/pendingMessageRemoved": waiting.message_removed,
    "session/queuedMessagesReordered": waiting.reordered,
    "session/inputRequested": waiting.requested,
    "session/inputAnswerChanged": waiting.answered,
    "session/inputCompleted": waiting.completed,
}
