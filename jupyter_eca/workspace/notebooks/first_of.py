"""One answer for every notebook: of a client that has it open, else of the server, else of the file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument, NotebookInfo, NotebookRunResult
    from jupyter_eca.workspace.ports import Heard, Notebooks


class Foremost:
    """`workspace.base.Notebooks` of several: whichever of `live` has a notebook open answers for it, the first one
    that has it active if there is one; `rest` answers for those that nobody has open."""

    def __init__(self, live: Sequence[Notebooks], rest: Notebooks) -> None:
        self._live = tuple(live)
        self._fallback = rest

    async def list(self) -> tuple[NotebookInfo, ...]:
        infos = [info for notebooks in (*self._live, self._fallback) for info in await notebooks.list()]
        once = {info.path: info for info in sorted(infos, key=lambda info: info.active)}
        return tuple(sorted(once.values(), key=lambda info: not info.active))

    async def read(self, path: str) -> NotebookDocument:
        return await (await self._find_owner(path)).read(path)

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        return await (await self._find_owner(path)).edit(chat, path, changes)

    async def run(self, chat: str, path: str, cells: Sequence[str], heard: Heard | None = None) -> NotebookRunResult:
        return await (await self._find_owner(path)).run(chat, path, cells, heard)

    async def show(self, path: str, cell: str | None = None) -> None:
        for notebooks in self._live[:1]:
            await notebooks.show(path, cell)

    async def _find_owner(self, path: str) -> Notebooks:
        best = self._fallback
        for notebooks in reversed(self._live):
            for info in await notebooks.list():
                if info.path == path and (info.active or best is self._fallback):
                    best = notebooks
        return best
