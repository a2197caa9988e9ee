"""Replaces a file of ours as a whole or not at all: a reader sees the old file or the new one, never half of one.

What a killed process has left of such a write is deleted at the next start, because it may contain keys, or words of a
chat.

It must not know what is in the file. `workspace/files/atomic_write.py` does the same to files of the user's project.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# The name of a file that is being written: `auth.json.1234-0f1e2d3c.new`. The number is the id of the process.
_UNFINISHED: Final = re.compile(r".+\.(\d+)-[0-9a-f]{8}\.new")

# A write takes much less than a second. So a file that is older than this was left by a process that was killed, also
# if another process has the same id now.
_MAX_WRITE_SECONDS: Final = 60 * 60


def replace_file(file: Path, text: str, *, keeps_mode: bool = False) -> None:
    """Replace a file, or make it. At no moment can others than its owner read it; with `keeps_mode`, an existing file
    keeps its rights. A folder that is missing is made. Blocks. Raises: OSError; the file is unchanged then."""
    file.parent.mkdir(parents=True, exist_ok=True)
    mode = stat.S_IMODE(file.stat().st_mode) if keeps_mode and file.exists() else 0o600
    try:
        _write(file, text, mode)
    except FileNotFoundError:
        # A server on another machine with the same home folder does not see this process, and may have deleted the new
        # file.
        _write(file, text, mode)


def _write(file: Path, text: str, mode: int) -> None:
    """Write the text to a new file beside the file, and give it the name of the file. Raises: OSError."""
    fresh = file.with_name(f"{file.name}.{os.getpid()}-{secrets.token_hex(4)}.new")
    try:
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        fresh.chmod(mode)
        fresh.replace(file)
    except BaseException:
        with suppress(OSError):
            fresh.unlink()
        raise


def delete_unfinished(folders: Iterable[Path]) -> None:
    """Delete the files in these folders that a process has begun to write, and that has ended since. Blocks."""
    for folder in folders:
        with suppress(OSError):
            for path in folder.iterdir():
                name = _UNFINISHED.fullmatch(path.name)
                if name is not None and _is_left(path, int(name[1])):
                    path.unlink(missing_ok=True)


def _is_left(path: Path, writer: int) -> bool:
    """Return whether nobody writes a file any more. `writer` is the id of the process that has begun to. Raises:
    OSError."""
    import psutil  # takes 30 ms to import, and is hardly ever needed

    return not psutil.pid_exists(writer) or path.stat().st_mtime < time.time() - _MAX_WRITE_SECONDS
