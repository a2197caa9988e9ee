"""The context of a file or of some of its lines. Images and PDFs are sent as they are, and notebooks cell by cell.
`notebook` is the context of the open notebook.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from jupyter_eca.config.disk.regular_file import get_size, open_resolved
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.reading import open_notebook
from jupyter_eca.protocol.context import FileContext
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.text_file import report_os_errors
from jupyter_eca.workspace.known_versions import KnownVersions, make_file_key
from jupyter_eca.workspace.reading import image, notebook_text, pdf
from jupyter_eca.workspace.reading.cell_text import render_cells
from jupyter_eca.workspace.reading.text import decode, truncate

if TYPE_CHECKING:
    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.protocol.context import LinesRange
    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Files

# The bytes of a file that are read. The model gets only a part of a long text anyway.
MAX_READ_BYTES = 20_000_000


class FilePlug:
    """The plug: `query` offers files by their names, and `resolve` reads the chosen one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "file"

    async def query(self, surroundings: Surroundings, query: str) -> list[FileContext]:
        """Offer at most fifty files."""
        return [FileContext(path=path) for path in await surroundings.index.search_files(query, 50)]

    async def resolve(self, surroundings: Surroundings, context: FileContext) -> Material:
        """Read the file. A notebook is read cell by cell: as it is in the page if it is open, else as it was saved."""
        path, lines = context.path, context.lines_range
        document = await _read_notebook(surroundings, path)
        if document is None:
            return await run_read(read_file, surroundings.files, path, lines, surroundings.known)
        if lines is None:
            material = await asyncio.to_thread(open_notebook.render_whole, document, surroundings.known)
            return replace(material, label=path)
        return Material(path, _cut_lines(render_cells(document), lines, path).text)


CONTEXT = FilePlug()


def read_file(files: Files, path: str, lines: LinesRange | None, known: KnownVersions | None = None) -> Material:
    """Read a file or some of its lines; None for all. `known` remembers the version that was read. Raises:
    ToolError."""
    with report_os_errors(path):
        real = files.resolve(path)
        if not real.is_file():
            problem = "is a folder" if real.is_dir() else "is no file" if real.exists() else "does not exist"
            raise ToolError(f"{path} {problem}.")
        if real.suffix.lower() in image.EXTENSIONS:
            return Material(path, images=(image.load_file(real, path),))
        if real.suffix.lower() == pdf.EXTENSION:
            return Material(path, documents=(pdf.load_file(real, path),))
        with open_resolved(real) as file:
            data, size = file.read(MAX_READ_BYTES), get_size(file)
        text = decode(data)
    if text is None:
        return Material(path, f"[a binary file of {size} bytes, not shown]")
    key = make_file_key(real)
    if real.suffix.lower() == ".ipynb":
        text = notebook_text.render_notebook(text, path)
        known = None  # the lines that the model gets are not lines of the file, so they are not remembered
    shown = _cut_lines(text, lines, path)
    if known is not None and len(data) == size:
        known.learn_lines(key, text, shown.lines, shown.total)
    cut = f"\n[only the first {MAX_READ_BYTES} of {size} bytes were read]" if size > MAX_READ_BYTES else ""
    return Material(path, shown.text + cut)


async def _read_notebook(surroundings: Surroundings, path: str) -> NotebookDocument | None:
    """Return a notebook with the ids and states of its cells. None for other files, and for a notebook that is too old
    or damaged to be edited. Such a notebook is read as text."""
    if surroundings.notebooks is None or not path.lower().endswith(".ipynb"):
        return None
    if (name := await open_notebook.find_open_path(surroundings, path)) is not None:
        return await open_notebook.read_document(surroundings, name)
    with suppress(ToolError):
        return await open_notebook.read_document(surroundings, await run_read(_make_contents_path, surroundings, path))
    return None


def _make_contents_path(surroundings: Surroundings, path: str) -> str:
    """Return Jupyter's path of a file."""
    return surroundings.files.contents_path(surroundings.files.resolve(path))


@dataclass(frozen=True, slots=True)
class _ShownText:
    """A text as the model gets it."""

    text: str
    """The text, which may have been cut."""
    lines: range
    """The lines of the file that are in it, counted from 0; none if the text was cut."""
    total: int
    """The number of lines of the file."""


def _cut_lines(text: str, lines: LinesRange | None, path: str) -> _ShownText:
    """Return the lines of a text that `lines` names; if it is None, all lines. A range that goes beyond the end stops
    at the end. `path` names the file in the error. Raises: ToolError when the range begins behind the end."""
    all_lines = text.removesuffix("\n").split("\n")
    start = max(1, lines.start) if lines else 1
    if lines and start > len(all_lines):
        raise ToolError(f"{path} has only {len(all_lines)} lines.")
    part = all_lines[start - 1 : max(start, lines.end)] if lines else all_lines
    whole = "\n".join(part) if lines else text
    cut = truncate(whole, start, len(all_lines))
    # A text that is too long was cut, perhaps in the middle of a line. Then no line counts as read.
    is_whole = whole in cut
    return _ShownText(cut, range(start - 1, start - 1 + (len(part) if is_whole else 0)), len(all_lines))
