"""Replaces a file as a whole or not at all: a reader sees the old file or the new one, never half of one.

It must not know what is in the file. Its callers have checked that the path lies in the workspace: `real` is a path as
`ports.Files.resolve` returns it. Its neighbour `text_file.py` reads and writes text.
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


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

    Raises: OSError, and what `check_unchanged` raises.
    """
    fresh = real.with_name(f".eca-{secrets.token_hex(8)}")
    try:
        with fresh.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if real.exists():
            _keep_owner_and_mode(real, fresh)
        check_unchanged()
        fresh.replace(real)
        _sync_folder(real.parent)
    finally:
        with suppress(OSError):
            fresh.unlink(missing_ok=True)


def _keep_owner_and_mode(real: Path, fresh: Path) -> None:
    """Copy the owner and the mode. A server that runs as root also edits files of other users."""
    if hasattr(os, "chown"):
        status = real.stat()
        with suppress(PermissionError):
            os.chown(fresh, status.st_uid, status.st_gid)
    shutil.copymode(real, fresh)


def _sync_folder(folder: Path) -> None:
    """Flush the folder to the disk, where that is possible, so that the new name survives a power cut."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
