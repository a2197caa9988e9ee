"""Opens files for reading safely, and folders for writing, when a model, a client or a project has named the path.

It must not know which folders are allowed: `workspace.ports.Files.resolve` does. Its neighbour
`workspace/files/read_threads.py` ends a read that takes too long.

Such a path can be dangerous. It can lead to a pipe, where a reader waits forever; to a device without an end; or to a
file that fills the memory. And between the check of the path and the opening of the file, somebody can replace a folder
by a link. So the file is opened first, without waiting, and then the opened file itself is checked: it must be a
regular file, it must not be too large, and it must be where its path said.

The same can happen to the folder in which a file is written. So `open_resolved_folder` opens the folder, checks where
it is, and files in it are then named by its descriptor.

All errors are OSErrors, whose `strerror` is a reason for the user: "it is not a regular file".
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable
    from contextlib import AbstractContextManager
    from io import BufferedReader

# The limit for a text that people write by hand, such as a configuration. Texts for the model have a lower limit, see
# `instructions/text_files.py`.
MAX_TEXT_BYTES: Final = 10_000_000

# `O_PATH` of Linux also opens a folder that this user may not list.
_FOLDER_FLAGS: Final = (
    os.O_DIRECTORY | getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC if hasattr(os, "O_DIRECTORY") else None
)

# Without the first flag, opening a pipe waits for a writer. Windows has only the last one of these flags.
_FLAGS: Final = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"))


@contextmanager
def open_regular(path: Path, within: Iterable[Path] | None = None) -> Generator[BufferedReader]:
    """Open a file. It must be in one of the folders `within`, whose links must be followed already; None allows all.

    Raises: OSError.
    """
    _check_regular(os.stat(path), path)  # noqa: PTH116  # before opening: for a device, even opening may do something
    descriptor = os.open(path, _FLAGS)
    try:
        _check_regular(os.fstat(descriptor), path)
        if within is not None:
            real = _get_real_path(descriptor, path)
            if not any(real.is_relative_to(folder) for folder in within):
                raise _make_error(errno.ELOOP, "its path leads elsewhere now", path)
        file = os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise
    with file:
        yield file


def open_resolved(real: Path) -> AbstractContextManager[BufferedReader]:
    """Open a file whose path was already resolved and checked.

    Raises: OSError, also when the path now leads to another file, because somebody has put a link into it.
    """
    return open_regular(real, (real,))


@contextmanager
def open_resolved_folder(real: Path) -> Generator[int | None]:
    """Open a folder whose path was already resolved and checked, and return its descriptor. Whoever names a file by it
    (`dir_fd`) follows no link that is put on the path later. None on Windows, which has no such descriptors.

    Raises: OSError, also when the path now leads to another folder.
    """
    if _FOLDER_FLAGS is None:
        yield None
        return
    descriptor = os.open(real, _FOLDER_FLAGS)
    try:
        if _get_real_path(descriptor, real) != real:
            raise _make_error(errno.ELOOP, "its path leads elsewhere now", real)
        yield descriptor
    finally:
        os.close(descriptor)


def read_regular(path: Path, limit: int, within: Iterable[Path] | None = None) -> bytes:
    """Return the content of a file that `open_regular` opens. Raises: OSError, also for more than `limit` bytes."""
    with open_regular(path, within) as file:
        return read_whole(file, path, limit)


def read_resolved(real: Path, limit: int) -> bytes:
    """Return the content of a file that `open_resolved` opens. Raises: OSError, also for more than `limit` bytes."""
    return read_regular(real, limit, (real,))


def read_whole(file: BufferedReader, path: Path, limit: int) -> bytes:
    """Return the content of an open file. Raises: OSError for more than `limit` bytes, before they are read."""
    if get_size(file) <= limit:
        data = file.read(limit + 1)
        if len(data) <= limit:
            return data
    raise _make_error(errno.EFBIG, f"it is larger than {limit:,} bytes", path)


def get_size(file: BufferedReader) -> int:
    """Return the size of an open file in bytes."""
    return os.fstat(file.fileno()).st_size


def _check_regular(status: os.stat_result, path: Path) -> None:
    """Raise OSError if a file is a folder, a pipe or a device."""
    if stat.S_ISDIR(status.st_mode):
        raise _make_error(errno.EISDIR, "it is a folder", path)
    if not stat.S_ISREG(status.st_mode):
        raise _make_error(errno.EINVAL, "it is not a regular file", path)


def _get_real_path(descriptor: int, path: Path) -> Path:
    """Return where an open file really is."""
    try:
        found = os.readlink(f"/proc/self/fd/{descriptor}")  # noqa: PTH115  # a text is needed for the next line
        # Linux adds " (deleted)" if another file has replaced this one since it was opened.
        return Path(found.removesuffix(" (deleted)"))
    except OSError:  # macOS and Windows have no such folder, so the path is resolved a second time
        real = path.resolve()
        if not os.path.samestat(os.stat(real), os.fstat(descriptor)):  # noqa: PTH116
            raise _make_error(errno.ELOOP, "its path leads elsewhere now", path) from None
        return real


def _make_error(number: int, reason: str, path: Path) -> OSError:
    """Return an error whose `strerror` is a reason for the user."""
    return OSError(number, reason, str(path))
