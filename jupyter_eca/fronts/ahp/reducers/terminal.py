"""Owns the reducer of a terminal: its output, its size, and which client or session it belongs to. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, omit_none, put

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def reduce_terminal(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001  # all reducers are called alike
    change = _CHANGES.get(str(action.get("type")))
    return change(state, action) if change else state


def _append_output(state: Json, action: Json) -> Json:
    content, data = get_list(state, "content"), action.get("data") or ""
    last = content[-1] if content else {}
    if last.get("type") == "command" and not last.get("isComplete"):
        return put(state, content=[*content[:-1], put(last, output=last.get("output", "") + data)])
    if last.get("type") == "unclassified":
        return put(state, content=[*content[:-1], put(last, value=last.get("value", "") + data)])
    return put(state, content=[*content, {"type": "unclassified", "value": data}])


def _add_command(state: Json, action: Json) -> Json:
    part = omit_none(
        type="command",
        commandId=action.get("commandId"),
        commandLine=action.get("commandLine"),
        output="",
        timestamp=action.get("timestamp"),
        isComplete=False,
    )
    return put(state, content=[*get_list(state, "content"), part], supportsCommandDetection=True)


def _finish_command(state: Json, action: Json) -> Json:
    def finish(part: Json) -> Json:
        if part.get("type") != "command" or part.get("commandId") != action.get("commandId"):
            return part
        return put(part, isComplete=True, exitCode=action.get("exitCode"), durationMs=action.get("durationMs"))

    return put(state, content=[finish(part) for part in get_list(state, "content")])


_CHANGES: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "terminal/data": _append_output,
    "terminal/resized": lambda state, action: put(state, cols=action.get("cols"), rows=action.get("rows")),
    "terminal/claimed": lambda state, action: put(state, claim=action.get("claim")),
    "terminal/titleChanged": lambda state, action: put(state, title=action.get("title")),
    "terminal/cwdChanged": lambda state, action: put(state, cwd=action.get("cwd")),
    "terminal/exited": lambda state, action: put(state, exitCode=action.get("exitCode")),
    "terminal/cleared": lambda state, _: put(state, content=[]),
    "terminal/commandDetectionAvailable": lambda state, _: put(state, supportsCommandDetection=True),
    "terminal/commandExecuted": _add_command,
    "terminal/commandFinished": _finish_command,
}
