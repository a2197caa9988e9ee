"""Finds the errors in the outputs of cells. An error is reported at each place in the workspace that its traceback
passes through.

In a traceback, IPython names a cell by its execution count. A count that no cell has any more belongs to a source that
is gone. The module must not read files: `collect.py` passes a function that finds the files of the workspace.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.protocol.editor import Severity
from jupyter_eca.protocol.notebook import CellState
from jupyter_eca.workspace.diagnostics.location import make_cell_diagnostic, make_diagnostic
from jupyter_eca.workspace.kernels.output_text import as_plain_text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from jupyter_eca.protocol.editor import EditorDiagnostic
    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument

# The name of this source of diagnostics.
SOURCE: Final = "traceback"

# Limits for one traceback: its characters, its places, and the characters of its message. Of a recursion without an
# end, the last frames show all that matters.
MAX_TRACEBACK: Final = 100_000
MAX_PLACES: Final = 20
MAX_MESSAGE: Final = 500
# If a traceback has more than `MAX_PLACES` places, these many of the first ones are reported; the others are the last
# ones.
_FIRST_PLACES: Final = 5

# The first line of a frame:
#   a cell in IPython since 8.5     `Cell In[3], line 2`
#   a cell in IPython since 8.0     `Input In [3], in <cell line: 2>()`
#   a cell in IPython before        `<ipython-input-3-0a1b2c> in <module>`
#   a file as Python writes it      `File "/data/load.py", line 7`
#   a file as IPython writes it     `File ~/data/load.py:7, in load(path)`
# and the arrow that marks the line of a cell in IPython before 8.5: `----> 2 load()`
_FRAME: Final = re.compile(
    r"^\s*(?:(?:Cell In|Input In) ?\[(?P<new>\d+)\]|<ipython-input-(?P<old>\d+)-\w+>)(?:, line (?P<line>\d+))?"
    r"|^\s*File (?:\"(?P<quoted>[^\"]+)\", line (?P<at>\d+)|(?P<file>[^<\n]+?):(?P<number>\d+)(?:, in | in |$|\())"
    r"|^-+> ?(?P<arrow>\d+) ",
    re.MULTILINE,
)


def find_errors(document: NotebookDocument, find_uri: Callable[[str], str | None]) -> list[EditorDiagnostic]:
    """Find the errors of a notebook. `find_uri` returns the URI of a path; None when the path is outside of the
    workspace."""
    diagnostics: list[EditorDiagnostic] = []
    by_count = {cell.execution_count: cell for cell in document.cells if cell.execution_count is not None}
    for cell in document.cells:
        for output in cell.outputs:
            if output.get("output_type") == "error":
                diagnostics += _follow_traceback(document.path, cell, output, by_count, find_uri)
    return diagnostics


def _follow_traceback(
    path: str,
    cell: NotebookCell,
    output: dict[str, Any],
    by_count: dict[int, NotebookCell],
    find_uri: Callable[[str], str | None],
) -> Iterator[EditorDiagnostic]:
    """Report the cell that failed, and then the places that it called, in the order of the calls. Each line is reported
    once. `output` is the error output of the cell, and `by_count` has the cells by their execution count. See
    `find_errors` for `find_uri`."""
    message = f"{output.get('ename', 'Error')}: {output.get('evalue', '')}".rstrip(": ")[:MAX_MESSAGE]
    seen: dict[tuple[str, int], EditorDiagnostic] = {}
    for count, file, line in _read_frames(output):
        called = by_count.get(count) if count is not None else None
        if called is not None:
            text = message if called.id == cell.id else f"{message} (when called by cell [{cell.id}])"
            text += " (the cell was edited since)" if called.state is CellState.EDITED else ""
            seen.setdefault(
                (called.id, line), make_cell_diagnostic(path, called, (line - 1, 0), Severity.ERROR, text, SOURCE)
            )
        elif file and (uri := find_uri(file)) is not None:
            text = f"{message} (when called by cell [{cell.id}] of {path})"
            seen.setdefault((uri, line), make_diagnostic(uri, line - 1, 0, Severity.ERROR, text, SOURCE))
    if not any(id == cell.id for id, _ in seen):
        yield make_cell_diagnostic(path, cell, (0, 0), Severity.ERROR, message, SOURCE)
    diagnostics = list(seen.values())
    if len(diagnostics) > MAX_PLACES:
        diagnostics[_FIRST_PLACES : _FIRST_PLACES - MAX_PLACES] = []
    yield from diagnostics


def _read_frames(output: dict[str, Any]) -> Iterator[tuple[int | None, str, int]]:
    """Yield for each frame its execution count (None for a frame in a file), its file ("" for a frame in a cell), and
    its line, counted from 1. Before IPython 8.5 only an arrow marks the line."""
    count: int | None = None
    awaits_arrow = False
    for match in _FRAME.finditer(_shorten(output.get("traceback"))):
        part = match.groupdict()
        if part["arrow"] is not None:
            if awaits_arrow and count is not None:
                yield count, "", int(part["arrow"])
            awaits_arrow = False
        elif named := part["new"] or part["old"]:
            count, awaits_arrow = int(named), part["line"] is None
            if part["line"] is not None:
                yield count, "", int(part["line"])
        else:
            awaits_arrow = False
            file, line = part["quoted"] or part["file"], part["at"] or part["number"]
            yield None, str(Path(file).expanduser()), int(line)


def _shorten(traceback: Any) -> str:
    """Return the traceback as text. Both ends of a long traceback are kept: the first frame is in the cell, and the
    last frame raised the error."""
    lines = cast("list[Any]", traceback) if isinstance(traceback, list) else [traceback or ""]
    # At most 400 lines: the first and the last 200.
    text = "\n".join(str(line)[:MAX_TRACEBACK] for line in (*lines[:200], *lines[200:][-200:]))
    half = MAX_TRACEBACK // 2
    return as_plain_text(text if len(text) <= MAX_TRACEBACK else f"{text[:half]}\n{text[-half:]}")
