"""Finds the open notebook and the cell that a context means, and cuts a notebook so that it fits into a prompt. This
module must not read for the list of offers: `recent_look` does.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.model.request import MAX_PICTURES
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
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.known_versions import KnownVersions
    from jupyter_eca.workspace.ports import Files, OpenNotebooks

# The fewest characters of a cell's outputs that are useful, and the length in characters of the note that says that
# they were cut.
_MIN_OUTPUT_CHARS: Final = 60
_CUT_NOTE_CHARS: Final = 45


class CachedNotebooks:
    """Notebooks that are read at most once for a message, because a message may mention a large notebook several
    times."""

    def __init__(self, notebooks: OpenNotebooks) -> None:
        self._notebooks = notebooks
        self._listed: tuple[NotebookInfo, ...] | None = None  # None until the notebooks are listed
        self._read: dict[str, NotebookDocument] = {}  # by their paths
        self._lock = asyncio.Lock()  # so that two contexts do not read the same notebook at the same time

    async def list(self) -> tuple[NotebookInfo, ...]:
        """Return the open notebooks."""
        async with self._lock:
            if self._listed is None:
                self._listed = await self._notebooks.list()
            return self._listed

    async def read(self, path: str) -> NotebookDocument:
        """Return a notebook as it was when this message first mentioned it. Raises: ToolError."""
        async with self._lock:
            if path not in self._read:
                self._read[path] = await self._notebooks.read(path)
            return self._read[path]


async def find_open_path(surroundings: Surroundings, path: str) -> str | None:
    """Return Jupyter's path of an open notebook for a path as users and clients write it, None if it is not open."""
    if surroundings.notebooks is None or not path.lower().endswith(".ipynb"):
        return None
    names = [info.path for info in await surroundings.notebooks.list()]
    return await run_read(_match_path, surroundings.files, path, names) if names else None


async def read_document(surroundings: Surroundings, path: str = "") -> NotebookDocument:
    """Return a notebook, with the states of its cells in its kernel. Without a path it is the one in which the user
    asked, else the active one. Raises: ToolError."""
    document = await _read_from_page(surroundings, path)
    return (await mark_run_states(document, surroundings.run_histories))[0]


async def read_document_with_history(
    surroundings: Surroundings, path: str
) -> tuple[NotebookDocument, KernelHistory | KernelCount | None]:
    """Return a notebook as `read_document` does, and what has run in its kernel; None when that is not known. Raises:
    ToolError."""
    return await mark_run_states(await _read_from_page(surroundings, path), surroundings.run_histories)


async def _read_from_page(surroundings: Surroundings, path: str) -> NotebookDocument:
    """Return a notebook as it is in the page, without the states of its cells. Without a path it is the one in which
    the user asked, else the active one. Raises: ToolError when no notebook is open, or this one cannot be read."""
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


def find_cell(document: NotebookDocument, name: str) -> tuple[int, NotebookCell]:
    """Return the number of a cell and the cell. `name` is its id or its number. Ids are tried first, because an id may
    be a number. Raises: ToolError."""
    for number, cell in enumerate(document.cells, 1):
        if cell.id == name:
            return number, cell
    if name.isdecimal() and 0 < int(name) <= len(document.cells):
        return int(name), document.cells[int(name) - 1]
    raise ToolError(f"{document.path} has no cell {name}; it has {len(document.cells)} cells.")


def render_whole(document: NotebookDocument, known: KnownVersions | None = None) -> Material:
    """Return the text of all cells. If it is too long, the outputs are shortened first. `known` remembers the cells."""
    text = render_cells(document)
    if len(text) > MAX_CHARACTERS:
        lengths = [len(render_outputs(cell.outputs)) for cell in document.cells]
        limit = _share_room(lengths, MAX_CHARACTERS - len(text) + sum(lengths))
        text = render_cells(document, output=limit)
        text += "" if limit else "\n\n[outputs are left out: too many]"
    pictures, note = _load_last_pictures(document)
    if known is not None and len(text) <= MAX_CHARACTERS:
        known.learn_cells(document.path, document.cells)
    # Only the number of characters counts, because a notebook with short lines has many lines.
    return Material(document.path, f"{text if len(text) <= MAX_CHARACTERS else truncate(text)}{note}", pictures)


def _share_room(lengths: Sequence[int], room: int) -> int:
    """Return how many characters each output may have; 0 to leave all outputs out. `lengths` are the characters of the
    outputs, and `room` those that all of them may have together. Short outputs are kept as a whole, and the long ones
    share the remaining room equally: `([10, 500, 900], 1000) -> 450` (half of 990, less the note)."""
    shares = len(lengths)
    # The shortest first: an output that is shorter than an equal share leaves more for the others.
    for length in sorted(lengths):
        if (length + _CUT_NOTE_CHARS) * shares > room:
            break
        room -= length
        shares -= 1
    limit = room // shares - _CUT_NOTE_CHARS if shares else MAX_OUTPUT
    return limit if limit >= _MIN_OUTPUT_CHARS else 0


def _load_last_pictures(document: NotebookDocument) -> tuple[tuple[ImagePart, ...], str]:
    """Return the last images of a notebook in their order, at most `MAX_PICTURES`, and a line that says which cells
    have images that are left out; "" if none is left out."""
    found: list[ImagePart] = []
    left_out: list[int] = []
    for number, cell in sorted(enumerate(document.cells, 1), reverse=True, key=lambda pair: pair[0]):
        if not any("image/" in str(mime) for output in cell.outputs for mime in output.get("data") or ()):
            continue
        room = MAX_PICTURES - len(found)
        pictures = load_pictures(cell) if room else ()
        found[:0] = pictures[-room:] if room else ()  # put before the images of later cells
        if len(pictures) > room or not room:
            left_out.append(number)
    cells = ", ".join(map(str, reversed(left_out)))
    return tuple(found), f"\n\n[not all pictures of these cells are here: {cells}]" if cells else ""


def _match_path(files: Files, path: str, names: Sequence[str]) -> str | None:
    """Return the one of Jupyter's paths that leads to the same file as `path`, None for none. Blocks."""
    if path in names:
        return path
    with suppress(ToolError):
        real = files.resolve(path)
        for name in names:
            with suppress(ToolError):
                if files.contents.resolve(name) == real:
                    return name
    return None
