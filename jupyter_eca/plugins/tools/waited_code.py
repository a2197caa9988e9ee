"""Waits for code in a kernel or for a command, or lets it continue as a background job. In both cases it reports the
progress.

A call that waits ends early in three cases, and says how far the code is: the user moves it to the background, or sends
a message to the model while the code has been running for long, or stops the turn. In the first two cases the code
continues as a job.

This module must not run code: the tools in `kernel`, `notebook` and `shell` do. `workspace/jobs` has the jobs.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

from pydantic import Field

from jupyter_eca.errors import StoppedRunError, ToolError
from jupyter_eca.protocol.job import Job, JobLine
from jupyter_eca.workspace.jobs.background import format_elapsed
from jupyter_eca.workspace.tool_result import Report

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from jupyter_eca.plugins.tools.base import ToolContext
    from jupyter_eca.workspace.ports import JobEnding, NewJob

T = TypeVar("T")

# The type of an argument, with its description for the model.
InBackground = Annotated[
    bool,
    Field(description="Do not wait: you are told of the end. Until then the kernel is busy."),
]

# The result of a call whose code has become the job `{}`, for the model.
JOB_STARTED: Final = (
    "Started as {}. You will be told when it ends. Use bg_job to read its output, to wait for its end or to kill it."
)

# The seconds between two reports. The output is not looked at more often, however much is printed.
REPORT_SECONDS: Final = 0.2

# The seconds that code runs before a message of the user ends the waiting. Code that is faster has soon ended anyway,
# and then the model reads its whole result together with the message.
LONG_SECONDS: Final = 20.0

# How many of the newest lines of the output the model gets when a call ends before the code does.
MAX_LINES: Final = 20

# What the progress says before the first cell runs.
_WAITS: Final = "waiting for the kernel"


@dataclass
class RunWatch:
    """Watches a run of code, and describes its progress."""

    cells: Sequence[str] = ()
    """The ids of the cells to run, empty for code that is in no cell."""
    numbers: Sequence[str] = ()
    """The numbers of these cells for the user."""
    clock: Callable[[], float] = monotonic
    """The clock in seconds."""
    started_at: float = field(init=False)
    """The time on this clock at which the run began."""
    current_cell: str | None = None
    """The id of the cell that runs now, "" for code that is in no cell, None before the code runs."""
    _tails: dict[str, Callable[[], str]] = field(default_factory=dict[str, "Callable[[], str]"])
    """For each cell that has begun to run, by its id: a function that returns the end of its output."""

    def __post_init__(self) -> None:
        self.started_at = self.clock()

    @property
    def seconds(self) -> float:
        """How long the code has been running."""
        return self.clock() - self.started_at

    def __call__(self, cell: str, tail: Callable[[], str], /) -> None:
        """Remember that a cell runs now. `tail` returns the end of its output. The kernel calls this."""
        self.current_cell = cell
        self._tails[cell] = tail

    def finish(self, cell: str, output: str) -> None:
        """Note the whole output of a cell that has ended. What was reported last while it ran may be older."""
        self._tails[cell] = lambda: output

    def report(self, *, background: bool) -> Report:
        """Return the progress now. `background` is whether the call can continue in the background."""
        if self.current_cell is None:
            return Report(self._describe_place(), background=background)
        text = f"{self._describe_place()}\n{self._tails[self.current_cell]()}"
        if self.current_cell not in self.cells:
            return Report(text, background=background)
        return Report(text, self.cells.index(self.current_cell), len(self.cells), background)

    def describe(self) -> str:
        """Return how far the code is, for the model: `cell 3 (1 of 2), 31s`, and the last lines of its output."""
        return f"{self._describe_place()}. {as_last_lines(self.list_lines()) or 'It has printed nothing so far.'}"

    def _describe_place(self) -> str:
        """Return which cell runs, and for how long the code has been running: `cell 3 (1 of 2), 31s`."""
        took = format_elapsed(self.seconds)
        if self.current_cell is None:
            return f"{_WAITS}, {took}"
        if self.current_cell not in self.cells:
            return took
        index = self.cells.index(self.current_cell)
        return f"cell {self.numbers[index]} ({index + 1} of {len(self.cells)}), {took}"

    def list_lines(self) -> tuple[JobLine, ...]:
        """Return the end of the outputs so far, as lines of a job."""
        texts = [text for tail in self._tails.values() if (text := tail())]
        return tuple(JobLine(text=line, stream="stdout") for text in texts for line in text.split("\n"))


def as_last_lines(lines: Sequence[JobLine]) -> str:
    """Return the last lines of an output for the model, with a heading; empty if there are none."""
    last = "\n".join(line.text for line in lines).rstrip().split("\n")[-MAX_LINES:]
    return "\n".join(("Its last lines:", *last)) if any(last) else ""


def describe_job(job: Job, watch: RunWatch, *, background: bool) -> str:
    """Return the text for the model about code that continues as a job. `background` is whether the model has asked for
    that: then the code has only just begun."""
    started = JOB_STARTED.format(job.id)
    return started if background else f"{started}\nStill running: {watch.describe()}"


def check_kernel_free(context: ToolContext, kernel: str | None, path: str = "") -> None:
    """Check that no background job of ours uses the kernel, because new code would wait for its end. Raises:
    ToolError."""
    job = context.jobs.find_holder(kernel, path) if context.jobs else None
    if job is not None:
        raise ToolError(
            f"The kernel is busy with {job.label}, in the background as {job.id}, for {job.elapsed} so far.",
            "You are told when it ends; until then go on with something else, or end it with bg_job.",
        )


async def wait_or_detach(
    context: ToolContext,
    work: Coroutine[None, None, T] | asyncio.Future[T],
    watch: RunWatch,
    new_job: NewJob,
    ending: Callable[[T], JobEnding],
    *,
    background: bool,
) -> T | Job:
    """Wait for the work and return its result, or let it continue as a background job and return the job. With
    `background` it becomes a job at once. Otherwise it becomes one when the user wants that, or when a message of the
    user would have to wait for too long.

    `ending` turns the result of the work into the end of the job. Raises: ToolError, also when jobs are not possible;
    StoppedRunError when the turn is stopped.
    """
    jobs = None if context.from_cell else context.jobs
    if background and jobs is None:
        raise ToolError("There is no background here: the kernel's own cell asks.", "Run it without background.")
    future = asyncio.ensure_future(work)
    is_job = False
    try:
        while True:
            if not background:
                await _wait_until_done(context, future, watch, background=jobs is not None)
            if future.done():
                return future.result()
            try:
                job = (
                    jobs.adopt(
                        replace(new_job, began=watch.started_at),
                        future,
                        lambda: ending(future.result()),
                        watch.list_lines,
                    )
                    if jobs
                    else None
                )
            except ToolError:
                if background:
                    raise
                job = None  # there are too many jobs, so the call still waits
            if job is not None:
                is_job = True
                return job
            # The work could not become a job. The events that requested it are reset, and the call waits again.
            context.moved_to_background.clear()
            context.steered.clear()
    except asyncio.CancelledError:
        if (task := asyncio.current_task()) is None or future.done():
            raise
        # The engine knows that the turn is stopped. The output so far must not be lost.
        task.uncancel()
        raise StoppedRunError(f"How far it was: {watch.describe()}") from None
    finally:
        if not is_job and not future.done():
            future.cancel()
            await asyncio.wait((future,))


async def _wait_until_done(
    context: ToolContext, future: asyncio.Future[Any], watch: RunWatch, *, background: bool
) -> None:
    """Wait until the work has ended, the user moves it to the background, or a message of the user has to wait for too
    long. Meanwhile report the progress. `background` is whether the work can continue in the background."""
    away = asyncio.ensure_future(context.moved_to_background.wait())
    try:
        while not (future.done() or away.done() or (background and _keeps_user_waiting(context, watch))):
            await asyncio.wait((future, away), timeout=REPORT_SECONDS, return_when=asyncio.FIRST_COMPLETED)
            context.report(watch.report(background=background))
    finally:
        away.cancel()


def _keeps_user_waiting(context: ToolContext, watch: RunWatch) -> bool:
    """Return whether the user has sent a message that the model cannot read because it waits for this work, and the
    work has been running for `LONG_SECONDS`."""
    return context.steered.is_set() and watch.seconds >= LONG_SECONDS
