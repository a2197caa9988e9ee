"""Looks at the open notebook and its kernel for the contexts that are offered while the user types.

The notebook and the kernel are in other processes, but the list of offers must appear at once. So an answer is also
used for the next letters that the user types. If there is no answer in time, the notebook or the kernel is not asked
again for a few seconds, so that typing is not delayed at each letter.

This module must not read anything for the model: `open_notebook` does.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files.name_search import NameIndex
from jupyter_eca.workspace.kernels.kernel_choice import find_active_kernel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from jupyter_eca.protocol.notebook import NotebookCell, Variable
    from jupyter_eca.workspace.ports import Kernel, Kernels, OpenNotebooks

T = TypeVar("T")


class Pace(NamedTuple):
    """How long an answer is awaited and used, in seconds."""

    wait_seconds: float
    """The seconds to wait for an answer."""
    reuse_seconds: float
    """The seconds that an answer is used."""
    retry_seconds: float
    """The seconds until the next question if there was no answer."""


# For the notebook and the variables. A page on the same machine answers within hundredths of a second, and a kernel
# that runs a cell does not answer at all.
USUAL_PACE: Final = Pace(0.25, 2.0, 5.0)

# For the tables of databases. A database may be on another machine, and each look opens a connection to it.
DATABASE_PACE: Final = Pace(0.25, 10.0, 60.0)

# For a user who has typed the word of exactly this kind of context, such as `table:`, and so will wait longer.
PATIENT_PACE: Final = Pace(1.5, 10.0, 1.0)

# How many answers are kept, at most.
_MAX_ANSWERS: Final = 20

# How many characters a line in the list of offers has, at most.
_MAX_LINE_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class CellLine:
    """A cell in a list of offers."""

    number: int
    """The number of the cell in the notebook, counted from 1."""
    id: str
    """The id of the cell."""
    first_line: str
    """The first line of its source."""
    has_output: bool = False
    """Whether the cell has outputs."""
    error_line: str = ""
    """The last line of its error, such as `ValueError: too small`, "" for none."""
    execution_count: int = 0
    """The number that Jupyter shows beside the cell after it has run, 0 if it has not run."""


@dataclass(frozen=True, slots=True)
class NotebooksOverview:
    """What was read of the open notebooks, as far as the list of offers needs it."""

    paths: tuple[str, ...] = ()
    """The paths of all open notebooks, the active one first. The other fields are about the active one."""
    cells: tuple[CellLine, ...] = ()
    """All cells, in their order."""
    active: str = ""
    """The id of the active cell."""
    selected: str = ""
    """The first line of the selected text."""

    @property
    def error(self) -> CellLine | None:
        """The cell that failed last; None when no cell has failed."""
        return max(
            (cell for cell in self.cells if cell.error_line),
            key=lambda cell: (cell.execution_count, cell.number),
            default=None,
        )

    @property
    def ended_with_error(self) -> bool:
        """Whether no cell ran after the one that failed last."""
        last_count = max((cell.execution_count for cell in self.cells), default=0)
        return self.error is not None and self.error.execution_count >= last_count


class NotebookSources(Protocol):
    """The fields of `Surroundings` that this module needs. They are explained there."""

    @property
    def chat(self) -> str:
        """The id of the chat."""
        ...

    @property
    def notebooks(self) -> OpenNotebooks | None:
        """The notebooks that clients have open; None if there are none to read."""
        ...

    @property
    def kernel(self) -> Kernel | None:
        """The kernel that the chat belongs to; None for none."""
        ...

    @property
    def kernels(self) -> Kernels | None:
        """The kernels of notebooks; None if they cannot be found."""
        ...


class RecentLooks:
    """The answers of the last seconds from notebooks and kernels. They are kept for each chat, because each chat has
    its own clients, and so its own open notebooks."""

    def __init__(self) -> None:
        # The time on the monotonic clock until which an answer is used, and the answer. The keys of all three fields
        # are those that are given to `_look`.
        self._answers: dict[object, tuple[float, Any]] = {}
        # The keys for which the last call of `_look` got no answer.
        self._failed: set[object] = set()
        # The locks that keep two calls of `_look` with the same key from asking at the same time.
        self._locks: dict[object, asyncio.Lock] = {}

    async def read_notebooks(self, surroundings: NotebookSources) -> NotebooksOverview:
        """Return an overview of the open notebooks."""
        notebooks = surroundings.notebooks
        if notebooks is None:
            return NotebooksOverview()
        key = ("notebook", surroundings.chat)
        return await self._look(key, lambda: _look_at_notebook(notebooks), NotebooksOverview(), USUAL_PACE)

    async def read_variables(self, surroundings: NotebookSources, pace: Pace = USUAL_PACE) -> tuple[Variable, ...]:
        """Return the variables of the active kernel."""
        if surroundings.kernel is None:
            return ()

        async def look() -> tuple[Variable, ...]:
            """Ask the kernel for all variables."""
            kernel = await find_active_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebooks)
            return (await kernel.variables(surroundings.chat, ())).variables if kernel is not None else ()

        return await self._look(("kernel", surroundings.chat, id(surroundings.kernel), pace), look, (), pace)

    def lacks_variables(self, surroundings: NotebookSources) -> bool:
        """Return whether the variables could not be read the last time, because the kernel has not answered in
        time."""
        return ("kernel", surroundings.chat, id(surroundings.kernel), USUAL_PACE) in self._failed

    async def read_databases(self, surroundings: NotebookSources, *, patient: bool) -> tuple[Variable, ...]:
        """Return the connections to databases in the active kernel, with their tables. With `patient`, it may take more
        than a second."""
        variables = await self.read_variables(surroundings, PATIENT_PACE if patient else USUAL_PACE)
        names = tuple(variable.name for variable in variables if variable.database)
        if not names:
            return ()

        async def look() -> tuple[Variable, ...]:
            """Ask the kernel for the connections, with their tables."""
            kernel = await find_active_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebooks)
            return (await kernel.variables(surroundings.chat, names)).variables if kernel is not None else ()

        pace = PATIENT_PACE if patient else DATABASE_PACE
        return await self._look(("databases", surroundings.chat, id(surroundings.kernel), names, pace), look, (), pace)

    async def _look(self, key: object, look: Callable[[], Awaitable[T]], nothing: T, pace: Pace) -> T:
        """Return the recent answer for a key, or call `look`. If `look` fails or takes too long, return `nothing`."""
        async with self._locks.setdefault(key, asyncio.Lock()):
            until, answer = self._answers.get(key, (0.0, nothing))
            if monotonic() < until:
                return answer
            try:
                async with asyncio.timeout(pace.wait_seconds):
                    answer, lifetime = await look(), pace.reuse_seconds
                self._failed.discard(key)
            except (ToolError, TimeoutError):
                answer, lifetime = nothing, pace.retry_seconds
                self._failed.add(key)
            self._answers.pop(key, None)
            self._answers[key] = (monotonic() + lifetime, answer)
            self._drop_oldest()
            return answer

    def _drop_oldest(self) -> None:
        """Drop the oldest answers, so that at most `_MAX_ANSWERS` are kept."""
        for key in list(self._answers)[:-_MAX_ANSWERS]:
            del self._answers[key]
            self._failed.discard(key)
            if (lock := self._locks.get(key)) is not None and not lock.locked():
                del self._locks[key]


async def _look_at_notebook(notebooks: OpenNotebooks) -> NotebooksOverview:
    """Read the active notebook, which is the first one in the list."""
    paths = tuple(info.path for info in await notebooks.list())
    if not paths:
        return NotebooksOverview()
    document = await notebooks.read(paths[0])
    cells = tuple(_describe_cell(number, cell) for number, cell in enumerate(document.cells, 1))
    selected = document.selection.text if document.selection else ""
    return NotebooksOverview(paths, cells, document.active_cell_id or "", get_first_line(selected))


def _describe_cell(number: int, cell: NotebookCell) -> CellLine:
    """Return a cell as a line in the list of offers."""
    errors = [output for output in cell.outputs if output.get("output_type") == "error"]
    error = f"{errors[-1].get('ename')}: {errors[-1].get('evalue')}" if errors else ""
    return CellLine(
        number,
        cell.id,
        get_first_line(cell.source),
        has_output=bool(cell.outputs),
        error_line=get_first_line(error),
        execution_count=cell.execution_count or 0,
    )


def find_best(values: Mapping[str, T], query: str, limit: int) -> list[T]:
    """Return the values whose names fit the query best, at most `limit`. `values` has the values by their names. The
    names are searched with an index, because there may be a thousand."""
    return [values[name] for _, name in NameIndex(tuple(values)).search(query, limit)]


def get_first_line(text: str) -> str:
    """Return the first line that is not empty, cut to `_MAX_LINE_CHARS`; "" if there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _MAX_LINE_CHARS else f"{line[: _MAX_LINE_CHARS - 1]}…"
