"""The context of the last error of the notebook: its traceback, and the cells that the traceback names.

If no page has a notebook open (nbclient, papermill, plain IPython), it is the last error of the kernel in which the
user asks. This module must not search for other problems: `workspace/diagnostics` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import ErrorContext
from jupyter_eca.workspace.files.name_search import rate_fit
from jupyter_eca.workspace.reading.cell_text import render_cells, render_outputs
from jupyter_eca.workspace.reading.error_text import (
    find_execution_counts,
    find_last_error,
    find_last_failed,
    find_passed_cells,
    shorten_errors,
)
from jupyter_eca.workspace.reading.text import truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument
    from jupyter_eca.workspace.ports import ExecutionMemory

# How many characters of the traceback the model gets, at most. An endless recursion has thousands of lines, of which
# the first and last are enough.
MAX_TRACEBACK_CHARACTERS: Final = 10_000


class ErrorPlug:
    """The plug: `query` offers the last error, and `resolve` reads it. The class implements `base.Context`, whose
    argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "error"

    async def query(self, surroundings: Surroundings, query: str) -> list[ErrorContext]:
        """Offer the error of the cell that failed last, if the query fits the word `error`."""
        error = (await surroundings.recent_looks.read_notebooks(surroundings)).error
        if error is None or rate_fit(query, "error") is None:
            return []
        return [ErrorContext(label="error", description=f"{error.error_line} (cell {error.number})")]

    async def resolve(self, surroundings: Surroundings, context: ErrorContext) -> Material:
        """Read the traceback and the cells that it names. Raises: ToolError when there was no error."""
        if surroundings.execution_memory is not None and not (
            surroundings.notebooks and await surroundings.notebooks.list()
        ):
            return _read_kernel_error(surroundings.execution_memory)
        document = await open_notebook.read_document(surroundings)
        last = find_last_failed(document)
        if last is None:
            raise ToolError(f"No cell of {document.path} ended with an error.")
        number, _ = open_notebook.find_cell(document, last.id)
        traceback = render_outputs(shorten_errors(filter(None, [find_last_error(last)])), MAX_TRACEBACK_CHARACTERS)
        text = truncate(f"{traceback}\n\n{_render_passed_cells(document, last, traceback)}")
        # The model knows the cell only if it gets the whole source.
        if last.source in text:
            surroundings.known.learn_cells(document.path, (last,))
        return Material(f"error in {document.path} cell {number}", text)


CONTEXT = ErrorPlug()


def _read_kernel_error(kernel: ExecutionMemory) -> Material:
    """Return the last error of the kernel. Raises: ToolError when there is none."""
    if (lines := kernel.last_error()) is None:
        raise ToolError("Nothing that ran in this kernel ended with an error.")
    errors = shorten_errors([{"output_type": "error", "traceback": lines}])
    traceback = render_outputs(errors, MAX_TRACEBACK_CHARACTERS)
    counts = sorted(find_execution_counts(traceback))
    cells = [f"[execution {count}]\n{source}" for count in counts if (source := kernel.find_source(count))]
    passed = "\n\n".join(["", "The cells it passed through, as they were run:", *cells]) if cells else ""
    return Material("error", truncate(traceback + passed))


def _render_passed_cells(document: NotebookDocument, last: NotebookCell, traceback: str) -> str:
    """Return the text of the cell that failed (`last`) and of the cells that the traceback passes through. For an
    execution count of the traceback that no cell has any more, the text says so."""
    passed, counts = find_passed_cells(document, last, traceback)
    ids = {last.id, *(cell.id for cell in passed)}
    missing = "".join(
        f"\n\n[execution {count} is in no cell any more: it was run again, changed or deleted]" for count in counts
    )
    return f"The cells it passed through, as they are now:\n{render_cells(document, ids, output=0)}{missing}"
