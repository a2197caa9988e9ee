"""What only a notebook can have wrong: cells that ran out of order, were edited since or never ran, and names that live
on in the kernel alone. Pure: of the document, and of the names that its kernel has."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.diagnostics.location import at, in_cell, uri
from jupyter_eca.workspace.diagnostics.magics import read
from jupyter_eca.workspace.diagnostics.name_analysis import Names, of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.diagnostics.magics import Flaw
    from jupyter_eca.workspace.diagnostics.name_analysis import Spot

SOURCE: Final = "notebook"

# Of the names that a restart loses: a loop of a thousand of them says no more.
MAX_NAMES: Final = 30

_PYTHON: Final = ("python", "ipython", "")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A code cell and its number; what it binds and takes, where it is Python that can be read. `magic` are the names
    that its magics bind."""

    number: int
    cell: NotebookCell
    names: Names
    opaque: bool
    flaw: Flaw | None = None
    magic: frozenset[str] = frozenset()

    @property
    def ran(self) -> bool:
        return self.cell.execution_count is not None and self.cell.state is not CellState.EDITED


def is_python(document: NotebookDocument) -> bool:
    return document.language.lower() in _PYTHON


def sheets(document: NotebookDocument) -> tuple[Sheet, ...]:
    """Those cells that have code in them. It takes a few milliseconds of Python's own parser."""
    python = is_python(document)
    return tuple(
        _sheet(number, cell, python=python)
        for number, cell in enumerate(document.cells, 1)
        if cell.cell_type is CellType.CODE and cell.source.strip()
    )


def _sheet(number: int, cell: NotebookCell, *, python: bool) -> Sheet:
    if not python:
        return Sheet(number, cell, Names(), opaque=True)
    found = read(cell.source)
    try:
        names = of(found.tree) if found.tree else Names()
    except RecursionError:
        return Sheet(number, cell, Names(), opaque=True)
    names.binds |= found.binds
    return Sheet(number, cell, names, found.opaque or found.tree is None or names.stars, found.flaw, found.binds)


def found(
    document: NotebookDocument, code: Sequence[Sheet], kernel: frozenset[str] | None = None
) -> list[EditorDiagnostic]:
    """`kernel` are the names that the user has in it; None where it could not be asked."""
    told = [*_states(document.path, code), *_order(document.path, code)]
    if is_python(document):
        told += [*_taken(document.path, code, kernel or frozenset()), *_lost(document.path, code, kernel)]
    return told


def _states(path: str, code: Iterable[Sheet]) -> Iterator[EditorDiagnostic]:
    for sheet in code:
        cell, state = sheet.cell, sheet.cell.state
        if state is CellState.EDITED:
            said = "edited since it ran: its outputs, and its names in the kernel, are of another source"
            yield _at(path, cell, Severity.WARNING, said, "edited")
        elif state is CellState.NEVER_RUN or (state is None and cell.execution_count is None):
            yield _at(path, cell, Severity.INFO, "never run", "never-run")


def _order(path: str, code: Sequence[Sheet]) -> Iterator[EditorDiagnostic]:
    """As few cells as explain the order: with the one that was run again, not with all the others that were not."""
    ran = [sheet for sheet in code if sheet.cell.execution_count is not None]
    in_order = _longest([sheet.cell.execution_count or 0 for sheet in ran])
    for place, sheet in enumerate(ran):
        if place in in_order:
            continue
        count = sheet.cell.execution_count or 0
        late = [one for one in ran[place + 1 :] if (one.cell.execution_count or 0) < count]
        early = [one for one in ran[:place] if (one.cell.execution_count or 0) > count]
        said = " and ".join(
            part
            for part in (
                f"after {_cells(late)} below it" if late else "",
                f"before {_cells(early)} above it" if early else "",
            )
            if part
        )
        yield _at(path, sheet.cell, Severity.WARNING, f"ran out of order (execution {count}), {said}", "out-of-order")


def _longest(counts: Sequence[int]) -> set[int]:
    """The places of a longest run of counts that only grow."""
    ends: list[int] = []
    places: list[int] = []
    before: list[int] = []
    for place, count in enumerate(counts):
        length = bisect_left(ends, count)
        before.append(places[length - 1] if length else -1)
        ends[length : length + 1] = [count]
        places[length : length + 1] = [place]
    kept: set[int] = set()
    place = places[-1] if places else -1
    while place >= 0:
        kept.add(place)
        place = before[place]
    return kept


def _taken(path: str, code: Sequence[Sheet], kernel: frozenset[str]) -> Iterator[EditorDiagnostic]:
    """Names that a cell reads, and where they come from."""
    definers: dict[str, list[Sheet]] = {}
    for sheet in code:
        for name in sheet.names.binds:
            definers.setdefault(name, []).append(sheet)
    unseen = False  # from here on names may come from what nobody can read
    for sheet in code:
        unseen = unseen or sheet.opaque
        for name, spot in sheet.names.takes.items():
            by = definers.get(name, [])
            above = [one for one in by if one.number < sheet.number]
            below = [one for one in by if one.number > sheet.number]
            if above:
                yield from _stale(path, sheet, name, spot, above[-1])
            elif not unseen and below:
                said = f"`{name}` is defined only below, in {_cells(below)}: a run from the top fails here"
                yield _at(path, sheet.cell, Severity.WARNING, said, "defined-below", spot)
        later = {} if unseen else sheet.names.later
        for name, spot in {**later, **sheet.names.takes}.items():
            if name not in definers and (name in kernel or (not unseen and _worked_with(sheet, name))):
                said = f"`{name}` is defined in no cell (any more): it is in the kernel only, and a restart loses it"
                yield _at(path, sheet.cell, Severity.WARNING, said, "defined-nowhere", spot)


def _worked_with(sheet: Sheet, name: str) -> bool:
    """Whether the cell ran to its end with a name that it must have got from somewhere."""
    failed = any(output.get("output_type") == "error" for output in sheet.cell.outputs)
    return sheet.ran and not failed and name in sheet.names.takes


def _stale(path: str, sheet: Sheet, name: str, spot: Spot, by: Sheet) -> Iterator[EditorDiagnostic]:
    mine, its = sheet.cell.execution_count, by.cell.execution_count
    if sheet.ran and mine is not None and its is not None and its > mine:
        said = (
            f"ran before cell {by.number}, which made `{name}` anew: its outputs may be old (execution {mine}, {its})"
        )
        yield _at(path, sheet.cell, Severity.WARNING, said, "stale", spot)


def _lost(path: str, code: Sequence[Sheet], kernel: frozenset[str] | None) -> Iterator[EditorDiagnostic]:
    if kernel is None or any(sheet.opaque for sheet in code):
        return
    names = sorted(kernel - {name for sheet in code for name in sheet.names.binds})
    if names:
        more = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
        said = f"A restart would lose what no cell defines: {', '.join(names[:MAX_NAMES])}{more}"
        yield at(uri(path), 0, 0, Severity.WARNING, said, SOURCE, "lost-by-restart")


def _at(
    path: str, cell: NotebookCell, severity: Severity, message: str, code: str, spot: Spot = (0, 0)
) -> EditorDiagnostic:
    """Python's own columns are of bytes."""
    line, column = spot
    text = cell.source.split("\n")[line] if line <= cell.source.count("\n") else ""
    character = len(text.encode("utf-8", "replace")[:column].decode("utf-8", "ignore"))
    return in_cell(path, cell, (line, character), severity, message, SOURCE, code)


def _cells(found: Sequence[Sheet]) -> str:
    numbers = [sheet.number for sheet in found]
    return ("cell " if len(numbers) == 1 else "cells ") + ranges(numbers)


def ranges(numbers: Iterable[int]) -> str:
    """`2-4, 7`."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1][1:] = [number]
        else:
            runs.append([number])
    return ", ".join("-".join(map(str, run)) for run in runs)
