"""Shows the calls of an outside agent as ours: as a tool with arguments, which rules select, and with a result. Pure.

It must not read files: `file_views.py` shows what a call changes.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.engine.approval.shell_parser import parse_commands
from jupyter_eca.engine.model.request import ApprovalCoverage, ImagePart, ToolSpec
from jupyter_eca.protocol.content import (
    ShellCommandDetails,
    ShellCommandPart,
    Task,
    TaskDetails,
    TaskStatus,
    TaskSummary,
)
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.acp_client.agent_call import AgentCall

# The characters that the name of a tool cannot have.
_FORBIDDEN_CHARS: Final = re.compile(r"[^\w.-]+")
_MAX_NAME_CHARS: Final = 64

# Kinds of calls that only look, and kinds that change files.
_LOOKING: Final = frozenset({"read", "search", "fetch", "think"})
_CHANGING: Final = frozenset({"edit", "delete", "move"})

NO_RESULT: Final = "The agent has not said how this call ended."

# The statuses of our tasks, by those of the steps in an agent's plan. All other steps are pending.
_STATUSES: Final = {"in_progress": TaskStatus.IN_PROGRESS, "completed": TaskStatus.DONE}


def make_tool(agent: str, call: AgentCall, *, has_tool_as_title: bool) -> ToolSpec:
    """Return the tool of a call. Rules select it by the agent's name, or as `AGENT__TOOL`. An agent that does not name
    its tools gives the kind of the call: `edit`, `execute` and others. A call that runs a command or changes a file
    never gets the name of a tool that only looks, whatever the agent says. With `has_tool_as_title`, the agent gives
    the name of the tool as the title of the call."""
    kind, title = _get_kind(call), call.first_title if has_tool_as_title else ""
    is_name_credible = kind == call.kind or call.kind not in _LOOKING
    name = (call.name or title if is_name_credible else "") or kind
    return ToolSpec(
        name=_FORBIDDEN_CHARS.sub("_", name)[:_MAX_NAME_CHARS] or "other",
        description="",
        parameters={},
        server=agent,
        summary=_make_summary(call),
        approval_covers=ApprovalCoverage.COMMANDS if call.command else ApprovalCoverage.ARGUMENTS,
        agent=agent,
    )


def _get_kind(call: AgentCall) -> str:
    """Return the kind of a call by what it does. The kind that the agent says counts if the call does not show more."""
    if call.command:
        return "execute"
    return "edit" if call.diffs and call.kind not in _CHANGING else call.kind


def _make_summary(call: AgentCall) -> str:
    """Return what a call does in one line. It is a template, in which braces stand for arguments. What a call runs or
    changes counts more than the title that the agent gives it."""
    if call.command:
        return "Running {command}"
    names = dict.fromkeys(PurePath(str(diff["path"])).name for diff in call.diffs)
    text = f"Editing {', '.join(names)}" if names else call.title
    return text.replace("{", "{{").replace("}", "}}")


def make_arguments(call: AgentCall) -> dict[str, Any]:
    """Return the arguments of a call. A command line is one text, as the rules for commands read it. A call without
    arguments of its own names the files that it works on."""
    arguments = dict(call.raw_input)
    if call.command:
        arguments["command"] = call.command
    if paths := [str(item["path"]) for item in call.diffs] or list(call.paths):
        named = {value for value in arguments.values() if isinstance(value, str)}
        if missing := [path for path in paths if path not in named]:
            arguments["paths"] = missing
    return arguments


def make_command_details(call: AgentCall) -> ShellCommandDetails | None:
    """Return the command line that a call runs, for its card; None if it runs none."""
    if not call.command:
        return None
    parsed = parse_commands(call.command)
    parts = tuple(ShellCommandPart(command=part.command, args=part.args) for part in parsed or ())
    return ShellCommandDetails(
        commands=parts or (ShellCommandPart(command=call.command),),
        line=call.command,
        parsed=tuple(part.whole_text for part in parsed) if parsed is not None else None,
    )


def make_result(call: AgentCall) -> ToolResult:
    """Return the result of a call. It says so if the agent has not reported how the call ended."""
    text = call.as_text() if call.has_ended else "\n".join(filter(None, (call.as_text(), NO_RESULT)))
    images = tuple(ImagePart(media_type, data) for media_type, data in call.list_images())
    return ToolResult(text, error=call.status != "completed", images=images)


def make_write_tool(agent: str) -> ToolSpec:
    """Return the tool of a call that shows a file which an agent writes without a call of its own."""
    return ToolSpec("write_text_file", "", {}, server=agent, summary="Writing {path}", agent=agent)


PLAN: Final = ToolSpec("plan", "", {}, summary="Plan", read_only_hint=True)
"""The tool of a call that shows the plan of an agent. A chat shows each plan as a call."""


def make_plan(entries: Sequence[tuple[str, str]]) -> TaskDetails:
    """Return the plan of an agent as our list of tasks. `entries` are the texts and the statuses of the steps."""
    tasks = tuple(
        Task(id=str(number), subject=text, status=_STATUSES.get(status, TaskStatus.PENDING))
        for number, (text, status) in enumerate(entries, 1)
    )
    counts = {status: sum(task.status is status for task in tasks) for status in TaskStatus}
    return TaskDetails(
        tasks=tasks,
        in_progress_task_ids=tuple(task.id for task in tasks if task.status is TaskStatus.IN_PROGRESS),
        summary=TaskSummary(
            done=counts[TaskStatus.DONE],
            in_progress=counts[TaskStatus.IN_PROGRESS],
            pending=counts[TaskStatus.PENDING],
            total=len(tasks),
        ),
    )
