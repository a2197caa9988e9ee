"""Which version of each file and cell the model of one chat knows, so that it never replaces what it has not seen.

A model reads a cell, and the user changes it while the model works. What the model then writes would overwrite the
user's change without a word. So whoever shows a source to the model calls `learn`, and whoever is about to replace one
calls `compare` with the source that is there now. Pure; it keeps digests, never texts.

A reply is written before the results of its own calls are read. So what `learn` is told counts only from the next
request to the model on (`begin_request`). What the model wrote itself (`learn_own`) it knows at once.

The knowledge lasts as long as the chat is in memory. A summary of the conversation does not end it: it is still true
that nobody changed the source since. After a restart of the server the model is asked to read again.
"""

from __future__ import annotations

import hashlib
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.protocol.notebook import NotebookCell

VersionKey: TypeAlias = tuple[str, ...]
"""What a version is of: a file, or a cell of a notebook."""


class Version(Enum):
    """How a source is related to what the model knows."""

    CURRENT = auto()
    """The model knows it as it is."""
    CHANGED = auto()
    """The model knows an earlier version."""
    UNKNOWN = auto()
    """The model has not seen it in this chat."""


def make_file_key(real: Path) -> VersionKey:
    return ("file", str(real))


def make_cell_key(path: str, id: str) -> VersionKey:
    return ("cell", path, id)


class KnownVersions:
    def __init__(self) -> None:
        self._known: dict[VersionKey, bytes] = {}
        self._arriving: dict[VersionKey, bytes] = {}

    def learn(self, key: VersionKey, text: str) -> None:
        """Note that the next request shows this text to the model."""
        self._arriving[key] = _digest(text)

    def learn_cells(self, path: str, cells: Iterable[NotebookCell]) -> None:
        """Note that the next request shows the whole sources of these cells to the model."""
        for cell in cells:
            self.learn(make_cell_key(path, cell.id), cell.source)

    def learn_own(self, key: VersionKey, text: str) -> None:
        """Note a text that the model itself has put there."""
        self._arriving.pop(key, None)
        self._known[key] = _digest(text)

    def rename(self, old: VersionKey, new: VersionKey) -> None:
        """Note that the same text is found under another key."""
        for versions in (self._known, self._arriving):
            if (digest := versions.pop(old, None)) is not None:
                versions[new] = digest

    def begin_request(self) -> None:
        """Count what was learned as known: the model is asked now, and reads it."""
        self._known |= self._arriving
        self._arriving.clear()

    def compare(self, key: VersionKey, text: str) -> Version:
        """Return whether the model knows the text that is there now."""
        if (known := self._known.get(key)) is None:
            return Version.UNKNOWN
        return Version.CURRENT if known == _digest(text) else Version.CHANGED


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
