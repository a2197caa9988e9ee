"""Code in a kernel that is waited for, or goes on as a job in the background, with progress either way. `kernel` and
`notebook` run their code through it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.job import Job, JobLine
from jupyter_eca.workspace.jobs.background import format_elapsed
from jupyter_eca.workspace.tool_result import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from jupyter_eca.plugins.tools.base import ToolContext
    from jupyter_eca.workspace.ports import JobEnding, NewJob

T = TypeVar("T")

InBackground = Annotated[
    bool,
    Field(
        description="Do not wait for it: for what takes long. The kernel is busy meanwhile; you are told of the end."
    ),
]

STARTED: Final = "Started as {}. You will be told when it ends. Use bg_job to read its output or to kill it."

# Seconds between two reports: what is printed is looked at no more often, however much it is.
EVERY: Final = 0.2

_WAITS: Final = "waiting for the kernel"


@dataclass
class RunWatch:
    """Watches a run: a `workspace.ports.Heard`. `cells` are the ids of the cells to run, `numbers` how each is
    called."""

    cells: Sequence[str] = ()
    numbers: Sequence[str] = ()
    began: float = field(default_factory=monotonic)
    now: str | None = None
    _tails: dict[str, Callable[[], str]] = field(default_factory=dict[str, "Callable[[], str]"])

    def __call__(self, cell: str, tail: Callable[[], str], /) -> None:
        self.now = cell
        self._tails[cell] = tail

    def report(self, *, background: bool) -> Report:
        took = format_elapsed(monotonic() - self.began)
        if self.now is None:
            return Report(f"{_WAITS}, {took}", background=background)
        tail = self._tails[self.now]()
        if self.now not in self.cells:
            return Report(f"{took}\n{tail}", background=background)
        at = self.cells.index(self.now)
        head = f"cell {self.numbers[at]} ({at + 1} of {len(self.cells)}), {took}"
        return Report(f"{head}\n{tail}", at, len(self.cells), background)

    def lines(self) -> tuple[JobLine, ...]:
        texts = [text for tail in self._tails.values() if (text := tail())]
        return tuple(JobLine(text=line, stream="stdout") for text in texts for line in text.split("\n"))


def free(context: ToolContext, kernel: str | None, path: str = "") -> None:
    """Check that no job of ours holds the kernel: whoever waited for it would wait as long as the job. Raises:
    ToolError."""
    job = context.jobs.find_holder(kernel, path) if context.jobs else None
    if job is not None:
        raise ToolError(
            f"The kernel is busy with {job.label}, in the background as {job.id}, for {job.elapsed} so far.",
            "You are told when it ends; until then go on with something else, or end it with bg_job.",
        )


async def wait_or_detach(
    context: ToolContext,
    work: Coroutine[None, None, T],
    watch: RunWatch,
    about: NewJob,
    ending: Callable[[T], JobEnding],
    *,
    background: bool,
) -> T | Job:
    """Wait for the work and return its result, or the job that it continues as: at once with `background`, or when the
    user wants that.

    Raises: ToolError, also when jobs are not possible here.
    """
    jobs = None if context.from_cell else context.jobs
    if background and jobs is None:
        raise ToolError("There is no background here: the kernel's own cell asks.", "Run it without background.")
    running = asyncio.ensure_future(work)
    adopted = False
    try:
        while True:
            if not background:
                await _wait(context, running, watch, background=jobs is not None)
            if running.done():
                return running.result()
            try:
                job = (
                    jobs.adopt(
                        replace(about, began=watch.began), running, lambda: ending(running.result()), watch.lines
                    )
                    if jobs
                    else None
                )
            except ToolError:
                if background:
                    raise
                job = None  # there are too many: it goes on as it was
            if job is not None:
                adopted = True
                return job
            context.away.clear()
    finally:
        if not adopted and not running.done():
            running.cancel()
            await asyncio.wait((running,))


async def _wait(context: ToolContext, running: asyncio.Future[Any], watch: RunWatch, *, background: bool) -> None:
    """Wait until it has ended, or is to continue without anybody who waits."""
    away = asyncio.ensure_future(context.away.wait())
    try:
        while not (running.done() or away.done()):
            await asyncio.wait((running, away), timeout=EVERY, return_when=asyncio.FIRST_COMPLETED)
            context.report(watch.report(background=background))
    finally:
        away.cancel()
