"""The context of the last error of the notebook: its traceback, and the cells that the traceback names.

If no page has a notebook open (nbclient, papermill, plain IPython), it is the last error of the kernel that asks. It
must not search for other problems: `workspace/diagnostics` does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import ErrorContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.reading.cell_text import render_cells, render_outputs
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.ports import Executed

# The characters of the traceback. An endless recursion has thousands of lines, of which the first and last are enough.
MAX_TRACEBACK: Final = 10_000

# How IPython names a cell in a traceback by its execution count: since 8.5, since 8.0, and before.
_CELL_NAME: Final = re.compile(r"(?:Cell In|Input In) ?\[(\d+)\]|<ipython-input-(\d+)-")


class ErrorPlug:
    """The plug: `query` offers the last error, and `resolve` reads it. See `base.Context`."""

    kind = "error"

    async def query(self, surroundings: Surroundings, query: str) -> list[ErrorContext]:
        error = (await surroundings.glances.notebook(surroundings)).error
        if error is None or rate_fit(query, "error") is None:
            return []
        return [ErrorContext(label="error", description=f"{error.failed} (cell {error.number})")]

    async def resolve(self, surroundings: Surroundings, context: ErrorContext) -> Material:  # noqa: ARG002
        if surroundings.ran is not None and not (surroundings.notebooks and await surroundings.notebooks.list()):
            return _read_kernel_error(surroundings.ran)
        document = await open_notebook.document(surroundings)
        failed = [cell for cell in document.cells if _list_errors(cell)]
        if not failed:
            raise ToolError(f"No cell of {document.path} ended with an error.")
        last = max(failed, key=lambda cell: cell.execution_count or 0)
        number, _ = open_notebook.find_cell(document, last.id)
        traceback = render_outputs(_list_errors(last), MAX_TRACEBACK)
        text = truncate(f"{traceback}\n\n{_render_passed_cells(document, last, traceback)}")
        if last.source in text:
            surroundings.known.learn_cells(document.path, (last,))
        return Material(f"error in {document.path} cell {number}", text)


CONTEXT = ErrorPlug()


def _list_errors(cell: NotebookCell) -> list[dict[str, object]]:
    """Return the last error among the outputs of a cell, as a list of one output or none."""
    return [output for output in cell.outputs if output.get("output_type") == "error"][-1:]


def _read_kernel_error(kernel: Executed) -> Material:
    """Return the last error of the kernel. Raises: ToolError when there is none."""
    if (lines := kernel.last_error()) is None:
        raise ToolError("Nothing that ran in this kernel ended with an error.")
    traceback = render_outputs([{"output_type": "error", "traceback": lines}], MAX_TRACEBACK)
    counts = sorted({int(new or old) for new, old in _CELL_NAME.findall(traceback)})
    cells = [f"[execution {count}]\n{source}" for count in counts if (source := kernel.source(count))]
    passed = "\n\n".join(["", "The cells it passed through, as they were run:", *cells]) if cells else ""
    return Material("error", truncate(traceback + passed))


def _render_passed_cells(document: NotebookDocument, last: NotebookCell, traceback: str) -> str:
    """Return the text of the cell that failed and of the cells that the traceback names. If no cell has an execution
    count of the traceback any more, the text says so."""
    counts = {int(new or old) for new, old in _CELL_NAME.findall(traceback)} - {last.execution_count}
    by_count = {cell.execution_count: cell.id for cell in document.cells}
    ids = {last.id} | {by_count[count] for count in counts if count in by_count}
    missing = "".join(
        f"\n\n[execution {count} is in no cell any more: it was run again, changed or deleted]"
        for count in sorted(counts - by_count.keys())
    )
    return f"The cells it passed through, as they are now:\n{render_cells(document, ids, output=0)}{missing}"
