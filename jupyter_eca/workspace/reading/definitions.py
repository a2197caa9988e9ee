"""Finds the cells that define the functions and classes which a cell uses. When a model gets the text of the cell, it
gets the text of these cells too, because most questions about `share(df, "region")` are questions about `share`.

The module is pure. It must not decide how much of a definition is shown: `place_text.py` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from jupyter_eca.protocol.notebook import CellType
from jupyter_eca.workspace.diagnostics.magics import parse_cell
from jupyter_eca.workspace.diagnostics.name_analysis import analyze_names
from jupyter_eca.workspace.diagnostics.notebook_state import is_python

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument

    # A cell, and the names that it defines.
    Definition = tuple[NotebookCell, tuple[str, ...]]


def find_definitions(document: NotebookDocument, cell: NotebookCell) -> tuple[Definition, ...]:
    """Return the other cells that define functions and classes which the cell uses, in the order of the notebook, each
    with these names in the order of their use.

    If several cells define a name, only the nearest one above the cell counts, or else the first one below. Variables
    are left out, because a model gets their values instead. The result is empty in a notebook of another language than
    Python.
    """
    if cell.cell_type is not CellType.CODE or not is_python(document):
        return ()
    names = _list_used_names(cell.source)
    if not names:
        return ()
    place = next(index for index, other in enumerate(document.cells) if other.id == cell.id)
    above, below = document.cells[:place], document.cells[place + 1 :]
    # The last cell of the list that defines a name counts. So the list ends with the cells above, and the cells below
    # come before them in reverse order.
    found = _find_by_name(names, (*below[::-1], *above))
    by_cell: dict[str, list[str]] = {}
    for name in names:
        if name in found:
            by_cell.setdefault(found[name], []).append(name)
    return tuple((other, tuple(by_cell[other.id])) for other in document.cells if other.id in by_cell)


def _list_used_names(source: str) -> list[str]:
    """Return the names that a source reads and does not bind itself, in the order of their use."""
    tree = parse_cell(source).tree
    try:
        names = analyze_names(tree) if tree else None
    except RecursionError:
        return []
    # Where each name is read first: the line and the column. `reads_later` are the reads inside of functions.
    spots = {**names.reads_later, **names.reads} if names else {}
    return sorted(spots, key=spots.__getitem__)


def _find_by_name(names: Iterable[str], cells: Iterable[NotebookCell]) -> dict[str, str]:
    """Return for each name the id of the last of the cells that has a definition of it at the beginning of a line."""
    definition = re.compile(rf"^(?:async[ \t]+def|def|class)[ \t]+({'|'.join(map(re.escape, names))})\b", re.MULTILINE)
    code = (cell for cell in cells if cell.cell_type is CellType.CODE)
    return {match[1]: cell.id for cell in code for match in definition.finditer(cell.source)}
