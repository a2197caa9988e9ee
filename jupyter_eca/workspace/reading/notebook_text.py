"""Renders a notebook file as text for a model.

It is tolerant, because users also ask about notebooks that are old, half written or broken by a merge. It must not be
used for edits: `notebooks/file.py`, which is strict, loads the notebooks that are edited. `cell_text.py` renders the
cells of notebooks that were loaded in that way, and the outputs of all cells.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.notebooks.file import detect_language
from jupyter_eca.workspace.notebooks.prompt_cells import choose_default_kind, is_prompt
from jupyter_eca.workspace.reading.cell_text import (
    NO_CELLS,
    as_object,
    format_cell,
    join_lines,
    list_objects,
    render_outputs,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind


def render_notebook(text: str, name: str) -> str:
    """Render the content of a notebook file. `name` is the name of the file in errors.

    Raises: ToolError when it is no notebook.
    """
    try:
        notebook: Any = json.loads(text if text.strip() else '{"cells": []}')
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"{name} is not a valid notebook: {error}.", "Read it as text, or restore an older version."
        ) from error
    cells = _list_cells(as_object(notebook))
    if cells is None:
        raise ToolError(f"{name} is not a notebook: it has no cells.", "Read it as text.")
    default_kind = choose_default_kind(detect_language(as_object(as_object(notebook).get("metadata"))))
    return "\n\n".join(_render_cell(number, cell, default_kind) for number, cell in enumerate(cells, 1)) or NO_CELLS


def _list_cells(notebook: dict[str, Any]) -> list[dict[str, Any]] | None:
    """Return the cells; None when the object is not a notebook. In nbformat 3 and earlier, the cells are in
    worksheets."""
    if "worksheets" in notebook:
        return [cell for sheet in list_objects(notebook["worksheets"]) for cell in list_objects(sheet.get("cells"))]
    return list(list_objects(notebook["cells"])) if isinstance(notebook.get("cells"), list) else None


def _render_cell(number: int, cell: Mapping[str, Any], default_kind: DefaultCellKind) -> str:
    """Render a cell. In nbformat 3, cells have `input` and `prompt_number`, and a heading has a `level`."""
    kind = str(cell.get("cell_type", "unknown"))
    count = cell.get("execution_count", cell.get("prompt_number"))
    execution = f", execution {count}" if count is not None else (", not run" if kind == "code" else "")
    level = cell.get("level")
    mark = "#" * level + " " if isinstance(level, int) and 0 < level < 7 else ""
    source = mark + join_lines(cell.get("source", cell.get("input")))
    shown_kind = "prompt" if kind == "code" and is_prompt(source, default_kind) else kind
    return format_cell(number, f": {shown_kind}{execution}", source, render_outputs(list_objects(cell.get("outputs"))))
