"""The context of a file or of some of its lines. Pictures and PDFs are given as they are, notebooks cell by cell."""

from __future__ import annotations

import asyncio
from dataclasses import replace
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
    from jupyter_eca.workspace.ports import Files

# Read at most; of a text no more than a part is given to a model anyway.
MAX_READ = 20_000_000


class FilePlug:
    kind = "file"

    async def query(self, surroundings: Surroundings, query: str) -> list[FileContext]:
        return [FileContext(path=path) for path in await surroundings.index.search_files(query, 50)]

    async def resolve(self, surroundings: Surroundings, context: FileContext) -> Material:
        """Read the file. A notebook that is open is read as it is there, not as it was saved."""
        path, lines = context.path, context.lines_range
        if surroundings.notebooks is None or (name := await open_notebook.find_open_path(surroundings, path)) is None:
            return await run_read(read_file, surroundings.files, path, lines, surroundings.known)
        cells = await surroundings.notebooks.read(name)
        if lines is None:
            return replace(await asyncio.to_thread(open_notebook.whole, cells, surroundings.known), label=path)
        return Material(path, _part(render_cells(cells), lines, path))


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
    if known is not None and len(data) == size:
        known.learn(make_file_key(real), text)
    if real.suffix.lower() == ".ipynb":
        text = notebook_text.render_notebook(text, path)
    cut = f"\n[only the first {MAX_READ} of {size} bytes were read]" if size > MAX_READ else ""
    return Material(path, _part(text, lines, path) + cut)


def _part(text: str, lines: LinesRange | None, path: str) -> str:
    """Return the lines as a person means them: a range past the end stops at the end."""
    if lines is None:
        return truncate(text)
    every = text.removesuffix("\n").split("\n")
    start = max(1, lines.start)
    if start > len(every):
        raise ToolError(f"{path} has only {len(every)} lines.")
    part = every[start - 1 : max(start, lines.end)]
    return truncate("\n".join(part), start, len(every))
