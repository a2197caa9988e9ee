"""Finds the last error of a notebook and the cells that it passed through, and shortens tracebacks for a model.

The module is pure. It must not know contexts: `plugins/contexts/error.py` and `place_text.py` use it.
`diagnostics/tracebacks.py` makes diagnostics of tracebacks.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.workspace.kernels.output_text import as_plain_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from jupyter_eca.protocol.notebook import NotebookCell, NotebookDocument

# How IPython names a cell in a traceback by its execution count: `Cell In[3]` since 8.5, `Input In [3]` since 8.0, and
# `<ipython-input-3-` before.
_CELL_NAME: Final = re.compile(r"(?:Cell In|Input In) ?\[(\d+)\]|<ipython-input-(\d+)-")

# The first line of a frame. For a cell, it begins with the name of the cell, see above. For a file, it begins with
# `File` in Python and in IPython since 8.0. In an older IPython it is a path and a function: `~/a.py in load(path)`.
_FRAME: Final = re.compile(r"\s*(?:(?:Cell In|Input In) ?\[|<ipython-input-|File )|(?:~|/|[A-Za-z]:\\)\S* in ")

# What marks a file as one of a library or of Python itself. It is either its folder, which is left out of the path when
# the frame is shown, or its kind: a module that is frozen into Python, or one in Cython.
_LIBRARY_FOLDER: Final = re.compile(r"[^\s\"]*[\\/](?:(?:site|dist)-packages|lib[\\/]python3[\d.]*|Lib)[\\/]")
_LIBRARY_FILE: Final = re.compile(r"<frozen |\.px[id][:\"]|\.pyx[:\"]")

# The line of dashes with which IPython begins a traceback.
_RULER: Final = re.compile(r"-{20,}$")

# A line below the first line of a frame: a line of the source, with a number or an arrow before it.
_FRAME_BODY: Final = re.compile(r"\s+\S|-+> ?\d+|\s*\d+\s*$")

# The frames of libraries that are kept of those that follow each other: this many from each end.
_LIBRARY_FRAMES: Final = 2

# Characters of a traceback that are processed.
_MAX_SEEN: Final = 100_000


def find_last_error(cell: NotebookCell) -> dict[str, Any] | None:
    """Return the last output of a cell that is an error; None when there is none."""
    return next((output for output in reversed(cell.outputs) if output.get("output_type") == "error"), None)


def find_last_failed(document: NotebookDocument) -> NotebookCell | None:
    """Return the cell that failed last; None when no cell failed."""
    failed = [cell for cell in document.cells if find_last_error(cell)]
    return max(failed, key=lambda cell: cell.execution_count or 0, default=None)


def summarize_error(cell: NotebookCell) -> str:
    """Return the last error of a cell in one line: "KeyError: 'x'"; empty when there is none."""
    if (error := find_last_error(cell)) is None:
        return ""
    lines = as_plain_text(f"{error.get('ename')}: {error.get('evalue')}").strip().splitlines()
    return lines[0][:300] if lines else "error"


def find_execution_counts(traceback: str) -> set[int]:
    """Return the execution counts of the cells that a traceback names."""
    return {int(new or old) for new, old in _CELL_NAME.findall(traceback)}


def find_passed_cells(
    document: NotebookDocument, failed: NotebookCell, traceback: str
) -> tuple[list[NotebookCell], list[int]]:
    """Return the other cells whose functions an error passed through before it reached the cell that failed, and the
    execution counts in the traceback that no cell has any more."""
    counts = find_execution_counts(traceback) - {failed.execution_count}
    by_count = {cell.execution_count: cell for cell in document.cells}
    ids = {by_count[count].id for count in counts if count in by_count}
    return [cell for cell in document.cells if cell.id in ids], sorted(counts - by_count.keys())


def shorten_traceback(lines: Any) -> str:
    """Return a traceback as plain text, in which each frame of a library is one line: where it is, without its source.

    `lines` is the field `traceback` of an output. Of many frames of libraries in a row, the middle ones are left out.
    """
    parts = cast("list[Any]", lines) if isinstance(lines, list) else [lines or ""]
    text = "\n".join(str(part) for part in parts)
    if len(text) > _MAX_SEEN:
        text = f"{text[: _MAX_SEEN // 2]}\n[...]\n{text[-_MAX_SEEN // 2 :]}"
    shortened: list[str] = []
    plain = [line for line in as_plain_text(text).split("\n") if not _RULER.match(line)]
    for is_library, group in groupby(_split_frames(plain), key=_is_library_frame):
        frames = list(group)
        if not is_library:
            shortened += [line for frame in frames for line in frame]
            continue
        heads = [_LIBRARY_FOLDER.sub("", frame[0], count=1).strip() for frame in frames]
        if (left_out := len(heads) - 2 * _LIBRARY_FRAMES) > 1:
            heads[_LIBRARY_FRAMES:-_LIBRARY_FRAMES] = [f"[{left_out} more frames of libraries]"]
        shortened += heads
    return "\n".join(shortened).strip("\n")


def shorten_errors(outputs: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return outputs whose tracebacks are shortened."""
    return [
        {**output, "traceback": [shorten_traceback(output.get("traceback"))]}
        if output.get("output_type") == "error" and output.get("traceback")
        else output
        for output in outputs
    ]


def _split_frames(lines: list[str]) -> Iterator[list[str]]:
    """Yield the frames of a traceback, each with its lines, and each other line as a frame of its own. A blank line
    after a frame belongs to it."""
    frame: list[str] = []
    for line in lines:
        if _FRAME.match(line):
            if frame:
                yield frame
            frame = [line]
        elif frame and (not line.strip() or _FRAME_BODY.match(line)):
            frame.append(line)
        else:
            if frame:
                yield frame
            frame = []
            yield [line]
    if frame:
        yield frame


def _is_library_frame(frame: list[str]) -> bool:
    """Return whether lines are a frame of a library or of Python itself."""
    where = frame[0]
    return _FRAME.match(where) is not None and bool(_LIBRARY_FOLDER.search(where) or _LIBRARY_FILE.search(where))
