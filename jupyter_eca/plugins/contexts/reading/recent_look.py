"""What a user who types can point at in the open notebook and its kernel, as it was a moment ago. It reads nothing
for a model: `open_notebook` does.

Both are asked over a link, while the list under the prompt is to be there at once. So an answer serves the next letters
too, and one that did not come in time is not asked for again at once: nobody's typing is held up by it twice.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files.name_search import NameIndex
from jupyter_eca.workspace.kernels.nearest import find_active_kernel

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from jupyter_eca.protocol.notebook import NotebookCell, Variable
    from jupyter_eca.workspace.ports import Kernel, Kernels, OpenNotebooks

T = TypeVar("T")

# Seconds. A page on the same machine answers in hundredths; a kernel that runs something, never.
PATIENCE: Final = 0.25
FRESH: Final = 2.0
RESTED: Final = 5.0

# Of chats whose answers are kept.
_MOST: Final = 20

_WORDS: Final = 80


@dataclass(frozen=True, slots=True)
class CellLine:
    """A cell in a list of offers. `failed` is the last line of its error."""

    number: int
    id: str
    first: str
    has_output: bool = False
    failed: str = ""
    count: int = 0


@dataclass(frozen=True, slots=True)
class Glance:
    """What was seen of the open notebooks. `paths` are all of them, the active one first; the other fields are about
    that one. `selected` is the beginning of the selected text."""

    paths: tuple[str, ...] = ()
    cells: tuple[CellLine, ...] = ()
    active: str = ""
    selected: str = ""

    @property
    def error(self) -> CellLine | None:
        """The cell that failed last, by when it ran."""
        return max(
            (cell for cell in self.cells if cell.failed), key=lambda cell: (cell.count, cell.number), default=None
        )

    @property
    def ended_so(self) -> bool:
        """Whether nothing ran after that cell."""
        return self.error is not None and self.error.count >= max(cell.count for cell in self.cells)


class NotebookSources(Protocol):
    """The fields of `Surroundings` that a look at the open notebook and its kernel needs."""

    @property
    def chat(self) -> str: ...

    @property
    def notebooks(self) -> OpenNotebooks | None: ...

    @property
    def kernel(self) -> Kernel | None: ...

    @property
    def kernels(self) -> Kernels | None: ...


class Glances:
    """What was seen a moment ago, by chat: the clients of a chat decide which notebooks are open."""

    def __init__(self) -> None:
        self._seen: dict[object, tuple[float, Any]] = {}
        self._turns: dict[object, asyncio.Lock] = {}

    async def notebook(self, surroundings: NotebookSources) -> Glance:
        notebooks = surroundings.notebooks
        if notebooks is None:
            return Glance()
        return await self._look(("notebook", surroundings.chat), lambda: _notebook(notebooks), Glance())

    async def variables(self, surroundings: NotebookSources) -> tuple[Variable, ...]:
        if surroundings.kernel is None:
            return ()

        async def look() -> tuple[Variable, ...]:
            kernel = await find_active_kernel(surroundings.kernel, surroundings.kernels, surroundings.notebooks)
            return (await kernel.variables(surroundings.chat, ())).variables if kernel is not None else ()

        return await self._look(("kernel", surroundings.chat, id(surroundings.kernel)), look, ())

    async def _look(self, key: object, look: Callable[[], Awaitable[T]], nothing: T) -> T:
        async with self._turns.setdefault(key, asyncio.Lock()):
            until, seen = self._seen.get(key, (0.0, nothing))
            if monotonic() < until:
                return seen
            try:
                async with asyncio.timeout(PATIENCE):
                    seen, lasting = await look(), FRESH
            except (ToolError, TimeoutError):
                seen, lasting = nothing, RESTED
            self._seen.pop(key, None)
            self._seen[key] = (monotonic() + lasting, seen)
            self._forget()
            return seen

    def _forget(self) -> None:
        for key in list(self._seen)[:-_MOST]:
            del self._seen[key]
            if (turn := self._turns.get(key)) is not None and not turn.locked():
                del self._turns[key]


async def _notebook(notebooks: OpenNotebooks) -> Glance:
    paths = tuple(info.path for info in await notebooks.list())
    if not paths:
        return Glance()
    document = await notebooks.read(paths[0])
    cells = tuple(_line(number, cell) for number, cell in enumerate(document.cells, 1))
    selected = document.selection.text if document.selection else ""
    return Glance(paths, cells, document.active_cell_id or "", first_line(selected))


def _line(number: int, cell: NotebookCell) -> CellLine:
    errors = [output for output in cell.outputs if output.get("output_type") == "error"]
    failed = f"{errors[-1].get('ename')}: {errors[-1].get('evalue')}" if errors else ""
    count = cell.execution_count or 0
    return CellLine(number, cell.id, first_line(cell.source), bool(cell.outputs), first_line(failed), count)


def find_best(names: Mapping[str, T], query: str, most: int) -> list[T]:
    """Return the values whose names fit best. All names are searched at once, since there may be a thousand."""
    return [names[name] for _, name in NameIndex(tuple(names)).search(query, most)]


def first_line(text: str) -> str:
    """Return the first line that is not empty."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _WORDS else f"{line[: _WORDS - 1]}…"
