"""The tool with which the model keeps the plan of its chat. `engine/model/task_plan.py` has the plan itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import Field

from jupyter_eca.engine.model import task_plan as plans
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import Need, ToolContext, tool
from jupyter_eca.protocol.content import TaskStatus
from jupyter_eca.workspace.tool_result import ToolResult

if TYPE_CHECKING:
    from jupyter_eca.engine.model.task_plan import Tasks

# The types of the arguments, with their descriptions for the model.
Op = Annotated[
    Literal["plan", "add", "start", "complete", "delete", "list"],
    Field(
        description="plan replaces the list by `tasks`, add appends them; start, complete and delete are about `ids`."
    ),
]
Subjects = Annotated[list[str], Field(description="One short line for each.")]
Ids = list[str]
ActiveSummary = Annotated[str, Field(description="With start: what you do now, in a few words.")]

# The status that a task gets from an operation.
_OPERATION_STATUS: Final = {"start": TaskStatus.IN_PROGRESS, "complete": TaskStatus.DONE}


@tool(reads=True, needs=[Need.PLAN], summary="Updating the plan", runs_on_replay=True)
async def task(
    context: ToolContext,
    op: Op,
    tasks: Subjects = [],  # noqa: B006  # read only
    ids: Ids = [],  # noqa: B006  # read only
    active_summary: ActiveSummary = "",
) -> ToolResult:
    """Keep the plan of this chat, which the user sees beside it. For work of three steps or more.

    Make the plan first, start a task before you work on it, and complete it as soon as it is done.
    """
    plan = context.plan
    if plan is None:
        raise ToolError("There is no plan here.")
    plan.tasks = _apply(plan.tasks, op, tuple(tasks), frozenset(ids))
    if op == "start":
        plan.active_summary = active_summary or None
    return ToolResult(plans.format_tasks(plan.tasks) or "The plan is empty.", details=plans.make_details(plan))


TOOLS = (task,)


def _apply(tasks: Tasks, op: str, subjects: tuple[str, ...], ids: frozenset[str]) -> Tasks:
    """Return the tasks after an operation. Raises: ToolError when its arguments do not fit."""
    if op == "list":
        return tasks
    if op in {"plan", "add"}:
        if not subjects:
            raise ToolError(f"{op} needs `tasks`.", "Give one short line for each task.")
        return plans.add_tasks(() if op == "plan" else tasks, subjects)
    unknown = ids - {task.id for task in tasks}
    if not ids or unknown:
        raise ToolError(f"{op} needs `ids` of the list; not in it: {', '.join(sorted(unknown)) or 'none given'}.")
    if op == "delete":
        return tuple(task for task in tasks if task.id not in ids)
    return plans.mark_tasks(tasks, ids, _OPERATION_STATUS[op])
