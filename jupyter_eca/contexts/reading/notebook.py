"""A notebook file as a reader sees it: cells in order, with what they put out. Tolerant, since people point at
notebooks that are old, half written or broken by a merge."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, cast

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.outputs import Outputs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

# Of the outputs of one cell: a table or a log that is longer hides the other cells.
MAX_OUTPUT = 4000

# What nbformat 3 called them.
_KINDS = {"pyout": "execute_result", "pyerr": "error"}


def readable(text: str, shown: str) -> str:
    """Raises: ToolError when it is no notebook."""
    try:
        book: Any = json.loads(text if text.strip() else '{"cells": []}')
    except (ValueError, RecursionError) as error:
        raise ToolError(
            f"{shown} is not a valid notebook: {error}.", "Read it as text, or restore an older version."
        ) from error
    cells = _cells(_object(book))
    if cells is None:
        raise ToolError(f"{shown} is not a notebook: it has no cells.", "Read it as text.")
    return "\n\n".join(_cell(number, cell) for number, cell in enumerate(cells, 1)) or "[a notebook with no cells]"


def _cells(book: dict[str, Any]) -> list[dict[str, Any]] | None:
    """None when there are none. Until nbformat 3 they were in worksheets, of which there never was but one."""
    if "worksheets" in book:
        return [cell for sheet in _objects(book["worksheets"]) for cell in _objects(sheet.get("cells"))]
    return list(_objects(book["cells"])) if isinstance(book.get("cells"), list) else None


def _cell(number: int, cell: Mapping[str, Any]) -> str:
    """`input`, `prompt_number` and headings as cells are nbformat 3's."""
    kind = str(cell.get("cell_type", "unknown"))
    count = cell.get("execution_count", cell.get("prompt_number"))
    ran = f", execution {count}" if count is not None else (", not run" if kind == "code" else "")
    level = cell.get("level")
    mark = "#" * level + " " if isinstance(level, int) and 0 < level < 7 else ""
    parts = [f"--- cell {number}: {kind}{ran} ---", mark + _joined(cell.get("source", cell.get("input")))]
    if output := _output(cell.get("outputs")):
        parts.append(f"--- output of cell {number} ---\n{output}")
    return "\n".join(parts)


def _output(outputs: Any) -> str:
    shown = Outputs()
    for output in _objects(outputs):
        shown.add(_KINDS.get(str(output.get("output_type")), str(output.get("output_type"))), _content(output))
    text = shown.text
    left_out = len(text) - MAX_OUTPUT
    if left_out <= 0:
        return text
    # errors stand at the end
    half = MAX_OUTPUT // 2
    return f"{text[:half]}\n[... {left_out} characters left out ...]\n{text[-half:]}"


def _content(output: Mapping[str, Any]) -> dict[str, Any]:
    """As a message of a kernel. In nbformat 3 the data stood in the output itself, by short names."""
    text = _joined(output.get("text"))
    data = {mime: _joined(value) for mime, value in _object(output.get("data")).items()}
    old = {"text/plain": text} | {f"image/{kind}": "" for kind in ("png", "jpeg", "svg") if kind in output}
    traceback = output.get("traceback") or [f"{output.get('ename')}: {output.get('evalue')}"]
    return {"text": text, "data": data or old, "traceback": [_joined(traceback, "\n")]}


def _objects(value: Any) -> Iterator[dict[str, Any]]:
    if isinstance(value, list):
        yield from (cast("dict[str, Any]", item) for item in cast("list[Any]", value) if isinstance(item, dict))


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _joined(value: Any, between: str = "") -> str:
    """A text as nbformat stores it: whole, or a list of lines."""
    if isinstance(value, list):
        return between.join(str(line) for line in cast("list[Any]", value))
    return value if isinstance(value, str) else ""
