"""Marks the cells of a notebook that ran in an earlier process of the kernel. What they defined is gone.

It must not know how a kernel is asked: `kernels/run_history.py` does. It does not wait for a busy kernel. Then the
cells keep the states that the page reported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.kernels.run_history import KernelHistory, make_digest
from jupyter_eca.workspace.ports import RemembersRuns

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.ports import Kernels

_WAITING = frozenset({CellState.RUNNING, CellState.QUEUED})


async def find_history(document: NotebookDocument, kernels: Kernels | None) -> KernelHistory | None:
    """Return what ran in the kernel of the notebook; None when that is unknown now. Never raises."""
    if kernels is None or document.kernel_id is None:
        return None
    try:
        kernel = await kernels.find(document.path)
        if kernel.id != document.kernel_id or not isinstance(kernel, RemembersRuns):
            return None
        return await kernel.history()
    except ToolError:
        return None


def mark_earlier_runs(document: NotebookDocument, history: KernelHistory) -> NotebookDocument:
    """Return the notebook with the states of its cells, according to the history of its kernel."""
    sources = {make_digest(cell.source) for cell in document.cells if cell.cell_type is CellType.CODE}
    cells = tuple(_mark(cell, history, sources) for cell in document.cells)
    return document.model_copy(update={"cells": cells})


def _mark(cell: NotebookCell, history: KernelHistory, sources: set[str]) -> NotebookCell:
    """Return the cell with its state. `sources` are the digests of the sources of all cells."""
    if cell.cell_type is not CellType.CODE or cell.execution_count is None or cell.state in _WAITING:
        return cell
    ran = history.ran.get(cell.execution_count)
    if ran == make_digest(cell.source):
        state = CellState.EDITED if cell.state is CellState.EDITED else CellState.RAN
    elif ran is None or ran in sources:
        # In this process nothing ran with this execution count, or another cell of the notebook did.
        state = CellState.EARLIER
    else:
        state = CellState.EDITED
    return cell.model_copy(update={"state": state})
