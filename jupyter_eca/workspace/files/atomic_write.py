"""A file replaced whole or not at all. Knows nothing of what is in it; paths come here already contained."""

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
    """A reader sees the old file or the new one, never half of one. Mode and owner are kept. `still` is asked as late
    as can be, and raises when the file is no longer the one that was read.

    Raises: ToolError; the file is as it was then.
    """
    if not os.access(real, os.W_OK):  # os.replace asks only for rights on the folder
        raise ToolError(f"{name} cannot be written: it is read-only, or gone.")
    try:
        put(real, data, check_unchanged)
    except OSError as error:
        raise ToolError(f"{name} cannot be written: {error.strerror or error}.") from error


def put(real: Path, data: bytes, check_unchanged: Callable[[], None] = lambda: None) -> None:
    """As `replace`, also where there is no file yet. Raises: OSError, and what `still` raises."""
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
    """A server that runs as root edits the files of others."""
    if hasattr(os, "chown"):
        status = real.stat()
        with suppress(PermissionError):
            os.chown(fresh, status.st_uid, status.st_gid)
    shutil.copymode(real, fresh)


def _sync_folder(folder: Path) -> None:
    """The new name too outlives a power cut, where a folder can be synced at all."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
