"""Applies changes to cells in nbformat 4 (the JSON of notebook files), and converts such cells to `NotebookCell`, the
model that clients receive. It refuses to change a cell whose source is not the one that the change expects (`was`).

It must not know files or shared documents. Its neighbours `file.py` and `shared_document.py` both use it.
`cell_changes.py` calculates changes on `NotebookCell`s, before they are made.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import (
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NotebookCell,
    PutCell,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.protocol.notebook import CellChange, NewCell

# Since this minor version of nbformat 4, cells have ids in the file.
IDS_SINCE: Final = 5

# The ids that nbformat's schema allows.
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")

# The name of our entry in the metadata of a cell.
_OUR_METADATA: Final = "jupyter_eca"

# What the model can do when a notebook has changed.
READ_AGAIN: Final = "Read the notebook again."


@dataclass(frozen=True, slots=True)
class NbformatCell:
    """A cell and its id."""

    id: str
    """The id that the model and the clients use for the cell."""
    node: dict[str, Any]
    """The cell as nbformat JSON. It contains the id only where the file stores ids."""

    @property
    def source(self) -> str:
        """The source of the cell; "" if the file has none."""
        return self.node.get("source", "")

    @property
    def type(self) -> CellType:
        """The type of the cell. An unknown type, which a later format may have, counts as raw text."""
        try:
            return CellType(self.node.get("cell_type", ""))
        except ValueError:
            return CellType.RAW


def identify_cells(nodes: Iterable[dict[str, Any]], known_ids: Sequence[str] = ()) -> list[NbformatCell]:
    """Pair each cell with an id.

    `known_ids` are the ids of all cells, in order; empty when they are not known yet. Then a missing id is calculated
    from the content of the cell, so that the next read gives the same id. If several cells have the same id, a number
    is added to it, except for the first of them.
    """
    counts: Counter[str] = Counter()
    identified: list[NbformatCell] = []
    for number, node in enumerate(nodes):
        id = known_ids[number] if known_ids else str(node.get("id") or _make_id(node))
        counts[id] += 1
        identified.append(NbformatCell(id if counts[id] == 1 else f"{id}-{counts[id]}", node))
    return identified


def _make_id(node: dict[str, Any]) -> str:
    """Calculate the id of a cell from its content."""
    content = f"{node.get('cell_type')}\n{node.get('source')}"
    return hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()[:12]


def to_notebook_cell(cell: NbformatCell) -> NotebookCell:
    """Convert a cell to the wire model."""
    node, code = cell.node, cell.type is CellType.CODE
    count = node.get("execution_count")
    return NotebookCell(
        id=cell.id,
        cell_type=cell.type,
        source=cell.source,
        metadata=dict(node.get("metadata", {})),
        execution_count=count if code and isinstance(count, int) else None,
        outputs=tuple(node.get("outputs", ())) if code else (),
        attachments=node.get("attachments"),
    )


def describe_lock(cell: NotebookCell, *, is_deleted: bool = False) -> str:
    """Return why the assistant must not edit a cell or, with `is_deleted`, must not delete it; "" if it may. The
    metadata of the cell decides.

    The keys `editable` and `deletable` are those of nbformat. A cell with the entry `nbgrader` is a question, an answer
    or a test of an assignment.
    """
    graded = cell.metadata.get("nbgrader")
    marks = cast("dict[str, Any]", graded) if isinstance(graded, dict) else {}
    if any(marks.get(key) for key in ("grade", "solution", "locked", "task")):
        return "it belongs to an assignment of nbgrader"
    key = "deletable" if is_deleted else "editable"
    return f"its metadata says `{key}: false`" if cell.metadata.get(key) is False else ""


def find_index(cells: Sequence[NbformatCell], id: str) -> int:
    """Return the index of a cell.

    Raises: ToolError when no cell has this id.
    """
    for number, cell in enumerate(cells):
        if cell.id == id:
            return number
    raise ToolError(f"There is no cell {id} in this notebook (any more).", READ_AGAIN)


def apply_changes(
    cells: Sequence[NbformatCell], changes: Iterable[CellChange], *, with_ids: bool
) -> list[NbformatCell]:
    """Return the cells after all changes, made in order. `cells` itself is not modified. With `with_ids`, the file
    stores ids, so new cells contain theirs.

    Raises: ToolError when one of the changes cannot be made.
    """
    result = list(cells)
    for change in changes:
        match change:
            case InsertCell(index=index, cell=cell, after=after):
                place = find_place([other.id for other in result], _check_index(index), after)
                result.insert(place, _mark(_make_cell(result, cell, with_ids=with_ids), change))
            case EditCell(cell_id=id, was=was, source=source):
                position = _find_unchanged(result, id, was)
                result[position] = _mark(NbformatCell(id, {**result[position].node, "source": source}), change)
            case DeleteCell(cell_id=id, was=was):
                del result[_find_unchanged(result, id, was)]
            case MoveCell(cell_id=id, index=index, after=after):
                moved = result.pop(find_index(result, id))
                place = find_place([other.id for other in result], _check_index(index), after)
                result.insert(place, moved)
            case PutCell(index=index, cell=cell, was=was):
                _put_cell(result, index, cell, was, with_ids=with_ids)
    return result


def _mark(cell: NbformatCell, change: InsertCell | EditCell) -> NbformatCell:
    """Return the cell with a mark in its metadata, if the change requests it. The mark says that the assistant has
    written in the cell."""
    if not change.marks:
        return cell
    metadata: dict[str, Any] = cell.node.get("metadata") or {}
    ours: Any = metadata.get(_OUR_METADATA)
    marked = {**(cast("dict[str, Any]", ours) if isinstance(ours, dict) else {}), "written": True}
    return NbformatCell(cell.id, {**cell.node, "metadata": {**metadata, _OUR_METADATA: marked}})


def find_place(ids: Sequence[str], index: int, after: str | None) -> int:
    """Return the index of a place: directly below the cell with the id `after`; 0 if `after` is ""; `index` if it is
    None. `ids` are the ids of the other cells, in order.

    Raises: ToolError when the cell `after` is gone. No other place is guessed, because the user approved this one.
    """
    if after is None:
        return index
    if after == "":
        return 0
    if after not in ids:
        raise ToolError(
            f"The new cell was to follow the cell [{after}], which is gone. Nothing was changed.",
            "Read the notebook again, and say where the new cell belongs now.",
        )
    return ids.index(after) + 1


def _check_index(index: int) -> int:
    """Return the index. Raises: ToolError for a negative one, which Python would count from the end."""
    if index < 0:
        raise ToolError(f"A notebook has no position {index}.", "The first cell is at 0.")
    return index


def _find_unchanged(cells: Sequence[NbformatCell], id: str, was: str) -> int:
    """Return the position of a cell whose source is still `was`.

    Raises: ToolError when it is not, or the cell is gone.
    """
    position = find_index(cells, id)
    if cells[position].source != was:
        raise ToolError(f"The source of cell {id} is no longer what it was; nothing was changed.", READ_AGAIN)
    return position


def _make_cell(cells: Sequence[NbformatCell], cell: NewCell | NotebookCell, *, with_ids: bool) -> NbformatCell:
    """Make a new cell, without outputs. `cells` are the other cells of the notebook. `with_ids` says whether the format
    of the notebook has ids of cells.

    Raises: ToolError when its id is used already, or not valid.
    """
    if any(other.id == cell.id for other in cells):
        raise ToolError(f"There is a cell {cell.id} already.", "Give the new one another id.")
    if not _ID.fullmatch(cell.id):
        raise ToolError(f"{cell.id!r} is not a valid cell id.", "Use letters, digits, - and _, at most 64.")
    node: dict[str, Any] = {"cell_type": str(cell.cell_type), "metadata": {}, "source": cell.source}
    if cell.cell_type is CellType.CODE:
        node |= {"execution_count": None, "outputs": []}
    return NbformatCell(cell.id, {"id": cell.id, **node} if with_ids else node)


def _put_cell(cells: list[NbformatCell], index: int, cell: NotebookCell, was: str | None, *, with_ids: bool) -> None:
    """Replace the cell that has the same id by a whole cell. If there is no such cell, insert it at the index. `cells`
    is changed. `was` is the expected source of the cell that is replaced; None for any. See `_make_cell` for
    `with_ids`.

    Raises: ToolError.
    """
    exists = any(other.id == cell.id for other in cells)
    if was is not None:
        _find_unchanged(cells, cell.id, was)
    index = find_index(cells, cell.id) if exists else _check_index(index)
    others = cells[:index] + cells[index + 1 :] if exists else cells
    fresh = _make_cell(others, cell, with_ids=with_ids)
    node = fresh.node | {"metadata": dict(cell.metadata)}
    if cell.cell_type is CellType.CODE:
        node |= {"execution_count": cell.execution_count, "outputs": list(cell.outputs)}
    elif attachments := cell.attachments or (cells[index].node.get("attachments") if exists else None):
        node["attachments"] = attachments
    if exists:
        cells[index] = NbformatCell(cell.id, node)
    else:
        cells.insert(index, NbformatCell(cell.id, node))
