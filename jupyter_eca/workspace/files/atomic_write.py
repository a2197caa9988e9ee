"""Replaces a file as a whole or not at all: a reader sees the old file or the new one, never half of one.

It must not know what is in the file. Its callers have checked that the path lies in the workspace: `real` is a path as
`ports.Files.resolve` returns it. Its neighbour `text_file.py` reads and writes text.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import open_resolved_folder
from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


def replace(real: Path, name: str, data: bytes, check_unchanged: Callable[[], None]) -> None:
    """Replace an existing file. It keeps its mode and its owner. `name` is the name of the file in errors.

    `check_unchanged` is called as late as possible, just before the file is replaced. It raises ToolError when the file
    is no longer the one that was read.

    Raises: ToolError. The file is unchanged then.
    """
    if not os.access(real, os.W_OK):  # `os.replace` itself would not check: it needs only rights on the folder
        raise ToolError(f"{name} cannot be written: it is read-only, or gone.")
    try:
        write(real, data, check_unchanged)
    except OSError as error:
        raise ToolError(f"{name} cannot be written: {error.strerror or error}.") from error


def write(real: Path, data: bytes, check_unchanged: Callable[[], None] = lambda: None) -> None:
    """Write a file, which need not exist yet. An existing file keeps its mode and its owner. The data is written to a
    new file in the same folder, which is then renamed to `real`. See `replace` for the arguments.

    Raises: OSError, also when somebody has put a link on the path; and what `check_unchanged` raises.
    """
    fresh = f".eca-{secrets.token_hex(8)}"
    with open_resolved_folder(real.parent) as folder:
        try:
            with os.fdopen(os.open(_name(real, fresh, folder), _NEW_FILE, 0o666, dir_fd=folder), "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                with suppress(FileNotFoundError):
                    _keep_owner_and_mode(os.stat(_name(real, real.name, folder), dir_fd=folder), file.fileno())
            check_unchanged()
            names = _name(real, fresh, folder), _name(real, real.name, folder)
            os.replace(*names, src_dir_fd=folder, dst_dir_fd=folder)
            _sync_folder(real.parent)
        finally:
            with suppress(OSError):
                os.unlink(_name(real, fresh, folder), dir_fd=folder)


def move(old: Path, new: Path) -> None:
    """Move a file or a folder. The folders of both paths are resolved. Raises: OSError, also when somebody has put a
    link on a path."""
    with open_resolved_folder(old.parent) as source, open_resolved_folder(new.parent) as target:
        os.rename(_name(old, old.name, source), _name(new, new.name, target), src_dir_fd=source, dst_dir_fd=target)


def _name(real: Path, name: str, folder: int | None) -> str:
    """Return how a file beside `real` is named: by its name alone if there is a descriptor of the folder."""
    return str(real.with_name(name)) if folder is None else name


def _keep_owner_and_mode(status: os.stat_result, descriptor: int) -> None:
    """Give an open file the owner and the mode of the file that it will replace. A server that runs as root also edits
    files of other users. Windows has neither."""
    if hasattr(os, "fchown"):
        with suppress(PermissionError):
            os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    """Flush the folder to the disk, where that is possible, so that the new name survives a power cut."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
