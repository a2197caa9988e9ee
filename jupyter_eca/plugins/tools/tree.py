"""The tool that lists a folder as a tree. In a git repository it lists the files that git knows, and elsewhere it walks
the folder. Symbolic links are shown, but never followed. `search` searches in files.
"""

from __future__ import annotations

import os
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Annotated

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.workspace.files import programs
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.skipped_folders import SKIPPED_FOLDERS
from jupyter_eca.workspace.files.text_file import report_os_errors

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.workspace.ports import Files

# How many entries are shown, at most. With more of them the tree is no overview.
MAX_ENTRIES = 500

# After how many entries a walk ends. A home folder can have millions of files.
_MAX_WALKED = 20_000

# The types of the arguments, with their descriptions for the model.
Folder = Annotated[str, Field(description="The folder to list.")]
Depth = Annotated[int | None, Field(ge=1, description="How many levels to show; all by default.")]


@tool(reads=True, summary="Listing {path}", paths=["path"])
async def directory_tree(context: ToolContext, path: Folder = ".", max_depth: Depth = None) -> str:
    """List the files and folders in a folder, as an indented tree.

    Files that git ignores are left out. "..." stands after a folder that has more than is shown.
    """
    folder = await run_read(_resolve_folder, context.files, path)
    listing = await _list_folder(folder)
    return await run_read(_draw, folder, path, listing, max_depth)


TOOLS = (directory_tree,)


def _resolve_folder(files: Files, path: str) -> Path:
    """Return the real path of a folder. Raises: ToolError when there is no such folder."""
    with report_os_errors(path):
        real = files.resolve(path)
        if real.is_dir():
            return real
        problem = "is not a folder" if real.exists() else "does not exist"
        raise ToolError(f"{path} {problem}.", "List '.' to see what there is.")


@dataclass(frozen=True, slots=True)
class _Listing:
    """The content of a folder."""

    paths: frozenset[tuple[str, ...]]
    """The parts of each path, relative to the folder."""
    whole: bool = True
    """False if a walk was ended early."""


async def _list_folder(folder: Path) -> _Listing:
    """Return the files that git knows. An ignored folder is walked instead: git would list nothing, but the model has
    asked for it."""
    if await programs.is_in_work_tree(folder):
        output = await programs.run_git(folder, "ls-files", "--cached", "--others", "--exclude-standard", "-z")
        if output:
            return await run_read(_keep_existing, folder, output)
    return await run_read(_walk, folder)


def _keep_existing(folder: Path, output: bytes) -> _Listing:
    """Return the paths of git's output that exist. Its index also has deleted files, and files that are now behind a
    symbolic link."""
    # Whether a folder is not behind a symbolic link. Each folder is looked at only once.
    is_real: dict[Path, bool] = {}
    paths: set[tuple[str, ...]] = set()
    for name in map(os.fsdecode, filter(None, output.split(b"\0"))):
        path = folder / name
        if path.parent not in is_real:
            is_real[path.parent] = path.parent.resolve() == path.parent
        parts = PurePosixPath(name).parts
        if is_real[path.parent] and os.path.lexists(path) and ".ipynb_checkpoints" not in parts:
            paths.add(parts)
    return _Listing(frozenset(paths))


def _walk(folder: Path) -> _Listing:
    """Walk a folder level by level, so that only the deepest entries are left out."""
    paths: set[tuple[str, ...]] = set()
    # The folders that are still to be read, each as the parts of its path below `folder`.
    waiting: deque[tuple[str, ...]] = deque([()])
    while waiting:
        parent = waiting.popleft()
        with suppress(OSError), os.scandir(folder.joinpath(*parent)) as entries:
            for entry in entries:
                if entry.name.startswith(".") or entry.name in SKIPPED_FOLDERS:
                    continue
                if len(paths) == _MAX_WALKED:
                    return _Listing(frozenset(paths), whole=False)
                paths.add((*parent, entry.name))
                if entry.is_dir(follow_symlinks=False):
                    waiting.append((*parent, entry.name))
    return _Listing(frozenset(paths))


def _draw(folder: Path, path: str, listing: _Listing, max_depth: int | None) -> str:
    """Return the tree. The entries nearest to `folder` are shown, at most `MAX_ENTRIES`."""
    # The folders of all paths are entries too: `("a", "b")` gives `("a",)` and `("a", "b")`.
    entries = {parts[:depth] for parts in listing.paths for depth in range(1, len(parts) + 1)}
    near = [parts for parts in entries if max_depth is None or len(parts) <= max_depth]
    kept = sorted(near, key=lambda parts: (len(parts), parts))[:MAX_ENTRIES]
    open_folders = {parts[:-1] for parts in entries}
    cut_folders = {parts[:-1] for parts in entries.difference(kept)}
    drawn = [
        "  " * (len(parts) - 1) + _label(folder.joinpath(*parts), parts in open_folders, parts in cut_folders)
        for parts in sorted(kept)
    ]
    if len(near) > MAX_ENTRIES:
        drawn.append(f"[{MAX_ENTRIES} of {len(near)} entries, the nearest first; list a folder in it to see more]")
    if not listing.whole:
        drawn.append(f"[only the first {_MAX_WALKED} entries were looked at]")
    return "\n".join(drawn) or f"[{path} is empty]"


def _label(path: Path, is_open: bool, is_cut: bool) -> str:
    """Return the label of an entry. `is_open`: it is a folder with entries. `is_cut`: some of them are not shown. A
    folder that was not read, such as another repository, is also marked as cut if it is not empty."""
    name = os.fsencode(path.name).decode(errors="replace")
    if path.is_symlink():
        return f"{name} (link)"
    if not path.is_dir():
        return name
    return f"{name}/ ..." if is_cut or not (is_open or _is_empty(path)) else f"{name}/"


def _is_empty(path: Path) -> bool:
    """Return whether a folder is empty. False if it cannot be read."""
    with suppress(OSError), os.scandir(path) as entries:
        return next(entries, None) is None
    return False
