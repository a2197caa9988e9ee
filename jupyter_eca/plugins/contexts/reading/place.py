"""Reads where the user is: the active cell of a notebook, or the cell in which the user asks with `%%eca`. `place_text`
writes the text about it for the model.

This module must not know whether a prompt has such a place: `cursor` is called for a cursor that a client sent, and
`host/turn/effect_runner.py` asks for the place of a cell.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.notebook import CellState
from jupyter_eca.workspace.files import text_file
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.reading.input_text import describe_inputs
from jupyter_eca.workspace.reading.module_outline import MAX_MODULES, list_imported_files, outline_module
from jupyter_eca.workspace.reading.place_text import LABEL, Place, describe_place, read_known_place

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import CursorContext, Range
    from jupyter_eca.protocol.notebook import NotebookDocument

# Larger modules are not parsed: that would take longer than the user should wait.
_MAX_MODULE_BYTES: Final = 100_000


async def read_cursor_place(surroundings: Surroundings, context: CursorContext) -> Material:
    """Return the place of a cursor in a notebook. Raises: ToolError."""
    path = await open_notebook.find_open_path(surroundings, context.path)
    if path is None:
        path = surroundings.files.contents_path(surroundings.files.resolve(context.path))
    if (refusal := await _find_refusal(surroundings, path)) is not None:
        return refusal
    document, history = await open_notebook.read_document_with_history(surroundings, path)
    cell, position, selection = context.cell, context.position, document.selection
    if not cell and selection is not None:
        # Only the page knows in which cell the cursor is.
        cell, position = selection.cell_id, selection.range
    cell = cell or document.active_cell_id or ""
    selected = _read_selected(document, cell, position)
    return await _render_place(surroundings, Place(document, history, cell, position if cell else None, selected))


async def read_asking_place(surroundings: Surroundings, cell: str) -> Material | None:
    """Return the place of the cell in which the user asks; None if it is not known. `cell` is its id, empty if the page
    did not send it. Raises: ToolError.

    If the engine runs in the kernel and no page has a notebook open, the place is what ran in the kernel: the file of
    the notebook is older than that.
    """
    if surroundings.execution_memory is not None and not (
        surroundings.notebooks and await surroundings.notebooks.list()
    ):
        # `describe_inputs` returns the label and the text.
        return Material(
            *describe_inputs(
                surroundings.execution_memory, surroundings.history, without_error=surroundings.shows_error
            )
        )
    path = surroundings.notebook
    if not path or surroundings.notebooks is None:
        return None
    if (refusal := await _find_refusal(surroundings, path)) is not None:
        return refusal
    document, history = await open_notebook.read_document_with_history(surroundings, path)
    if document.find_cell(cell) is None:
        # A cell that asks several questions sends the number of the question after its id.
        known = document.find_cell(cell.rpartition(".")[0])
        running = (other for other in document.cells if other.state is CellState.RUNNING)
        cell = (known or next(running, None) or document.cells[0]).id if document.cells else ""
    return await _render_place(surroundings, Place(document, history, cell, asks=True))


async def _find_refusal(surroundings: Surroundings, path: str) -> Material | None:
    """Return the text for the model about a notebook that it may not read; None if it may read it."""
    try:
        await surroundings.check_reading(path)
    except ToolError as error:
        return Material(LABEL, f"{path}. Its cells are not shown: {error}")
    return None


def _read_selected(document: NotebookDocument, id: str, position: Range) -> str:
    """Return the selected text; empty if nothing is selected, or the cell no longer has these lines."""
    cell, selection = document.find_cell(id), document.selection
    if cell is None or position.start == position.end:
        return ""
    if selection is not None and (selection.cell_id, selection.range) == (id, position):
        return selection.text
    lines = cell.source.split("\n")[position.start.line : position.end.line + 1]
    if not lines:
        return ""
    if position.end.line - position.start.line == len(lines) - 1:
        lines[-1] = lines[-1][: position.end.character]
    lines[0] = lines[0][position.start.character :]
    return "\n".join(lines)


async def _render_place(surroundings: Surroundings, place: Place) -> Material:
    """Return the text for the model about a place. If it has the whole source of a cell, `surroundings.known` remembers
    that the model has read the cell."""
    # What the model knows about the notebook from earlier prompts of the conversation. It is not sent again.
    known = read_known_place(surroundings.history)
    # The headings and the modules of a notebook are sent only once in a conversation.
    if not known.has_outline(place.document.path):
        place = replace(place, modules=await _read_modules(surroundings, place.document))
    # The error is left out if another context of the message shows it.
    text = describe_place(place, known, without_error=surroundings.shows_error)
    surroundings.known.learn_cells(place.document.path, text.complete_cells)
    # A short text only says that the cell is as before, and needs no label.
    return Material("" if text.is_short else LABEL, text.text)


async def _read_modules(surroundings: Surroundings, document: NotebookDocument) -> tuple[str, ...]:
    """Return a line for each of the user's modules that the notebook imports: those that lie in its folder, and that
    the model may read without a question."""
    found: list[str] = []
    folder = PurePosixPath(document.path).parent
    for name in list_imported_files(document):
        if len(found) == MAX_MODULES:
            break
        with suppress(ToolError, OSError):
            real = surroundings.files.contents.resolve(str(folder / name))
            if await run_read(_is_small_file, real):
                path = surroundings.files.shorten(real)
                await surroundings.check_reading_file(path)
                found += filter(None, (outline_module(path, await run_read(text_file.read, real, path)),))
    return tuple(found)


def _is_small_file(real: Path) -> bool:
    """Return whether there is such a file, and it is quickly parsed. Blocks."""
    return real.is_file() and real.stat().st_size <= _MAX_MODULE_BYTES
