"""Owns the ids of the notebooks in which chats began. A notebook that was moved outside of Jupyter, by `mv` or git, is
found again by its id, so that its chats, the choices made in it and the changes that can be undone follow it.

The chats belong to a path, and the store remembers the id of each path. The notebook has the same id in its metadata.
Jupyter's own save writes it there (`apps/server/renamed_notebooks.py`): we never write to a file only for the id. When
a notebook is opened under a path that has no id, and its id belongs to a path whose file is gone or has another id, it
was moved. Otherwise it is a copy. A copy has no chats, and gets an id of its own when it is saved.

An id that the store does not know comes from another machine, or from another user of a repository. It is adopted:
otherwise two users would overwrite each other's ids in each commit.

This module must not know the metadata: `workspace/notebooks/notebook_id.py` does.
"""

from __future__ import annotations

import logging
import os
import secrets
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import NotSaved, ToolError
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.notebooks.notebook_id import read_id

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from typing import Any

    from jupyter_eca.host.store import Store
    from jupyter_eca.workspace.ports import Files

_log = logging.getLogger(__name__)

_SUFFIX: Final = ".ipynb"
_BYTES: Final = 8
"""The length of a new id. Ids are only compared within one workspace."""


class NotebookIds:
    """The ids of the notebooks of one workspace. All paths are those of Jupyter's contents API."""

    def __init__(self, store: Store, get_files: Callable[[], Files]) -> None:
        """`get_files` returns the folders of the workspace that count now."""
        self._get_files = get_files
        self._store = store
        self._ids: dict[str, str] = {}  # by path

    async def load(self) -> None:
        """Read the stored ids. Called once, before any client is served."""
        try:
            self._ids = await self._store.do(lambda tables: tables.list_notebook_ids())
        except NotSaved as error:
            _log.warning("moved notebooks are not found this time: %s", error)

    async def follow(self, path: str) -> None:
        """Let the chats of a notebook follow it, if it was moved to this path. Call this before they are looked up.
        An error is logged: the notebook then begins without chats."""
        if path in self._ids or not self._ids or not path.endswith(_SUFFIX):
            return
        try:
            before = await run_read(_find_path_before, self._get_files(), dict(self._ids), path)
            if before is not None and before in self._ids and path not in self._ids:
                await self.move(before, path)
        except (NotSaved, ToolError, OSError) as error:
            _log.warning("the chats of %s were not looked for: %s", path, error)

    async def add(self, path: str) -> None:
        """Give a notebook an id, because a chat begins in it. It keeps the id that its file has, unless it is a copy.
        Raises: NotSaved."""
        if path in self._ids or not path.endswith(_SUFFIX):
            return
        try:
            found = await run_read(lambda: read_id(self._get_files().contents.resolve(path)))
        except (ToolError, OSError):
            found = None  # the notebook is not on this disk, or was never saved
        id = secrets.token_hex(_BYTES) if found is None or self._find_path(found) is not None else found
        # Another program may have added one for this path. Then that one counts.
        self._ids[path] = await self._store.do(lambda tables: tables.keep_notebook_id(path, id))

    def choose_for_save(
        self, path: str, found: str | None, start: Callable[[Coroutine[Any, Any, None]], object]
    ) -> str | None:
        """Return the id that a notebook is saved with; None for none. `found` is the id in its metadata now. `start`
        runs a coroutine as a task."""
        own = self._ids.get(path)
        if found is None or found == own:
            return own
        before = self._find_path(found)
        if before is None:
            if own is not None:
                self._replace(path, found, start)
            return found
        if _has_left(self._get_files(), before, found):
            start(self._move_at_save(before, path))
            return found
        if own is None:
            own = secrets.token_hex(_BYTES)
            self._replace(path, own, start)
        return own

    async def move(self, before: str, after: str) -> None:
        """Let a notebook, or all notebooks in a folder, keep under a new path what the store has of them. Raises:
        NotSaved."""
        files = self._get_files()
        real = _find_real_path(files, before), _find_real_path(files, after)
        await self._store.do(
            lambda tables: (tables.choices.move(before, after), tables.move_notebook(before, after, real))
        )
        moved = {path: id for path, id in self._ids.items() if path == before or path.startswith(f"{before}/")}
        for path in moved:
            self._ids.pop(path)
        self._ids |= {after + path.removeprefix(before): id for path, id in moved.items()}

    async def _move_at_save(self, before: str, after: str) -> None:
        """Do `move` as a task."""
        try:
            await self.move(before, after)
        except NotSaved as error:
            _log.warning("the chats of %s stay at %s: %s", after, before, error)

    def _replace(self, path: str, id: str, start: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Give a path another id, and store it in a task."""
        self._ids[path] = id

        async def store() -> None:
            try:
                await self._store.do(lambda tables: tables.keep_notebook_id(path, id, replace=True))
            except NotSaved as error:
                _log.warning("the id of %s is not stored: %s", path, error)

        start(store())

    def _find_path(self, id: str) -> str | None:
        """Return the path that an id belongs to, None for none."""
        return next((path for path, known in self._ids.items() if known == id), None)


def _find_path_before(files: Files, ids: Mapping[str, str], path: str) -> str | None:
    """Return the path at which a notebook was before it was moved to `path`; None if it was not moved. `ids` are the
    known ids by path. Blocks. Raises: ToolError, OSError."""
    # The file is only read if a known notebook is gone. One is also gone when several were moved, each to the path of
    # the next one.
    if not any(_is_gone(files, known) for known in ids):
        return None
    id = read_id(files.contents.resolve(path))
    before = next((known for known, known_id in ids.items() if known_id == id), None)
    return before if before is not None and id is not None and _has_left(files, before, id) else None


def _has_left(files: Files, path: str, id: str) -> bool:
    """Return whether the notebook with an id is not at its path any more: there is no file, or one with another id.
    Blocks."""
    if _is_gone(files, path):
        return True
    try:
        return read_id(files.contents.resolve(path)) not in {id, None}
    except (ToolError, OSError):
        return False


def _find_real_path(files: Files, path: str) -> str:
    """Return the absolute path of a file in Jupyter's contents."""
    try:
        return str(files.contents.resolve(path))
    except ToolError:  # a link leads out of the workspace; Jupyter follows it, and we have changed nothing there
        return str(files.roots[0] / path)


def _is_gone(files: Files, path: str) -> bool:
    """Return whether there is no file at a path. It is not gone if that cannot be found out. Blocks."""
    try:
        os.lstat(files.contents.resolve(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (ToolError, OSError):
        return False
    return False
