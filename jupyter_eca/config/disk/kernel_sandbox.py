"""Decides what counts when nobody can say whether the user or the administrator wants kernels in the sandbox, because a
file of the configuration, or a policy, has an error.

A file that asks for it has the word `kernels`, in whatever spelling of JSON with comments, or names more files by the
key `extraConfigs`. So a file without these words does not ask for it, and a mistake in it keeps no kernel from
starting.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular

if TYPE_CHECKING:
    from pathlib import Path

_WORDS: Final = ("kernels", "extraConfigs")


def may_want_sandbox(text: str) -> bool:
    """Return whether a text with an error may ask for kernels in the sandbox."""
    return any(word in text for word in _WORDS)


def may_folder_want_sandbox(folder: Path) -> bool:
    """Return whether a file of the configuration in a folder may ask for kernels in the sandbox. Blocks: it reads
    files. A file that cannot be read may ask for it."""
    try:
        texts = [read_regular(file, MAX_TEXT_BYTES).decode(errors="replace") for file in folder.glob("*.json*")]
    except OSError:
        return True
    return any(map(may_want_sandbox, texts))
