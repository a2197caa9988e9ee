"""Describes a notebook and its kernel in one line, for a model. `cell_text` renders the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.protocol.notebook import CellState
from jupyter_eca.workspace.diagnostics.notebook_state import format_ranges
from jupyter_eca.workspace.jobs.background import format_elapsed
from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.notebooks.prompt_cells import DefaultCellKind, choose_default_kind

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookDocument


def describe_notebook(document: NotebookDocument, history: KernelHistory | KernelCount | None) -> str:
    """Return the line: "sales.ipynb: 30 cells, python, kernel idle, started 2m 5s ago: cells 1-3 have run in it".

    `history` is what has run in the kernel; None if it is not known.
    """
    language = f", {document.language}" if document.language else ""
    # In such a notebook a cell is a prompt, unless it begins with a magic.
    if choose_default_kind(document.language) is DefaultCellKind.PROMPTS:
        language = ", of prompts to an assistant; cells of code begin with %%python"
    kernel = f"kernel {document.kernel_status or 'there'}" if document.kernel_id else "no kernel"
    match history:
        case KernelHistory(age_seconds=age):
            kernel = f"{kernel}, started {format_elapsed(age)} ago: {_list_run_cells(document)} run in it"
        case KernelCount(last):
            kernel = f"{kernel}, with {last} runs so far"
        case None if document.kernel_id and any(cell.state is CellState.UNCERTAIN for cell in document.cells):
            kernel = f"{kernel}: which cells have run in it is not known now"
        case None:
            pass
    return f"{document.path}: {cell_changes.describe_size(document)}{language}, {kernel}"


def _list_run_cells(document: NotebookDocument) -> str:
    """Return words for the cells that have run in the kernel: "no cell has", "cell 3 has", "cells 1-3, 7 have"."""
    states = {CellState.RAN, CellState.EDITED, CellState.RUNNING}
    numbers = [number for number, cell in enumerate(document.cells, 1) if cell.state in states]
    if len(numbers) < 2:
        return f"cell {numbers[0]} has" if numbers else "no cell has"
    return f"cells {format_ranges(numbers)} have"
