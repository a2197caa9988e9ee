"""Reads and changes notebook files that no client has open.

A file is replaced as a whole, and only if it still has the bytes that were read. So a program that wrote it meanwhile
loses no work. The module must not know chats, and uses kernels only through the interfaces of `workspace/ports.py`. Its
neighbours `cells.py` and `run_cells.py` apply changes to cells and run them.

In this module, `path` is the path in Jupyter's contents API, and `real` the resolved path on the disk.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from pydantic import ValidationError

from jupyter_eca.config.disk.regular_file import read_resolved
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellState, CellType, NotebookDocument
from jupyter_eca.workspace.files import atomic_write
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks import cells, prompt_cells, run_cells
from jupyter_eca.workspace.notebooks.cells import IDS_SINCE, READ_AGAIN, NbformatCell
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

    from jupyter_eca.protocol.notebook import CellChange, NotebookCell, NotebookInfo, NotebookRunResult
    from jupyter_eca.workspace.ports import Files, Kernels, RunObserver


# The size of the largest notebook that is read. Notebooks with 100 MB of outputs exist. A notebook takes several times
# its size in memory while it is read.
MAX_BYTES: Final = 200_000_000

# The seconds for which the notebook that was last loaded stays in memory. An edit loads it several times: for its
# preview, for the change, and to verify it.
KEEP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class _LoadedNotebook:
    """A notebook as it was loaded, converted to nbformat 4."""

    digest: bytes
    """The digest of the bytes of the file."""
    major: int
    """The major version of the format that the file has."""
    content: dict[str, Any]
    """The notebook as nbformat 4 JSON."""
    cells: list[NbformatCell]
    """The cells of `content`, with their ids."""

    @property
    def has_ids(self) -> bool:
        """Whether the file stores the ids of its cells."""
        return int(self.content.get("nbformat_minor", 0)) >= IDS_SINCE


@dataclass(frozen=True, slots=True)
class _LastSeen:
    """A notebook file as it was last read or written here."""

    digest: bytes
    """The digest of the bytes of the file."""
    ids: tuple[str, ...]
    """The ids of its cells, in order. As long as the file does not change, its cells keep these ids, even if the file
    stores no ids."""


class NotebookFiles:
    """Implements the interface `Notebooks` of `workspace/ports.py` for files. Without `kernels` no cell can be run."""

    def __init__(self, files: Files, kernels: Kernels | None = None) -> None:
        self._files = files
        self._kernels = kernels
        # What each file was when the model last read or changed it.
        self._seen: dict[Path, _LastSeen] = {}
        # The source with which each cell last ran here, by path and cell id.
        self._ran_sources: dict[tuple[Path, str], str] = {}
        # The cells that run now, by path and cell id.
        self._running: set[tuple[Path, str]] = set()
        # The notebook that was last loaded, for some seconds, and the timer that then removes it from here. The content
        # of this object never changes.
        self._last_loaded: _LoadedNotebook | None = None
        self._forgetting: asyncio.TimerHandle | None = None
        # Each is held while a notebook is changed.
        self._locks: defaultdict[Path, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def list(self) -> tuple[NotebookInfo, ...]:
        """Return no notebooks, because no client has these files open."""
        return ()

    async def read(self, path: str) -> NotebookDocument:
        """Read a notebook. From now on it can be changed, as long as its file stays the same."""
        real = self._files.resolve(path)
        loaded = await self._load(real, path)
        self._remember(real, loaded)
        return await self._to_document(real, path, loaded)

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:  # noqa: ARG002
        """Make all changes, or none of them, and return the notebook read back. Raises: ToolError with the reason."""
        return await run_to_end(self._edit(self._files.resolve(path), path, changes))

    async def _edit(self, real: Path, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """Make the changes, if the file is the one that was last read, and return the notebook read back."""
        async with self._locks[real]:
            loaded = await self._load(real, path)
            seen = self._seen.get(real)
            if seen is None or seen.digest != loaded.digest:
                raise ToolError(
                    f"{path} {'changed' if seen else 'was not read'} since; nothing was changed.", READ_AGAIN
                )
            new_cells = cells.apply_changes(loaded.cells, changes, with_ids=loaded.has_ids)
            await self._write(real, path, loaded, new_cells)
        reread = await self._load(real, path)
        return await self._to_document(real, path, reread)

    async def run(
        self, chat: str, path: str, cells: Sequence[str], observer: RunObserver | None = None
    ) -> NotebookRunResult:
        """Run cells one after the other until one fails, and store their outputs in the file."""
        return await run_cells.run(self, self._kernels, chat, path, cells, observer)

    async def show(self, path: str, cell: str | None = None) -> None:
        """Do nothing, because no page has the notebook open."""

    # -- for `run_cells`

    async def read_cells(self, path: str) -> list[NbformatCell]:
        """Return the cells as they are in the file now."""
        real = self._files.resolve(path)
        loaded = await self._load(real, path)
        _check_writable(loaded, path)
        return loaded.cells

    async def begin_cell(self, path: str, id: str) -> None:
        """Remember that the cell is running. The file is written only after the cell has ended."""
        self._running.add((self._files.resolve(path), id))

    async def put_outputs(self, path: str, id: str, outputs: list[dict[str, Any]], count: int | None) -> None:
        """Store the outputs and the execution count of a cell that ran."""
        real = self._files.resolve(path)
        self._running.discard((real, id))
        async with self._locks[real]:
            loaded = await self._load(real, path)
            new_cells = list(loaded.cells)
            position = cells.find_index(new_cells, id)
            new_cells[position] = NbformatCell(
                id, new_cells[position].node | {"outputs": outputs, "execution_count": count}
            )
            await self._write(real, path, loaded, new_cells)
        self._ran_sources[real, id] = new_cells[position].source

    # -- the file

    async def _load(self, real: Path, path: str) -> _LoadedNotebook:
        """Load a notebook file in a thread. It is not parsed if it has the bytes of the notebook that was last
        loaded."""
        loaded = await run_read(_load, real, path, self._seen.get(real), self._last_loaded)
        if self._forgetting is not None:
            self._forgetting.cancel()
        self._last_loaded = loaded
        self._forgetting = asyncio.get_running_loop().call_later(KEEP_SECONDS, self._forget_loaded)
        return loaded

    def _forget_loaded(self) -> None:
        """Free the memory of the notebook that was last loaded."""
        self._last_loaded = self._forgetting = None

    def _remember(self, real: Path, loaded: _LoadedNotebook) -> None:
        """Note that the model reads this version of the file. Only then can it be changed."""
        self._seen[real] = _LastSeen(loaded.digest, tuple(cell.id for cell in loaded.cells))

    async def _write(self, real: Path, path: str, loaded: _LoadedNotebook, new_cells: Sequence[NbformatCell]) -> None:
        """Write the cells. If the old file was the one that was last read, the new file counts as read too.

        Otherwise somebody else changed the file after that read, and the model must still read that change.
        """
        _check_writable(loaded, path)
        digest = await asyncio.to_thread(_write, real, path, loaded, new_cells)
        seen = self._seen.get(real)
        if seen is not None and seen.digest == loaded.digest:
            self._seen[real] = _LastSeen(digest, tuple(cell.id for cell in new_cells))

    async def _to_document(self, real: Path, path: str, loaded: _LoadedNotebook) -> NotebookDocument:
        """Convert a notebook to the model for clients, with the id and the status of its kernel."""
        kernel, status = await find_kernel(self._kernels, path)
        with _refuse_invalid(path):
            return NotebookDocument(
                path=path,
                cells=tuple(self._to_cell(real, cell) for cell in loaded.cells),
                language=detect_language(loaded.content.get("metadata", {})),
                kernel_id=kernel,
                kernel_status=status,
            )

    def _to_cell(self, real: Path, cell: NbformatCell) -> NotebookCell:
        """Convert a cell to the model for clients, with the state that is known here."""
        result, ran_source = cells.to_notebook_cell(cell), self._ran_sources.get((real, cell.id))
        if (real, cell.id) in self._running:
            return result.model_copy(update={"state": CellState.RUNNING})
        if ran_source is None or result.cell_type is not CellType.CODE:
            return result
        return result.model_copy(update={"state": CellState.RAN if ran_source == result.source else CellState.EDITED})


async def find_kernel(kernels: Kernels | None, path: str) -> tuple[str | None, str | None]:
    """Return the id of a notebook's kernel and its status in Jupyter's words; None for both when it has no kernel."""
    if kernels is None:
        return None, None
    try:
        kernel = await kernels.find(path)
        return (kernel.id, (await kernel.state()).status) if kernel.id else (None, None)
    except ToolError:
        return None, None


def detect_language(metadata: dict[str, Any]) -> str:
    """Return the language of a notebook from its metadata; empty when it is not there."""
    spec, info = metadata.get("kernelspec", {}), metadata.get("language_info", {})
    # A notebook that was never run has no language_info yet. Then the language is that of its kernel specification. The
    # kernel specification of the kernel `eca` says Python, but its cells are prompts in Markdown.
    meant = prompt_cells.LANGUAGE if spec.get("name") == prompt_cells.KERNEL_NAME else spec.get("language")
    return str(info.get("name") or meant or "")


def _load(real: Path, path: str, seen: _LastSeen | None, last: _LoadedNotebook | None) -> _LoadedNotebook:
    """Load a notebook file. `seen` is what the file was when it was last read; None when it was not. `last` is the
    notebook that was last loaded from any file. It is returned if the file has the same bytes.

    Raises: ToolError when there is no file, or no valid notebook in it.
    """
    try:
        data = read_resolved(real, MAX_BYTES)
    except FileNotFoundError as error:
        raise ToolError(f"There is no notebook {path} (any more).", "It may have been deleted or renamed.") from error
    except OSError as error:
        raise ToolError(f"{path} cannot be read: {error.strerror or error}.") from error
    digest = hashlib.sha256(data).digest()
    known = seen.ids if seen is not None and seen.digest == digest else ()
    if last is not None and last.digest == digest and known in ((), tuple(cell.id for cell in last.cells)):
        return last
    with _refuse_invalid(path):
        major, book = _parse(data.decode("utf-8"))
        return _LoadedNotebook(digest, major, book, cells.identify_cells(book["cells"], known))


@contextmanager
def _refuse_invalid(path: str) -> Generator[None]:
    """Turn the errors of a block that converts a notebook into a ToolError: a part of the notebook is missing, or has a
    wrong type."""
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        why = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise ToolError(f"{path} is not a valid notebook: {why}.", "Read it as a text file.") from error
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        why = f"it has no {error}" if isinstance(error, LookupError) else error
        raise ToolError(f"{path} is not a valid notebook: {why}.", "Read it as a text file.") from error


def _parse(text: str) -> tuple[int, dict[str, Any]]:
    """Return the file's major version, and its content in nbformat 4.

    nbformat's own validation is not called, because it only logs problems. A missing part raises an error when it is
    used.
    """
    nbformat = _import_nbformat()
    raw = json.loads(text)
    major, minor = raw["nbformat"], raw.get("nbformat_minor", 0)
    if major not in nbformat.versions:
        raise ValueError(f"its format version {major} is not known")
    content = nbformat.versions[major].to_notebook_json(raw, minor=minor)
    if major < 4:
        if not isinstance(minor, int):
            raise ValueError("nbformat_minor is not a number")  # the conversion would fail an assertion
        content = nbformat.convert(content, 4)
        for cell in content["cells"]:
            cell.pop("id", None)  # nbformat chose it at random, so the next read would give another id
    if not isinstance(content["cells"], list):
        raise ValueError("its cells are not a list")
    return major, content


def _check_writable(loaded: _LoadedNotebook, path: str) -> None:
    """Raises: ToolError for a notebook in a format before 4."""
    if loaded.major < 4:
        raise ToolError(
            f"{path} is in notebook format {loaded.major}, which is only read here.",
            "Ask the user to open it in Jupyter and to save it, which brings it up to date.",
        )


def _write(real: Path, path: str, loaded: _LoadedNotebook, cells: Sequence[NbformatCell]) -> bytes:
    """Write the file as Jupyter writes it, and return the digest of the new bytes.

    Raises: ToolError. The file is unchanged then.
    """
    nbformat = _import_nbformat()
    # A cell that is not the same Python object as before is new or was changed.
    old = {id(cell.node) for cell in loaded.cells}
    _check_cells([cell.node for cell in cells if id(cell.node) not in old], loaded.content, path)
    notebook = nbformat.from_dict({**loaded.content, "cells": [cell.node for cell in cells]})
    try:
        data = (nbformat.versions[4].writes_json(notebook) + "\n").encode("utf-8")
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise ToolError(f"{path} would not be a valid notebook: {error}; nothing was changed.") from error

    def check_unchanged() -> None:
        """Raises: ToolError when the file no longer has the bytes that were loaded."""
        if hashlib.sha256(read_resolved(real, MAX_BYTES)).digest() != loaded.digest:
            raise ToolError(f"{path} was changed by somebody else just now; nothing was changed here.", READ_AGAIN)

    atomic_write.replace(real, path, data, check_unchanged)
    return hashlib.sha256(data).digest()


def _check_cells(nodes: Sequence[dict[str, Any]], content: dict[str, Any], path: str) -> None:
    """Validate the new cells, but not the others. So a notebook with a small error in another cell can be edited.
    `nodes` are the new cells as nbformat JSON, and `content` is the notebook.

    Raises: ToolError.
    """
    nbformat = _import_nbformat()
    for node in nodes:
        ref = f"{node.get('cell_type')}_cell"
        try:
            nbformat.validate(node, ref=ref, version=4, version_minor=content.get("nbformat_minor", 0))
        except nbformat.ValidationError as error:
            raise ToolError(f"{path} would not be a valid notebook: {error.message}; nothing was changed.") from error


def _import_nbformat() -> Any:
    """Return nbformat, which has only a part of its types. It is imported on first use, in a worker thread, because it
    takes a second to load its schemas."""
    import nbformat

    return nbformat
