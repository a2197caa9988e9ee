"""Each task costs no more than it did: requests, tokens, what the cache has, refused calls and approvals."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.bench.context import figures, task
from tests.bench.context.prefix_cache import list_breaks

if TYPE_CHECKING:
    from pathlib import Path

TASKS = task.find_tasks()


def test_every_task_has_a_row_in_the_table() -> None:
    assert list(figures.read()) == list(TASKS), "run: make bench-context RENEW=1"


@pytest.mark.nightly
@pytest.mark.asyncio
@pytest.mark.parametrize("name", TASKS)
async def test_a_task_costs_no_more_than_the_table_says(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("XDG_CONFIG_HOME", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / variable))
    done = await task.run(TASKS[name])
    assert list_breaks(done.bodies) == [], "each request of a chat begins with the one before it"
    worse = list(done.figures.find_worse(figures.read()[name]))
    row = figures.draw({name: done.figures}, {name: TASKS[name].title}, figures.read())
    assert not worse, "\n".join([*worse, row, *done.errors])
