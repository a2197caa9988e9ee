"""Each task costs no more than it did: requests, tokens, what the cache has, refused calls and approvals. And the table
of what they cost is within the limits of `goals.py`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench.context import figures, goals, task

if TYPE_CHECKING:
    from pathlib import Path

TASKS = task.find_tasks()


def test_every_task_has_a_row_in_the_table() -> None:
    assert list(figures.read()) == list(TASKS), "run: make bench-context RENEW=1"


def test_the_table_is_within_all_limits() -> None:
    """So a task that costs no more than its row is within those that count several tasks, too."""
    reached = goals.compare_figures(figures.read())
    assert len(reached) == 7
    assert not [one for one in reached if one.is_over], goals.draw(reached)


@pytest.mark.nightly
@pytest.mark.asyncio
@pytest.mark.parametrize("name", TASKS)
async def test_a_task_costs_no_more_than_the_table_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    done = await task.run(TASKS[name])
    reached = [goals.compare_breaks(len(done.breaks)), *goals.compare_figures({name: done.figures})]
    assert not [one for one in reached if one.is_over], goals.draw(reached)
    worse = list(done.figures.find_worse(figures.read()[name]))
    row = figures.draw({name: done.figures}, {name: TASKS[name].title}, figures.read())
    assert not worse, "\n".join([*worse, row, *done.errors])
