"""Marks the cells of a notebook that ran in an earlier process of the kernel. What they defined is gone.

It must not know how a kernel is asked: `kernels/run_history.py` does. It does not wait for a busy kernel.

It may be unknown what ran in the kernel: the notebook has no kernel, or the kernel is busy and was not asked before.
Then the cells that have an execution count are marked as uncertain. Where this program has no access to kernels, but
the client that reported the notebook has, the cells keep the states that the client reported.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType
from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory, make_digest
from jupyter_eca.workspace.ports import RemembersRuns

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.ports import Kernels

# A cell in one of these states keeps it: its run has not ended yet.
_WAITING = frozenset({CellState.RUNNING, CellState.QUEUED})


async def _ask_history(document: NotebookDocument, kernels: Kernels | None) -> KernelHistory | KernelCount | None:
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


async def mark_run_states(
    document: NotebookDocument, kernels: Kernels | None
) -> tuple[NotebookDocument, KernelHistory | KernelCount | None]:
    """Return the notebook with the states of its cells, and what ran in its kernel, as far as that is known. Never
    raises."""
    if kernels is None and document.kernel_id is not None:
        return document, None
    history = await _ask_history(document, kernels)
    return _mark_cells(document, history), history


def _mark_cells(document: NotebookDocument, history: KernelHistory | KernelCount | None) -> NotebookDocument:
    """Return the notebook with the states that follow from the history."""
    code = [cell for cell in document.cells if cell.cell_type is CellType.CODE]
    counts = Counter(cell.execution_count for cell in code)
    sources = {make_digest(cell.source) for cell in code}

    def mark(cell: NotebookCell) -> NotebookCell:
        """Return the cell with its state. A cell that was never run stays as it is."""
        count = cell.execution_count
        if cell.cell_type is not CellType.CODE or count is None or cell.state in _WAITING:
            return cell
        match history:
            case None:
                state = _get_uncertain_state(cell)
            case KernelCount(last):
                state = CellState.EARLIER if count > last else cell.state
                if count <= last and counts[count] > 1:
                    state = _get_uncertain_state(cell)  # of cells with the same count, at most one ran here
            case KernelHistory():
                state = _derive_state(cell, count, history, sources)
        return cell.model_copy(update={"state": state})

    return document.model_copy(update={"cells": tuple(map(mark, document.cells))})


def _get_uncertain_state(cell: NotebookCell) -> CellState:
    """Return the state of a cell of which nobody knows in which process it ran: UNCERTAIN, unless the cell is known to
    be edited since."""
    return CellState.EDITED if cell.state is CellState.EDITED else CellState.UNCERTAIN


def _derive_state(cell: NotebookCell, count: int, history: KernelHistory, sources: set[str]) -> CellState:
    """Return the state of a cell that has the execution count `count`. `sources` are the digests of the sources of all
    code cells."""
    ran = history.ran.get(count)
    if ran == make_digest(cell.source):
        return CellState.EDITED if cell.state is CellState.EDITED else CellState.RAN
    if ran is None and not history.is_complete:
        return _get_uncertain_state(cell)
    # In this process nothing ran with this execution count, or another cell of the notebook did: the cell ran earlier.
    # Otherwise a source ran that no cell has any more: the cell was edited since.
    return CellState.EARLIER if ran is None or ran in sources else CellState.EDITED
