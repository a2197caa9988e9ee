"""Owns what a task is, and runs one. The tasks are in `tasks/`, each in a file of its own."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from tests.bench.context import tasks
from tests.bench.context.figures import Figures
from tests.bench.context.played_model import PlayedModel
from tests.bench.context.prefix_cache import list_breaks
from tests.bench.context.session import make_normaliser, open_session, set_environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.bench.context.played_model import Story
    from tests.bench.context.request_view import RequestView
    from tests.bench.context.session import Session


class Task:
    """A piece of work. A task of a module overrides `prepare`, `use`, `play` and `check`."""

    title = ""
    """What the user wants, in a few words."""
    window = 200_000
    """The context window of the model, in tokens."""
    config: dict[str, Any] = {}  # noqa: RUF012  # read only
    """Keys of the user's configuration."""
    expected_errors: tuple[str, ...] = ()
    """Patterns of results that are errors because the code of the task is meant to fail: they are no refusals."""

    def prepare(self, folder: Path) -> None:
        """Write the user's files."""

    async def use(self, session: Session) -> None:
        """Do what the user does."""
        raise NotImplementedError

    def play(self, view: RequestView) -> Story:
        """Play the best model. See `played_model`."""
        raise NotImplementedError

    def name_chat(self, view: RequestView) -> str:  # noqa: ARG002
        return "chat"

    async def check(self, session: Session) -> None:
        """Check that the work is done. Raises: AssertionError."""
        raise NotImplementedError


def find_tasks() -> dict[str, Task]:
    """Return all tasks by name, in the order of their modules' names: `t01_fix` is `fix`."""
    names = sorted(info.name for info in pkgutil.iter_modules(tasks.__path__) if re.match(r"t\d\d", info.name))
    return {name.partition("_")[2]: importlib.import_module(f"{tasks.__name__}.{name}").TASK for name in names}


@dataclass(frozen=True, slots=True)
class Run:
    """A task that was run."""

    figures: Figures
    bodies: Sequence[dict[str, Any]]
    """The bodies of its requests."""
    errors: Sequence[str]
    """The results of calls that were refused."""
    breaks: Sequence[int]
    """See `list_breaks`."""


async def run(task: Task) -> Run:
    """Run a task. Raises: AssertionError when the model was not told what it needs, or the work is not done."""
    with TemporaryDirectory() as name:
        return await _run_in(make_project(Path(name), task), task)


def make_project(parent: Path, task: Task) -> Path:
    """Make the folder of the user's project, and beside it the one for the files of the server."""
    folder = parent.resolve() / "project"
    folder.mkdir()
    folder.with_name("runtime").mkdir()
    task.prepare(folder)
    return folder


async def _run_in(folder: Path, task: Task) -> Run:
    # Commands of the model run the Python of the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with set_environment(PATH=path), PlayedModel(task, make_normaliser(folder)) as model:
        async with open_session(folder, model, task.window, **task.config) as session:
            await task.use(session)
            model.check()
            await task.check(session)
            asked = session.page.asked
        refused = [
            error for error in asked.errors if not any(re.search(pattern, error) for pattern in task.expected_errors)
        ]
        count = model.count
        figures = Figures(
            requests=count.requests,
            tokens=round(count.tokens),
            cached=round(count.cached / count.tokens, 3),
            refused=len(refused),
            approvals=asked.approvals,
            clicks=len(asked.answers),
        )
        return Run(figures, model.bodies, refused, list_breaks(model.bodies))
