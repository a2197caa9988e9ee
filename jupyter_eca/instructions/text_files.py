"""Reads text files that a user wrote for the model. A file is read as a whole, or refused with a reason.

It must not know what the files are for: `agents_md.py` and `rules.py` do. The functions block, so call them in a
thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import get_size, open_regular, read_whole

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

# The largest file, in bytes. Each request of a chat contains these texts. The limit is about 25,000 tokens, which is
# far more than anybody writes by hand.
MAX_BYTES: Final = 100_000


def read_text(path: Path, folders: Iterable[Path] | None = None) -> str:
    """Return the text of a file. The file must lie in one of `folders`, which are resolved paths; None allows any
    folder.

    Raises: ValueError with the reason as its message.
    """
    try:
        if not path.is_file():
            raise ValueError("it is no file" if path.exists() else "it does not exist")
        with open_regular(path, folders) as file:
            if get_size(file) > MAX_BYTES:
                raise ValueError(f"it is larger than {MAX_BYTES // 1000} kB")
            data = read_whole(file, path, MAX_BYTES)
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror})") from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError("it is not text") from None
    if "\0" in text:
        raise ValueError("it is not text")
    return text.replace("\r\n", "\n").strip()


def is_within(path: Path, folders: tuple[Path, ...]) -> bool:
    """Return whether a path lies in one of the folders when its links are followed. The folders must be resolved
    paths."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError, ValueError):
        return False
    return any(real.is_relative_to(folder) for folder in folders)
