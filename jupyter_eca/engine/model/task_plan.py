"""Owns the plan of a chat: a short list of tasks that the model keeps and the user sees. Pure, except class `Plan`.

It must not store the plan: each change is in the details of a tool call, and the newest of these details are the plan.
Its neighbour is the tool in `plugins/tools/task`, with which the model changes the plan.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.content import Task, TaskDetails, TaskStatus, TaskSummary, ToolCalledContent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.content import Content

Tasks = tuple[Task, ...]

# What the model reads when the user accepts a plan with "go".
CARRY_OUT: Final = """(The user has accepted the plan: carry it out. You are no longer in plan mode; you have tools \
that change and run things. Put three steps or more into the list of `task`, unless they are in it already; start and \
complete each there. Take the steps in order. Make changes as they were previewed, run what you changed and read the \
real output before you go on. What the user says meanwhile goes before the plan. When a step cannot be done as \
planned, say so before you do something else. At the end tell in a few lines what was done and what was not.)"""

# The mark in the brackets before a task: `[x] 1. Load the data`.
_BOX: Final = {TaskStatus.PENDING: " ", TaskStatus.IN_PROGRESS: ">", TaskStatus.DONE: "x"}
# The line above the tasks that follow a summary of the conversation.
_LIST_HEADING: Final = "(The list of tasks as it stands now, word for word. The tool `task` goes on with it.)"


@dataclass
class Plan:
    """The plan of a live chat. It is mutable: the calls of one turn change it one after the other."""

    tasks: Tasks = ()
    """The tasks, in order."""
    active_summary: str | None = None
    """What the model is working on now, in a few words; None when it has not said so."""


def restore_plan(contents: Iterable[Content]) -> Plan:
    """Return the plan of a chat, from the contents of its events."""
    plan = Plan()
    for content in contents:
        if isinstance(content, ToolCalledContent) and isinstance(content.details, TaskDetails) and not content.error:
            plan = Plan(content.details.tasks, content.details.active_summary)
    return plan


def add_tasks(tasks: Tasks, subjects: Iterable[str]) -> Tasks:
    """Return the tasks with new ones at the end. Their ids follow the highest one."""
    first = max((int(task.id) for task in tasks if task.id.isdecimal()), default=0) + 1
    return (*tasks, *(Task(id=str(id), subject=subject) for id, subject in enumerate(subjects, first)))


def mark_tasks(tasks: Tasks, ids: frozenset[str], status: TaskStatus) -> Tasks:
    """Return the tasks with another status for some of them."""
    return tuple(task.model_copy(update={"status": status}) if task.id in ids else task for task in tasks)


def make_details(plan: Plan) -> TaskDetails:
    """Return a plan as the details of a tool call."""
    ids = {status: tuple(task.id for task in plan.tasks if task.status is status) for status in TaskStatus}
    return TaskDetails(
        tasks=plan.tasks,
        in_progress_task_ids=ids[TaskStatus.IN_PROGRESS],
        summary=TaskSummary(
            done=len(ids[TaskStatus.DONE]),
            in_progress=len(ids[TaskStatus.IN_PROGRESS]),
            pending=len(ids[TaskStatus.PENDING]),
            total=len(plan.tasks),
        ),
        active_summary=plan.active_summary if ids[TaskStatus.IN_PROGRESS] else None,
    )


def format_tasks(tasks: Tasks) -> str:
    """Return the tasks as text for the model."""
    return "\n".join(f"[{_BOX[task.status]}] {task.id}. {task.subject}" for task in tasks)


def format_for_summary(tasks: Tasks) -> str:
    """Return the text that follows a summary of the conversation and gives the model the exact list of tasks; "" for no
    tasks."""
    return f"\n\n{_LIST_HEADING}\n{format_tasks(tasks)}" if tasks else ""
