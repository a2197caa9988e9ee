"""The context of a folder of the workspace: its files and folders with their sizes. `repomap` has the whole
workspace."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.contexts.base import Material
from jupyter_eca.plugins.contexts.cell import MAX_OFFERED
from jupyter_eca.protocol.context import DirectoryContext
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.text_file import report_os_errors
from jupyter_eca.workspace.reading.file_tree import MAX_ENTRIES, draw_tree

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.plugins.contexts.base import Surroundings
    from jupyter_eca.workspace.ports import Files


class DirectoryPlug:
    """The plug: `query` offers folders by their names, and `resolve` lists the chosen one. The class implements
    `base.Context`, whose argument `surroundings` has the sources that are read."""

    # The `type` of its contexts in the messages of the protocol.
    kind = "directory"

    async def query(self, surroundings: Surroundings, query: str) -> list[DirectoryContext]:
        """Offer at most fifty folders."""
        return [DirectoryContext(path=path) for path in await surroundings.index.search_directories(query, MAX_OFFERED)]

    async def resolve(self, surroundings: Surroundings, context: DirectoryContext) -> Material:
        """Return the folder as a tree."""
        folder = await run_read(_resolve_folder, surroundings.files, context.path)
        names = await surroundings.index.list_inside(folder)
        return Material(context.path, await run_read(_as_text, folder, names, context.path))


CONTEXT = DirectoryPlug()


def _resolve_folder(files: Files, path: str) -> Path:
    """Return the real path of a folder. Raises: ToolError when there is no such folder."""
    with report_os_errors(path):
        real = files.resolve(path)
        if not real.is_dir():
            raise ToolError(f"{path} {'is no folder' if real.exists() else 'does not exist'}.")
        return real


def _as_text(folder: Path, names: list[str], path: str) -> str:
    """Return the folder as a tree. `names` are its files and folders in the index, relative to it."""
    if not names:
        # A folder that git ignores is not in the index, but a user who points at it wants to see it.
        with report_os_errors(path), os.scandir(folder) as entries:
            names = [entry.name for _, entry in zip(range(MAX_ENTRIES), entries, strict=False)]
    sizes: dict[str, int] = {}
    for name in sorted(names, key=lambda name: name.count("/"))[:MAX_ENTRIES]:
        with suppress(OSError):
            sizes[name] = (folder / name).lstat().st_size
    return draw_tree(names, sizes) or "[an empty folder]"
