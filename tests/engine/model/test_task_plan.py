"""The plan of a chat as a value: its tasks, what of it is shown, and what the model reads of it."""

from __future__ import annotations

from jupyter_eca.engine.model.task_plan import (
    Plan,
    add_tasks,
    format_for_summary,
    format_tasks,
    make_details,
    mark_tasks,
    restore_plan,
)
from jupyter_eca.protocol.content import Content, Task, TaskStatus, TextContent, TextOutput, ToolCalledContent

THREE = add_tasks((), ["look", "change", "test"])


def called(plan: Plan, *, error: bool = False) -> Content:
    outputs = (TextOutput(text=""),)
    details = make_details(plan)
    return ToolCalledContent(
        id="1", name="task", server="eca", arguments={}, error=error, outputs=outputs, details=details
    )


def test_new_tasks_are_numbered_after_the_highest_number() -> None:
    tasks = (Task(id="7", subject="a"), Task(id="x", subject="b"), Task(id="3", subject="c"))
    assert [task.id for task in add_tasks(tasks, ["d", "e"])] == ["7", "x", "3", "8", "9"]
    tasks = add_tasks((), ["look", "change", "test"])
    assert [(task.id, task.subject, task.status) for task in tasks] == [
        ("1", "look", TaskStatus.PENDING),
        ("2", "change", TaskStatus.PENDING),
        ("3", "test", TaskStatus.PENDING),
    ]


def test_only_the_named_tasks_are_marked() -> None:
    marked = mark_tasks(THREE, frozenset({"1", "3"}), TaskStatus.DONE)
    assert [task.status for task in marked] == [TaskStatus.DONE, TaskStatus.PENDING, TaskStatus.DONE]
    assert [task.subject for task in marked] == ["look", "change", "test"]


def test_what_is_worked_on_is_shown_while_a_task_is_in_progress() -> None:
    working = mark_tasks(mark_tasks(THREE, frozenset("1"), TaskStatus.DONE), frozenset("2"), TaskStatus.IN_PROGRESS)
    details = make_details(Plan(working, "Changing it"))
    summary = details.summary
    assert (summary.done, summary.in_progress, summary.pending, summary.total) == (1, 1, 1, 3)
    assert (details.tasks, details.in_progress_task_ids, details.active_summary) == (working, ("2",), "Changing it")
    assert make_details(Plan(THREE, "Changing it")).active_summary is None


def test_the_newest_plan_that_was_shown_without_an_error_is_the_plan() -> None:
    working = mark_tasks(THREE, frozenset("2"), TaskStatus.IN_PROGRESS)
    contents = [
        called(Plan(THREE)),
        called(Plan(working, "Changing")),
        TextContent(text="x"),
        called(Plan(), error=True),
    ]
    assert restore_plan(contents) == Plan(working, "Changing")
    assert restore_plan([]) == Plan()


def test_a_model_reads_each_task_with_its_mark_also_after_a_summary() -> None:
    tasks = mark_tasks(mark_tasks(THREE, frozenset("1"), TaskStatus.DONE), frozenset("2"), TaskStatus.IN_PROGRESS)
    assert format_tasks(tasks) == "[x] 1. look\n[>] 2. change\n[ ] 3. test"
    assert format_for_summary(tasks).endswith(f"\n{format_tasks(tasks)}")
    assert format_for_summary(tasks).startswith("\n\n")
    assert format_for_summary(()) == ""
