"""Which open notebook and which of its cells is meant, and how much of it fits into a prompt. It offers nothing:
`recent_look` does.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.run_states import mark_run_states
from jupyter_eca.workspace.reading.cell_text import MAX_OUTPUT, load_pictures, render_cells, render_outputs
from jupyter_eca.workspace.reading.text import MAX_CHARACTERS, truncate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument, NotebookInfo
    from jupyter_eca.workspace.known_versions import KnownVersions
    from jupyter_eca.workspace.ports import Files, OpenNotebooks

# Of a whole notebook: each costs a model what a page of text does, and the last ones are what is worked on.
MAX_PICTURES: Final = 4

# Of the outputs of one cell, when all of them do not fit: less says nothing. And what it costs to say that it was cut.
_LEAST_OUTPUT: Final = 60
_CUT: Final = 45


class CachedNotebooks:
    """Reads each notebook once for a message: five mentions of it are not five copies of a hundred megabytes."""

    def __init__(self, of: OpenNotebooks) -> None:
        self._of = of
        self._listed: tuple[NotebookInfo, ...] | None = None
        self._read: dict[str, NotebookDocument] = {}
        self._turn = asyncio.Lock()

    async def list(self) -> tuple[NotebookInfo, ...]:
        async with self._turn:
            if self._listed is None:
                self._listed = await self._of.list()
            return self._listed

    async def read(self, path: str) -> NotebookDocument:
        async with self._turn:
            if path not in self._read:
                self._read[path] = await self._of.read(path)
            return self._read[path]


async def find_open_path(surroundings: Surroundings, path: str) -> str | None:
    """Return the path in Jupyter's contents of an open notebook, given a path as people and clients write it."""
    if surroundings.notebooks is None or not path.lower().endswith(".ipynb"):
        return None
    names = [info.path for info in await surroundings.notebooks.list()]
    return await run_read(_same, surroundings.files, path, names) if names else None


async def document(surroundings: Surroundings, path: str = "") -> NotebookDocument:
    """Return a notebook, with the states that its cells have in its kernel; without a path the one that the prompt was
    asked in, else the active one. Raises: ToolError."""
    document = await _read(surroundings, path)
    return (await mark_run_states(document, surroundings.run_histories))[0]


async def _read(surroundings: Surroundings, path: str) -> NotebookDocument:
    if surroundings.notebooks is None:
        raise ToolError("No notebook is open.", "Open it in JupyterLab.")
    if path:
        return await surroundings.notebooks.read(await find_open_path(surroundings, path) or path)
    if surroundings.notebook:
        return await surroundings.notebooks.read(surroundings.notebook)
    infos = await surroundings.notebooks.list()
    if not infos:
        raise ToolError("No notebook is open.", "Open it in JupyterLab.")
    return await surroundings.notebooks.read(infos[0].path)


def find_cell(document: NotebookDocument, which: str) -> tuple[int, NotebookCell]:
    """Return a cell with its number, by id or number. Ids are tried first, because an id may consist of digits. Raises:
    ToolError."""
    for number, cell in enumerate(document.cells, 1):
        if cell.id == which:
            return number, cell
    if which.isdecimal() and 0 < int(which) <= len(document.cells):
        return int(which), document.cells[int(which) - 1]
    raise ToolError(f"{document.path} has no cell {which}; it has {len(document.cells)} cells.")


def whole(document: NotebookDocument, known: KnownVersions | None = None) -> Material:
    """Return all cells. If that is too long, outputs are shortened before any cell is left out. `known` learns the
    cells."""
    text = render_cells(document)
    if len(text) > MAX_CHARACTERS:
        lengths = [len(render_outputs(cell.outputs)) for cell in document.cells]
        each = _share_room(lengths, MAX_CHARACTERS - len(text) + sum(lengths))
        text = render_cells(document, output=each)
        text += "" if each else "\n\n[outputs are left out: too many]"
    shown, note = _last_pictures(document)
    if known is not None and len(text) <= MAX_CHARACTERS:
        known.learn_cells(document.path, document.cells)
    # by its characters only: a notebook of short lines has many
    return Material(document.path, f"{text if len(text) <= MAX_CHARACTERS else truncate(text)}{note}", shown)


def _share_room(lengths: Sequence[int], room: int) -> int:
    """Return how many characters of an output fit: short outputs are whole, and the long ones share the rest
    equally."""
    shares = len(lengths)
    for length in sorted(lengths):
        if (length + _CUT) * shares > room:
            break
        room -= length
        shares -= 1
    each = room // shares - _CUT if shares else MAX_OUTPUT
    return each if each >= _LEAST_OUTPUT else 0


def _last_pictures(document: NotebookDocument) -> tuple[tuple[ImagePart, ...], str]:
    """Return the last pictures, and a line that says where the others are."""
    found: list[ImagePart] = []
    left_out: list[int] = []
    for number, cell in sorted(enumerate(document.cells, 1), reverse=True, key=lambda one: one[0]):
        if not any("image/" in str(mime) for output in cell.outputs for mime in output.get("data") or ()):
            continue
        room = MAX_PICTURES - len(found)
        these = load_pictures(cell) if room else ()
        found[:0] = these[-room:] if room else ()
        if len(these) > room or not room:
            left_out.append(number)
    cells = ", ".join(map(str, reversed(left_out)))
    return tuple(found), f"\n\n[not all pictures of these cells are here: {cells}]" if cells else ""


def _same(files: Files, path: str, names: Sequence[str]) -> str | None:
    if path in names:
        return path
    with suppress(ToolError):
        real = files.resolve(path)
        for name in names:
            with suppress(ToolError):
                if files.contents.resolve(name) == real:
                    return name
    return None
