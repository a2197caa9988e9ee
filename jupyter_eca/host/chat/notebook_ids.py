"""Owns the ids of the notebooks in which chats began. A notebook that was moved outside of Jupyter, by `mv` or git, is
found again by its id, so that its chats, the choices and approval rules made for it and the changes that can be undone
follow it.

The store has the chats of each path, and the id of the notebook at each path. The notebook has the same id in its
metadata. It is written there when the user saves the notebook (`apps/server/renamed_notebooks.py`): we never write to a
file only for the id.

Suppose that a notebook is opened at a path for which the store has no id. If the store has the notebook's id for
another path, and the file there is gone or has another id now, the notebook was moved. Otherwise it is a copy. A copy
has no chats, and gets an id of its own when it is saved.

If the store does not know the id of a notebook, the notebook comes from another machine, or from another user of a
repository. Then it keeps this id. Otherwise two users would overwrite each other's ids in each commit.

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
_ID_BYTES: Final = 8
"""The length of a new id. Ids are only compared within one workspace."""


class NotebookIds:
    """The ids of the notebooks of one workspace. All paths are those of Jupyter's contents API."""

    def __init__(self, store: Store, get_files: Callable[[], Files]) -> None:
        """`get_files` returns the folders of the workspace as they are now."""
        self._get_files = get_files
        self._store = store
        self._ids: dict[str, str] = {}  # the stored ids by path

    async def load(self) -> None:
        """Read the stored ids. Called once, before any client is served."""
        try:
            self._ids = await self._store.do(lambda tables: tables.list_notebook_ids())
        except NotSaved as error:
            _log.warning("moved notebooks are not found this time: %s", error)

    async def follow_move(self, path: str) -> None:
        """If a notebook was moved to this path, move its chats there, too. Call this before the chats of the notebook
        are looked up. An error is logged, and the notebook then begins without chats."""
        if path in self._ids or not self._ids or not path.endswith(_SUFFIX):
            return
        try:
            old_path = await run_read(_find_old_path, self._get_files(), dict(self._ids), path)
            if old_path is not None and old_path in self._ids and path not in self._ids:
                await self.move(old_path, path)
        except (NotSaved, ToolError, OSError) as error:
            _log.warning("the chats of %s were not looked for: %s", path, error)

    async def add(self, path: str) -> None:
        """Store an id for a notebook, because a chat begins in it. It is the id in its file, or a new one if there is
        none or the notebook is a copy. Raises: NotSaved."""
        if path in self._ids or not path.endswith(_SUFFIX):
            return
        try:
            saved_id = await run_read(lambda: read_id(self._get_files().contents.resolve(path)))
        except (ToolError, OSError):
            saved_id = None  # the notebook is not on this disk, or was never saved
        id = secrets.token_hex(_ID_BYTES) if saved_id is None or self._find_path(saved_id) is not None else saved_id
        # Another program may have stored an id for this path. Then that id is returned.
        self._ids[path] = await self._store.do(lambda tables: tables.keep_notebook_id(path, id))

    def choose_id_for_save(
        self, path: str, saved_id: str | None, start: Callable[[Coroutine[Any, Any, None]], object]
    ) -> str | None:
        """Return the id to write into a notebook that is saved now; None for none. Also change the known ids where the
        notebook was moved, is a copy or is from another machine: see the top of the module. `saved_id` is the id that
        is in its metadata already. `start` runs a coroutine as a task: it stores these changes, because this function
        must not wait."""
        own_id = self._ids.get(path)
        if saved_id is None or saved_id == own_id:
            return own_id
        old_path = self._find_path(saved_id)
        if old_path is None:  # the id is from another machine or user
            if own_id is not None:
                self._replace(path, saved_id, start)
            return saved_id
        if _has_moved_away(self._get_files(), old_path, saved_id):  # the notebook was moved to `path`
            start(self._move_at_save(old_path, path))
            return saved_id
        if own_id is None:  # the notebook is a copy
            own_id = secrets.token_hex(_ID_BYTES)
            self._replace(path, own_id, start)
        return own_id

    async def move(self, old_path: str, new_path: str) -> None:
        """Let everything that is stored for a notebook follow it to its new path. The paths may also be those of a
        folder, for all notebooks in it. Raises: NotSaved."""
        files = self._get_files()
        real_paths = _get_real_path(files, old_path), _get_real_path(files, new_path)
        await self._store.do(
            lambda tables: (
                tables.choices.move(old_path, new_path),
                tables.notebook_rules.move(old_path, new_path),
                tables.move_notebook(old_path, new_path, real_paths),
            )
        )
        moved = {path: id for path, id in self._ids.items() if path == old_path or path.startswith(f"{old_path}/")}
        for path in moved:
            self._ids.pop(path)
        self._ids |= {new_path + path.removeprefix(old_path): id for path, id in moved.items()}

    async def _move_at_save(self, old_path: str, new_path: str) -> None:
        """Do `move`, but log an error and do not raise it."""
        try:
            await self.move(old_path, new_path)
        except NotSaved as error:
            _log.warning("the chats of %s stay at %s: %s", new_path, old_path, error)

    def _replace(self, path: str, id: str, start: Callable[[Coroutine[Any, Any, None]], object]) -> None:
        """Give another id to a path now, and store it in a task, which `start` starts."""
        self._ids[path] = id

        async def store() -> None:
            """Store the id. An error is logged."""
            try:
                await self._store.do(lambda tables: tables.keep_notebook_id(path, id, replace=True))
            except NotSaved as error:
                _log.warning("the id of %s is not stored: %s", path, error)

        start(store())

    def _find_path(self, id: str) -> str | None:
        """Return the path that an id belongs to, None for none."""
        return next((path for path, known in self._ids.items() if known == id), None)


def _find_old_path(files: Files, ids: Mapping[str, str], path: str) -> str | None:
    """Return the path at which a notebook was before it was moved to `path`; None if it was not moved. `ids` are the
    known ids by path. Blocks. Raises: ToolError, OSError."""
    # Most often every known notebook still has a file at its path. Then none was moved, and this file need not be read.
    # If notebooks were moved, at least one of the old paths has no file, even if each has taken the path of another
    # one.
    if not any(_is_gone(files, known) for known in ids):
        return None
    id = read_id(files.contents.resolve(path))
    old_path = next((known for known, known_id in ids.items() if known_id == id), None)
    return old_path if old_path is not None and id is not None and _has_moved_away(files, old_path, id) else None


def _has_moved_away(files: Files, path: str, id: str) -> bool:
    """Return whether the notebook with this id is no longer at this path: there is no file, or a file with another id.
    Blocks."""
    if _is_gone(files, path):
        return True
    try:
        return read_id(files.contents.resolve(path)) not in {id, None}
    except (ToolError, OSError):
        return False


def _get_real_path(files: Files, path: str) -> str:
    """Return the absolute path of a file in Jupyter's contents."""
    try:
        return str(files.contents.resolve(path))
    except ToolError:  # a link leads out of the workspace; Jupyter follows it, and we have changed nothing there
        return str(files.roots[0] / path)


def _is_gone(files: Files, path: str) -> bool:
    """Return whether there is no file at a path. Return False if this cannot be found out. Blocks."""
    try:
        os.lstat(files.contents.resolve(path))
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (ToolError, OSError):
        return False
    return False
