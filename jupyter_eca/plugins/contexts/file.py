"""The context of a file or of some of its lines. Pictures and PDFs are given as they are, notebooks cell by cell."""

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

# Read at most; of a text no more than a part is given to a model anyway.
MAX_READ = 20_000_000


class FilePlug:
    kind = "file"

    async def query(self, surroundings: Surroundings, query: str) -> list[FileContext]:
        return [FileContext(path=path) for path in await surroundings.index.search_files(query, 50)]

    async def resolve(self, surroundings: Surroundings, context: FileContext) -> Material:
        """Read the file. A notebook is read cell by cell: as it is in the page where it is open, else as it was
        saved."""
        path, lines = context.path, context.lines_range
        cells = await _find_cells(surroundings, path)
        if cells is None:
            return await run_read(read_file, surroundings.files, path, lines, surroundings.known)
        if lines is None:
            return replace(await asyncio.to_thread(open_notebook.whole, cells, surroundings.known), label=path)
        return Material(path, _part(render_cells(cells), lines, path).text)


CONTEXT = FilePlug()


def read_file(files: Files, path: str, lines: LinesRange | None, known: KnownVersions | None = None) -> Material:
    """Read a file or a part of it. `known` learns its version. Raises: ToolError with the reason."""
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
            data, size = file.read(MAX_READ), get_size(file)
        text = decode(data)
    if text is None:
        return Material(path, f"[a binary file of {size} bytes, not shown]")
    key = make_file_key(real)
    if real.suffix.lower() == ".ipynb":
        text = notebook_text.render_notebook(text, path)
        known = None
    shown = _part(text, lines, path)
    if known is not None and len(data) == size:
        known.learn_lines(key, text, shown.lines, shown.total)
    cut = f"\n[only the first {MAX_READ} of {size} bytes were read]" if size > MAX_READ else ""
    return Material(path, shown.text + cut)


async def _find_cells(surroundings: Surroundings, path: str) -> NotebookDocument | None:
    """Return a notebook with the ids and the states of its cells; None for any other file, and for a notebook that is
    too old or too broken to be edited, which is still read as text."""
    if surroundings.notebooks is None or not path.lower().endswith(".ipynb"):
        return None
    if (name := await open_notebook.find_open_path(surroundings, path)) is not None:
        return await open_notebook.document(surroundings, name)
    with suppress(ToolError):
        return await open_notebook.document(surroundings, await run_read(_name, surroundings, path))
    return None


def _name(surroundings: Surroundings, path: str) -> str:
    """Return the path of a file in Jupyter's contents."""
    return surroundings.files.contents_path(surroundings.files.resolve(path))


@dataclass(frozen=True, slots=True)
class _Shown:
    """A text as the model is given it, and which of its lines are in it, counted from 0."""

    text: str
    lines: range
    total: int


def _part(text: str, lines: LinesRange | None, path: str) -> _Shown:
    """Return the lines as a person means them: a range past the end stops at the end."""
    every = text.removesuffix("\n").split("\n")
    start = max(1, lines.start) if lines else 1
    if lines and start > len(every):
        raise ToolError(f"{path} has only {len(every)} lines.")
    part = every[start - 1 : max(start, lines.end)] if lines else every
    whole = "\n".join(part) if lines else text
    cut = truncate(whole, start, len(every))
    # What does not fit is cut behind a whole line, or in the middle of the only one.
    fits = whole in cut
    return _Shown(cut, range(start - 1, start - 1 + (len(part) if fits else 0)), len(every))
