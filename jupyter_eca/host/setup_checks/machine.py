"""Finds what is wrong with this machine: programs that are missing, a full disk, a database on a network drive, a wrong
clock.

All of this is known without the network.
"""

from __future__ import annotations

import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator

# The seconds of a day.
_DAY_SECONDS: Final = 86_400
# The bytes that should be free on the disk. A chat with pictures may need a part of them, and SQLite needs as much
# again while it writes.
_SMALLEST_FREE_BYTES: Final = 100_000_000
# File systems on which several machines may change a file at once. SQLite's locks do not work there
# (https://www.sqlite.org/useovernet.html).
_NETWORK_FILE_SYSTEMS: Final = frozenset(
    {"nfs", "nfs4", "cifs", "smb", "smb2", "smb3", "smbfs", "afpfs", "fuse.sshfs", "afs", "davfs"}
)


def find_machine_problems(database: Path | None) -> Iterator[str]:
    """Yield what is wrong with this machine. Blocks. `database` is the file of the chats; None if they are in the
    database of a server."""
    if shutil.which("rg") is None:
        yield "ripgrep (`rg`) is not installed, so searching in files is slow and ignores no `.gitignore`. Install it."
    if database is not None:
        yield from _find_disk_problems(database)
    yield from _find_clock_problems(database)


def _find_disk_problems(database: Path) -> Iterator[str]:
    """Yield what is wrong with the disk of the chats."""
    folder = next((place for place in database.parents if place.is_dir()), Path())
    free = shutil.disk_usage(folder).free
    if free < _SMALLEST_FREE_BYTES:
        yield f"The disk of {folder} has only {free // 1_000_000} MB left, and chats are stored there. Make space."
    if kind := _find_network_drive(folder):
        yield (
            f"The chats are stored in {folder}, on a network drive ({kind}), where two programs can damage the file. "
            "Set `JUPYTER_DATA_DIR` to a folder of this machine."
        )
    if os.name == "posix" and not os.access(folder, os.W_OK):
        yield (
            f"{folder} cannot be written, so chats are not kept. Give yourself the right to write there, or set "
            "`JUPYTER_DATA_DIR`."
        )


def _find_network_drive(folder: Path) -> str:
    """Return the kind of the network drive that a folder is on, "" for none."""
    place = folder.resolve()
    mounts = [
        (len(Path(mount.mountpoint).parts), mount.fstype)
        for mount in psutil.disk_partitions(all=True)
        if place.is_relative_to(mount.mountpoint)
    ]
    kind = max(mounts, default=(0, ""))[1]
    return kind if kind.casefold() in _NETWORK_FILE_SYSTEMS else ""


def _find_clock_problems(database: Path | None) -> Iterator[str]:
    """Yield a sentence if the clock is more than a day slow: it then shows a time before the one at which a file of
    ours was written."""
    times: list[float] = []
    for file in filter(None, (database, Path(__file__))):
        try:
            times.append(file.stat().st_mtime)
        except OSError:
            continue
    if times and max(times) > time.time() + _DAY_SECONDS:
        now = datetime.now(UTC).date().isoformat()
        yield (
            f"The clock of this machine is wrong: it says {now}, but a file of ours is from a later day. Correct it: "
            "sign-ins and certificates depend on it."
        )
