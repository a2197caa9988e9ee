"""Finds problems that only a notebook can have: cells that ran out of order, were edited after they ran, or never ran,
and names that exist only in the kernel.

The module is pure: it works on the document and on the names that the kernel has. It must not ask the kernel, which
`kernel_facts.py` does, or run linters. `magics.py` parses a cell, and `name_analysis.py` finds its names.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.diagnostics.location import make_cell_diagnostic, make_diagnostic, make_uri
from jupyter_eca.workspace.diagnostics.magics import parse_cell
from jupyter_eca.workspace.diagnostics.name_analysis import CellNames, analyze_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.diagnostics.magics import Flaw
    from jupyter_eca.workspace.diagnostics.name_analysis import Spot

# The name of this source of diagnostics.
SOURCE: Final = "notebook"

# The number of names that are listed when a restart would lose them. A longer list helps nobody.
MAX_NAMES: Final = 30

# The languages of Python notebooks. The language is empty for a notebook that never ran.
_PYTHON: Final = ("python", "ipython", "")


@dataclass(frozen=True, slots=True)
class AnalyzedCell:
    """A code cell, and what is known about its names."""

    number: int
    """Its number in the notebook, from 1."""
    cell: NotebookCell
    """The cell itself, with its source and its outputs."""
    names: CellNames
    """The names that it binds and reads; empty when it is not Python, or cannot be parsed."""
    is_opaque: bool
    """Whether it may bind names that cannot be known from the source."""
    flaw: Flaw | None = None
    """Why Python cannot parse it."""
    magic_names: frozenset[str] = frozenset()
    """The names that its magics bind."""

    @property
    def is_current(self) -> bool:
        """Whether it ran in this kernel, and was not edited since."""
        return self.has_run_here and self.cell.state is not CellState.EDITED

    @property
    def has_run_here(self) -> bool:
        """Whether it ran in this kernel, as far as that is known."""
        return self.cell.execution_count is not None and self.cell.state is not CellState.EARLIER


def is_python(document: NotebookDocument) -> bool:
    """Return whether the cells of a notebook are Python."""
    return document.language.lower() in _PYTHON


def analyze_cells(document: NotebookDocument) -> tuple[AnalyzedCell, ...]:
    """Analyze the cells that contain code. Parsing takes a few milliseconds."""
    python = is_python(document)
    return tuple(
        _analyze_cell(number, cell, python=python)
        for number, cell in enumerate(document.cells, 1)
        if cell.cell_type is CellType.CODE and cell.source.strip()
    )


def _analyze_cell(number: int, cell: NotebookCell, *, python: bool) -> AnalyzedCell:
    """Analyze one cell. `python` says whether it is a cell of a Python notebook. In a notebook of another language, the
    names in its cells are unknown."""
    if not python:
        return AnalyzedCell(number, cell, CellNames(), is_opaque=True)
    parsed = parse_cell(cell.source)
    try:
        names = analyze_names(parsed.tree) if parsed.tree else CellNames()
    except RecursionError:
        return AnalyzedCell(number, cell, CellNames(), is_opaque=True)
    names.binds |= parsed.binds
    return AnalyzedCell(
        number, cell, names, parsed.opaque or parsed.tree is None or names.has_star_import, parsed.flaw, parsed.binds
    )


def find_problems(
    document: NotebookDocument, cells: Sequence[AnalyzedCell], kernel_names: frozenset[str] | None = None
) -> list[EditorDiagnostic]:
    """Find the problems of a notebook. `kernel_names` are the names of the user's variables in the kernel, here and
    below; None when they are unknown."""
    problems = [*_check_states(document.path, cells), *_check_order(document.path, cells)]
    if is_python(document):
        problems += [
            *_check_reads(document.path, cells, kernel_names or frozenset()),
            *_check_lost_names(document.path, cells, kernel_names),
        ]
    return problems


def _check_states(path: str, cells: Iterable[AnalyzedCell]) -> Iterator[EditorDiagnostic]:
    """Report cells that were edited since they ran, ran in an earlier kernel or perhaps did, or never ran."""
    for analyzed in cells:
        cell, state = analyzed.cell, analyzed.cell.state
        if state is CellState.EDITED:
            message = "edited since it ran: its outputs, and its names in the kernel, come from the old source"
            yield _make_diagnostic(path, cell, Severity.WARNING, message, "edited")
        elif state is CellState.EARLIER:
            message = "ran in an earlier kernel: its outputs are from then, and what it defined is not in this kernel"
            yield _make_diagnostic(path, cell, Severity.WARNING, message, "ran-earlier")
        elif state is CellState.UNCERTAIN:
            message = "may have run in an earlier kernel: then its outputs are from then, and what it defined is gone"
            yield _make_diagnostic(path, cell, Severity.INFO, message, "ran-uncertain")
        elif state is CellState.NEVER_RUN or (state is None and cell.execution_count is None):
            yield _make_diagnostic(path, cell, Severity.INFO, "never run", "never-run")


def _check_order(path: str, cells: Sequence[AnalyzedCell]) -> Iterator[EditorDiagnostic]:
    """Report the cells that ran out of order. It reports the smallest set of cells that explains the order. So when one
    cell was run again, only that cell is reported, and not all others."""
    ran = [analyzed for analyzed in cells if analyzed.has_run_here]
    in_order = _compute_longest_increasing([analyzed.cell.execution_count or 0 for analyzed in ran])
    for place, analyzed in enumerate(ran):
        if place in in_order:
            continue
        count = analyzed.cell.execution_count or 0
        late = [analyzed for analyzed in ran[place + 1 :] if (analyzed.cell.execution_count or 0) < count]
        early = [analyzed for analyzed in ran[:place] if (analyzed.cell.execution_count or 0) > count]
        explanation = " and ".join(
            part
            for part in (
                f"after {_describe_cells(late)} below it" if late else "",
                f"before {_describe_cells(early)} above it" if early else "",
            )
            if part
        )
        yield _make_diagnostic(
            path,
            analyzed.cell,
            Severity.WARNING,
            f"ran out of order (execution {count}), {explanation}",
            "out-of-order",
        )


def _compute_longest_increasing(counts: Sequence[int]) -> set[int]:
    """Return the positions of a longest increasing subsequence of the counts (by patience sorting): `[1, 9, 2, 3]` ->
    `{0, 2, 3}`."""
    ends: list[int] = []  # by length: the smallest count with which a sequence of that length can end
    places: list[int] = []  # by length: the position of that count
    before: list[int] = []  # by position: the position of the count before it in its sequence; -1 for none
    for place, count in enumerate(counts):
        length = bisect_left(ends, count)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [count]
        places[length : length + 1] = [place]
    positions: set[int] = set()
    place = places[-1] if places else -1
    while place >= 0:
        positions.add(place)
        place = before[place]
    return positions


def _check_reads(path: str, cells: Sequence[AnalyzedCell], kernel_names: frozenset[str]) -> Iterator[EditorDiagnostic]:
    """Report names that a cell reads, but that no cell above it defines, or whose definition ran later."""
    definers: dict[str, list[AnalyzedCell]] = {}
    for analyzed in cells:
        for name in analyzed.names.binds:
            definers.setdefault(name, []).append(analyzed)
    is_unclear = False  # whether a cell above could not be analyzed, which may define any name
    for analyzed in cells:
        is_unclear = is_unclear or analyzed.is_opaque
        for name, spot in analyzed.names.reads.items():
            candidates = definers.get(name, [])
            above = [candidate for candidate in candidates if candidate.number < analyzed.number]
            below = [candidate for candidate in candidates if candidate.number > analyzed.number]
            if above:
                yield from _check_stale_read(path, analyzed, name, spot, above[-1])
            elif not is_unclear and below:
                message = f"`{name}` is defined only below, in {_describe_cells(below)}: a run from the top fails here"
                yield _make_diagnostic(path, analyzed.cell, Severity.WARNING, message, "defined-below", spot)
        later = {} if is_unclear else analyzed.names.reads_later
        for name, spot in {**later, **analyzed.names.reads}.items():
            if name not in definers and (
                name in kernel_names or (not is_unclear and _has_run_with_name(analyzed, name))
            ):
                message = f"`{name}` is defined in no cell (any more): it is in the kernel only, and a restart loses it"
                yield _make_diagnostic(path, analyzed.cell, Severity.WARNING, message, "defined-nowhere", spot)


def _has_run_with_name(analyzed: AnalyzedCell, name: str) -> bool:
    """Return whether the cell ran without an error and reads this name. If so, the name existed at that time."""
    failed = any(output.get("output_type") == "error" for output in analyzed.cell.outputs)
    return analyzed.is_current and not failed and name in analyzed.names.reads


def _check_stale_read(
    path: str, reader: AnalyzedCell, name: str, spot: Spot, definer: AnalyzedCell
) -> Iterator[EditorDiagnostic]:
    """Report a cell that read a name before another cell defined it again."""
    reader_count, definer_count = reader.cell.execution_count, definer.cell.execution_count
    if not (reader.is_current and definer.has_run_here):
        return
    if reader_count is not None and definer_count is not None and definer_count > reader_count:
        message = (
            f"ran before cell {definer.number}, which defined `{name}` again: "
            f"its outputs may be old (execution {reader_count}, {definer_count})"
        )
        yield _make_diagnostic(path, reader.cell, Severity.WARNING, message, "stale", spot)


def _check_lost_names(
    path: str, cells: Sequence[AnalyzedCell], kernel_names: frozenset[str] | None
) -> Iterator[EditorDiagnostic]:
    """Report the names in the kernel that no cell defines."""
    if kernel_names is None or any(analyzed.is_opaque for analyzed in cells):
        return
    names = sorted(kernel_names - {name for analyzed in cells for name in analyzed.names.binds})
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        message = f"A restart would lose what no cell defines: {', '.join(names[:MAX_NAMES])}{more}"
        yield make_diagnostic(make_uri(path), 0, 0, Severity.WARNING, message, SOURCE, "lost-by-restart")


def _make_diagnostic(
    path: str, cell: NotebookCell, severity: Severity, message: str, code: str, spot: Spot = (0, 0)
) -> EditorDiagnostic:
    """Make a diagnostic in a cell. `spot` is from Python's parser, which counts columns in bytes of UTF-8. A diagnostic
    counts characters."""
    line, column = spot
    text = cell.source.split("\n")[line] if line <= cell.source.count("\n") else ""
    character = len(text.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))
    return make_cell_diagnostic(path, cell, (line, character), severity, message, SOURCE, code)


def _describe_cells(cells: Sequence[AnalyzedCell]) -> str:
    """Return the numbers of cells in words: `cell 3`, `cells 2-4, 7`."""
    numbers = [analyzed.number for analyzed in cells]
    return ("cell " if len(numbers) == 1 else "cells ") + format_ranges(numbers)


def format_ranges(numbers: Iterable[int]) -> str:
    """Format ascending numbers: `[2, 3, 4, 7]` -> `2-4, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
