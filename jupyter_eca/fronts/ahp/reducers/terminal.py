"""Owns the reducer of a terminal, which returns the state of the terminal after an action. The state has its output,
its size, and its claim: the client or session that it belongs to. Pure.

The output (`content`) is a list of parts. A part is a command with its output, or output that belongs to no command.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.reducers.base import Json, get_list, omit_none, replace_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def reduce_terminal(state: Json, action: Json, now: int) -> Json:  # noqa: ARG001  # all reducers have the same signature
    """Return the state after an action. An action of an unknown type changes nothing."""
    change = _CHANGES.get(str(action.get("type")))
    return change(state, action) if change else state


def _append_output(state: Json, action: Json) -> Json:
    """Append output to the command that runs, or to the output outside of commands."""
    content, data = get_list(state, "content"), action.get("data") or ""
    last = content[-1] if content else {}
    if last.get("type") == "command" and not last.get("isComplete"):
        return replace_fields(
            state, content=[*content[:-1], replace_fields(last, output=last.get("output", "") + data)]
        )
    if last.get("type") == "unclassified":
        return replace_fields(state, content=[*content[:-1], replace_fields(last, value=last.get("value", "") + data)])
    return replace_fields(state, content=[*content, {"type": "unclassified", "value": data}])


def _add_command(state: Json, action: Json) -> Json:
    """Add a command that has started."""
    part = omit_none(
        type="command",
        commandId=action.get("commandId"),
        commandLine=action.get("commandLine"),
        output="",
        timestamp=action.get("timestamp"),
        isComplete=False,
    )
    return replace_fields(state, content=[*get_list(state, "content"), part], supportsCommandDetection=True)


def _finish_command(state: Json, action: Json) -> Json:
    """Mark the command with the id of the action as complete."""

    def finish(part: Json) -> Json:
        """Return a part of the output as it is when the command has ended; unchanged if it is not of this command."""
        if part.get("type") != "command" or part.get("commandId") != action.get("commandId"):
            return part
        return replace_fields(
            part, isComplete=True, exitCode=action.get("exitCode"), durationMs=action.get("durationMs")
        )

    return replace_fields(state, content=[finish(part) for part in get_list(state, "content")])


# For each type of action, the function that returns the state after it.
_CHANGES: Final[Mapping[str, Callable[[Json, Json], Json]]] = {
    "terminal/data": _append_output,
    "terminal/resized": lambda state, action: replace_fields(state, cols=action.get("cols"), rows=action.get("rows")),
    "terminal/claimed": lambda state, action: replace_fields(state, claim=action.get("claim")),
    "terminal/titleChanged": lambda state, action: replace_fields(state, title=action.get("title")),
    "terminal/cwdChanged": lambda state, action: replace_fields(state, cwd=action.get("cwd")),
    "terminal/exited": lambda state, action: replace_fields(state, exitCode=action.get("exitCode")),
    "terminal/cleared": lambda state, _: replace_fields(state, content=[]),
    "terminal/commandDetectionAvailable": lambda state, _: replace_fields(state, supportsCommandDetection=True),
    "terminal/commandExecuted": _add_command,
    "terminal/commandFinished": _finish_command,
}
