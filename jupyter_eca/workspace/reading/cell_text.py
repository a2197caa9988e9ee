"""Renders cells and their outputs as text for a model. Cells of open notebooks and of files look the same.

The outputs may have any version of nbformat. The module must not know where a notebook comes from. Its neighbour
`notebook_text.py` renders a whole notebook file.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.kernels.output_text import IMAGE_TYPES, OutputText, describe_bundle, find_picture
from jupyter_eca.workspace.notebooks.cells import describe_lock
from jupyter_eca.workspace.notebooks.prompt_cells import choose_default_kind, is_prompt
from jupyter_eca.workspace.reading import image
from jupyter_eca.workspace.reading.drawing import draw

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument

# Characters of the outputs of one cell. A longer table or log would hide the other cells.
MAX_OUTPUT: Final = 4000

# Characters of one output that are processed. A progress bar may write a hundred megabytes, and only a few lines of
# them are shown.
_MAX_SEEN: Final = 200_000

# The text of a notebook without cells.
NO_CELLS: Final = "[a notebook with no cells]"

# The names of output types in nbformat 3.
_NBFORMAT3_KINDS: Final = {"pyout": "execute_result", "pyerr": "error"}

# The words for the states of a cell. A state that is not here needs no word.
_STATES: Final = {
    CellState.NEVER_RUN: "not run",
    CellState.EARLIER: "ran in an earlier kernel",
    CellState.UNCERTAIN: "perhaps in an earlier kernel",
    CellState.EDITED: "edited since it ran",
    CellState.QUEUED: "queued",
    CellState.RUNNING: "running",
}


def render_cells(
    document: NotebookDocument,
    only: Collection[str] | None = None,
    *,
    output: int = MAX_OUTPUT,
    without_source: Collection[str] = (),
) -> str:
    """Render the cells of a notebook, or only those with certain ids, each with its number, id and state.

    `output` is how many characters of the outputs of each cell are shown; 0 shows none. The cells with the ids
    `without_source` are rendered without their sources.
    """
    parts = [
        _render_cell(number, cell, document, output, with_source=cell.id not in without_source)
        for number, cell in enumerate(document.cells, 1)
        if only is None or cell.id in only
    ]
    return "\n\n".join(parts) or NO_CELLS


def format_cell(number: int, heading: str, source: str | None, outputs: str = "") -> str:
    """Render one cell. `heading` is the part of its heading after the number. A source that is None is left out, and
    so are empty outputs."""
    parts = [f"--- cell {number}{heading} ---"]
    if source is not None:
        parts.append(source)
    if outputs:
        parts.append(f"--- output of cell {number} ---\n{outputs}")
    return "\n".join(parts)


def render_outputs(outputs: Iterable[Mapping[str, Any]], most: int = MAX_OUTPUT) -> str:
    """Render outputs as text. A long text is cut to its beginning and its end, which have `most` characters
    together."""
    output_text = OutputText()
    for output in outputs:
        kind = str(output.get("output_type"))
        output_text.add(_NBFORMAT3_KINDS.get(kind, kind), _to_message_content(output))
    return _shorten(output_text.text, most)


def load_pictures(cell: NotebookCell) -> tuple[ImagePart, ...]:
    """Return the images in the outputs of a cell, at most one for each output."""
    return tuple(picture for output in cell.outputs if (picture := _load_picture(as_object(output.get("data")))))


def list_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects in a JSON list; nothing when the value is not a list."""
    if isinstance(value, list):
        yield from (cast("dict[str, Any]", item) for item in cast("list[Any]", value) if isinstance(item, dict))


def as_object(value: Any) -> dict[str, Any]:
    """Return the value if it is a JSON object, else an empty object."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def join_lines(value: Any, between: str = "") -> str:
    """Return a text that nbformat stores as one string or as a list of lines; "" for any other value. `between` is put
    between the lines of a list."""
    if isinstance(value, list):
        return between.join(str(line) for line in cast("list[Any]", value))
    return value if isinstance(value, str) else ""


def _render_cell(number: int, cell: NotebookCell, document: NotebookDocument, output: int, *, with_source: bool) -> str:
    """Render a cell. `output` is how many characters of its outputs are shown, 0 for none. `with_source` says whether
    its source is shown."""
    active = ", active" if cell.id == document.active_cell_id else ""
    heading = f" [{cell.id}]: {describe_kind_and_state(cell, document)}{active}"
    source = cell.source if with_source else None
    return format_cell(number, heading, source, render_outputs(cell.outputs, output) if output else "")


def describe_kind_and_state(cell: NotebookCell, document: NotebookDocument) -> str:
    """Describe what a cell is and what it is doing: "code, execution 3, edited since it ran"."""
    locked = ", locked" if describe_lock(cell) else ""
    return f"{_describe_kind(cell, document)}{_describe_state(cell)}{locked}"


def _describe_kind(cell: NotebookCell, document: NotebookDocument) -> str:
    """Return what a cell is: "code", "markdown", "raw", or "prompt" for a code cell that asks the assistant."""
    return (
        "prompt"
        if cell.cell_type is CellType.CODE and is_prompt(cell.source, choose_default_kind(document.language))
        else cell.cell_type
    )


def _describe_state(cell: NotebookCell) -> str:
    """Return the execution count and the state of a code cell, each with a comma before it; "" for other cells."""
    if cell.cell_type is not CellType.CODE:
        return ""
    count = f"execution {cell.execution_count}" if cell.execution_count is not None else ""
    state = _STATES.get(cell.state, "") if cell.state else "" if count else _STATES[CellState.NEVER_RUN]
    return "".join(f", {word}" for word in (count, state) if word)


def _shorten(text: str, limit: int) -> str:
    """Cut a long text in the middle. The end is kept, because errors are usually there."""
    left_out, half = len(text) - limit, limit // 2
    return text if left_out <= 0 else f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"


def _load_picture(data: Mapping[str, Any]) -> ImagePart | None:
    """Return the first image of a MIME bundle that can be loaded; None when there is none."""
    for mime in IMAGE_TYPES:
        if text := join_lines(data.get(mime)):
            with suppress(ToolError):
                return image.load_base64("".join(text.split()), mime)
    return None


def name_pictures(
    document: NotebookDocument, ids: Collection[str], most: int | None = None
) -> tuple[NotebookDocument, tuple[ImagePart, ...]]:
    """Return the notebook, in which names such as "[picture 1 of cell 3]" replace the pictures of the cells `ids`, and
    these pictures in the order of the cells.

    At most `most` pictures are returned; if there are more, the last ones are returned. None returns all. A picture
    that is not returned is replaced by a note which says how to see it. This may take seconds, because figures are
    drawn.
    """
    found: list[ImagePart] = []
    cells = list(document.cells)
    for number, cell in reversed([pair for pair in enumerate(document.cells, 1) if pair[1].id in ids]):
        outputs = list(cell.outputs)
        bundles = [(index, data) for index, output in enumerate(outputs) if find_picture(data := read_bundle(output))]
        for count, (index, data) in reversed(list(enumerate(bundles, 1))):
            name = f"picture {count} of cell {number}"
            has_room = most is None or len(found) < most
            picture = _draw_picture(data) if has_room else None
            if picture is not None:
                found.insert(0, replace(picture, name=name))
            type = next(mime for mime in data if mime.startswith(("image/", "application/vnd.")))
            left_out = f"[{type}: notebook_read of this cell alone shows it to you]"
            # For a picture that cannot be drawn, the note says that only the user sees it (`describe_bundle`).
            note = f"[{name}]" if picture else describe_bundle({type: ""}) if has_room else left_out
            text = describe_bundle(data, note)
            outputs[index] = {**outputs[index], "data": {"text/plain": text}}
        cells[number - 1] = cell.model_copy(update={"outputs": tuple(outputs)})
    return document.model_copy(update={"cells": tuple(cells)}), tuple(found)


def read_bundle(output: Mapping[str, Any]) -> dict[str, Any]:
    """Return the MIME bundle of an output, by MIME type. Each text in it is one string."""
    data = as_object(output.get("data"))
    return {mime: as_object(value) or join_lines(value) for mime, value in data.items()}


def _draw_picture(data: Mapping[str, Any]) -> ImagePart | None:
    """Load the picture of a MIME bundle, or draw its figure; None when that is not possible."""
    found = find_picture(data)
    if found is None or found[0] in IMAGE_TYPES:
        return _load_picture(data)
    with suppress(ToolError):
        return image.load_bytes(draw(*found), found[0])
    return None


def _to_message_content(output: Mapping[str, Any]) -> dict[str, Any]:
    """Convert an output to the content of a kernel message. In nbformat 3 the output itself contains the data, under
    short names."""
    text = _shorten(join_lines(output.get("text")), _MAX_SEEN)
    data = {
        mime: _shorten(value, _MAX_SEEN) if isinstance(value, str) else value
        for mime, value in read_bundle(output).items()
    }
    old = {"text/plain": text} | {f"image/{kind}": "" for kind in ("png", "jpeg", "svg") if kind in output}
    traceback = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return {"text": text, "data": data or old, "traceback": [_shorten(join_lines(traceback, "\n"), _MAX_SEEN)]}
