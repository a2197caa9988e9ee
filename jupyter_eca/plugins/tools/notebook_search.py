"""Searches in the sources of notebooks, for the tool `grep`. The file of a notebook also has outputs and pictures, and
a line of it does not say which cell it belongs to.

This module must not match a pattern itself: it writes the sources to a folder, and `search` runs the program that
searches there.
"""

from __future__ import annotations

import asyncio
import json
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config.disk import regular_file
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.jobs.process_folder import make_process_folder
from jupyter_eca.workspace.reading.cell_text import as_object

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Sequence

    from jupyter_eca.plugins.tools.base import ToolContext

# How many notebooks one search reads, at most, and how many bytes each may have.
MAX_NOTEBOOKS: Final = 300
MAX_NOTEBOOK_BYTES: Final = 50_000_000


@dataclass(frozen=True, slots=True)
class SourceMatch:
    """A line of a cell that matches."""

    path: str
    """The path of the notebook, as the model gets it."""
    number: int
    """The number of the cell."""
    id: str
    """The id of the cell; empty in a notebook that is too old to have ids."""
    line: int
    """The number of the line in the cell, from 1."""
    text: str
    """The text of the line."""


@dataclass(frozen=True, slots=True)
class _SearchedCell:
    """A cell in whose source is searched."""

    id: str
    """The id of the cell, "" for none."""
    source: str
    """The source of the cell."""


async def search_notebooks(
    context: ToolContext, paths: Sequence[Path], find: Callable[[Path], Awaitable[list[tuple[str, int, str]]]]
) -> list[SourceMatch]:
    """Search in the sources of notebooks, in the order of `paths`. Where a notebook is open, its unsaved cells count.

    `find` searches in a folder of text files. It returns the name of the file, the number and the text of each line
    that matches. Raises: what `find` raises.
    """
    opened = {info.path for info in await context.notebooks.list()} if context.notebooks is not None else set[str]()
    notebooks = [(context.files.shorten(path), await _read_cells(context, path, opened)) for path in paths]
    with tempfile.TemporaryDirectory(dir=make_process_folder()) as name:
        await asyncio.to_thread(_write_sources, Path(name), [cells for _, cells in notebooks])
        found = await find(Path(name))
    places = {_name_file(place): place for place in range(len(notebooks))}
    matches: list[tuple[int, SourceMatch]] = []
    for file, line, text in sorted(found, key=lambda match: match[1]):
        place = places.get(Path(file).name)
        path, cells = notebooks[place] if place is not None else ("", ())
        if place is not None and (found_cell := _find_place(cells, line)) is not None:
            number, line_in_cell = found_cell
            matches.append((place, SourceMatch(path, number, cells[number - 1].id, line_in_cell, text)))
    return [match for _, match in sorted(matches, key=lambda pair: pair[0])]


async def _read_cells(context: ToolContext, path: Path, opened: Iterable[str]) -> tuple[_SearchedCell, ...]:
    """Return the cells of a notebook; none if it cannot be read."""
    try:
        contents_path = context.files.contents_path(path)
        if context.notebooks is not None and contents_path in opened:
            return tuple(
                _SearchedCell(cell.id, cell.source) for cell in (await context.notebooks.read(contents_path)).cells
            )
        return await run_read(_read_file, path)
    except ToolError:
        return ()


def _read_file(path: Path) -> tuple[_SearchedCell, ...]:
    """Return the cells of a file. Blocks."""
    try:
        # A link that was put on the path since it was checked is not followed.
        cells: Any = as_object(json.loads(regular_file.read_resolved(path, MAX_NOTEBOOK_BYTES))).get("cells")
    except (OSError, ValueError, RecursionError):
        return ()
    return tuple(_parse_cell(cell) for cell in cells) if isinstance(cells, list) else ()  # pyright: ignore[reportUnknownVariableType]  # raw JSON


def _parse_cell(cell: Any) -> _SearchedCell:
    """Return a cell from the JSON of a notebook file. What is missing is empty, because the file may be damaged."""
    fields = as_object(cell)
    source: Any = fields.get("source", "")
    return _SearchedCell(str(fields.get("id", "")), source if isinstance(source, str) else "".join(map(str, source)))


def _name_file(place: int) -> str:
    """Return the name of the file with the sources of a notebook. `place` is its place in the list of notebooks."""
    return f"{place}.txt"


def _write_sources(folder: Path, notebooks: Sequence[Sequence[_SearchedCell]]) -> None:
    """Write the sources of each notebook into a file, whose name is the place of the notebook in the list. Blocks."""
    for place, cells in enumerate(notebooks):
        text = "".join(f"{line}\n" for cell in cells for line in cell.source.split("\n"))
        (folder / _name_file(place)).write_text(text, "utf-8", errors="replace", newline="")


def _find_place(cells: Sequence[_SearchedCell], line: int) -> tuple[int, int] | None:
    """Return the number of the cell that has a line of the file, and the number of the line in the cell; None if the
    file has no such line. All numbers count from 1."""
    for number, cell in enumerate(cells, 1):
        count = cell.source.count("\n") + 1
        if line <= count:
            return number, line
        line -= count
    return None
