"""Passes each call for a notebook to the implementation of the interface `Notebooks` that handles this notebook: the
client that has it open, else the shared document or the file.

It must not know how they work. `fronts/eca` implements the interface for browser pages. `shared_document.py` and
`file.py` beside it implement it for shared documents and files. See "The live notebook" in `workspace/ports.py`.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument, NotebookInfo, NotebookRunResult
    from jupyter_eca.workspace.ports import Notebooks, RunObserver


class NotebookRouter:
    """Implements the interface `Notebooks` by passing each call to another implementation.

    `live` are the clients. If one of them has the notebook open, it gets the call. If several have it open, the first
    in which the notebook is active gets the call. `fallback` gets the calls for notebooks that no client has open.
    """

    def __init__(self, live: Sequence[Notebooks], fallback: Notebooks) -> None:
        self._live = tuple(live)
        self._fallback = fallback

    async def list(self) -> tuple[NotebookInfo, ...]:
        """List the open notebooks of all implementations, each once, the active ones first."""
        # All are asked at once: several pages that do not answer cost the time of one.
        lists = await asyncio.gather(*(notebooks.list() for notebooks in (*self._live, self._fallback)))
        infos = [info for listed in lists for info in listed]
        # Of several entries with one path, the last is kept. So the active ones come last here. In the result they come
        # first.
        once = {info.path: info for info in sorted(infos, key=lambda info: info.active)}
        return tuple(sorted(once.values(), key=lambda info: not info.active))

    async def read(self, path: str) -> NotebookDocument:
        """Read a notebook, with its outputs."""
        return await (await self._find_owner(path)).read(path)

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """Make all changes, or none of them, and return the notebook read back."""
        return await (await self._find_owner(path)).edit(chat, path, changes)

    async def run(
        self, chat: str, path: str, cells: Sequence[str], observer: RunObserver | None = None
    ) -> NotebookRunResult:
        """Run cells one after the other until one fails. Afterwards their outputs are in the notebook."""
        return await (await self._find_owner(path)).run(chat, path, cells, observer)

    async def show(self, path: str, cell: str | None = None) -> None:
        """Show the notebook in the first client only, so that it does not open in several pages."""
        for notebooks in self._live[:1]:
            await notebooks.show(path, cell)

    async def _find_owner(self, path: str) -> Notebooks:
        """Return the implementation that handles a notebook."""
        best = self._fallback
        for notebooks in reversed(self._live):
            for info in await notebooks.list():
                if info.path == path and (info.active or best is self._fallback):
                    best = notebooks
        return best
