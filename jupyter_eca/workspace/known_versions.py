"""Remembers which version of each file and cell the model of one chat knows. So a model never replaces text that it has
not seen. The module is pure, and keeps digests, never texts. The tools that change files and cells ask it.

An example of the danger: a model reads a cell, and the user changes the cell while the model works. If the model then
wrote the cell, it would overwrite the user's change, and nobody would notice. So each part that shows a source to the
model calls `learn`. Each part that is about to replace a source calls `compare` with the present source.

A model writes a reply before it reads the results of the calls in that reply. So a text that `learn` noted counts as
known once the next request to the model begins (`begin_request`). A text that the model wrote itself (`learn_own`) is
known at once.

A file that was shown in parts is known when all parts of one version were shown. A result that was shortened does not
count. So each tool call notes what it shows in a copy (`copy_for_call`), and the host merges the copy (`merge_call`)
only when the model receives the whole result.

The model knows a text as long as the text is in its conversation. A summary of the conversation removes it (`forget`).
After a restart of the server nothing is known either, and the model is asked to read again.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from jupyter_eca.protocol.notebook import NotebookCell

VersionKey: TypeAlias = tuple[str, ...]
"""Identifies a source: a file, or a cell of a notebook."""


class Version(Enum):
    """Which version of a source the model knows."""

    CURRENT = auto()
    """The model knows the present version."""
    CHANGED = auto()
    """The model knows only an earlier version."""
    PARTLY = auto()
    """The model knows a part of the present version, and no other version."""
    UNKNOWN = auto()
    """The model has not seen the source in this chat."""


def make_file_key(real: Path) -> VersionKey:
    """Return the key of a file. `real` is its resolved path."""
    return ("file", str(real))


def make_cell_key(path: str, id: str) -> VersionKey:
    """Return the key of a cell. `path` is that of its notebook, and `id` the id of the cell."""
    return ("cell", path, id)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of one version of a file."""

    key: VersionKey
    """The key of the file."""
    digest: bytes
    """The digest of the whole file."""
    lines: range
    """The lines of the part, counted from 0."""
    total: int
    """The number of lines of the whole file."""


class KnownVersions:
    """The versions that the model of one chat knows. See the top of the module."""

    def __init__(self) -> None:
        # The digests of the sources that the model has read as a whole.
        self._known: dict[VersionKey, bytes] = {}
        # The parts that the model has read of other sources.
        self._parts: dict[VersionKey, tuple[_Part, ...]] = {}
        # What the next request to the model contains.
        self._arriving: dict[VersionKey, bytes] = {}
        self._arriving_parts: list[_Part] = []

    def learn(self, key: VersionKey, text: str) -> None:
        """Note that the next request shows this text to the model."""
        self._arriving[key] = _digest(text)

    def learn_lines(self, key: VersionKey, text: str, lines: range, total: int) -> None:
        """Note that the next request shows some lines of a file. `text` is the whole file, `lines` are the shown lines,
        counted from 0, and `total` is the number of all lines."""
        self._arriving_parts.append(_Part(key, _digest(text), lines, total))

    def learn_cells(self, path: str, cells: Iterable[NotebookCell]) -> None:
        """Note that the next request shows the whole sources of these cells to the model."""
        for cell in cells:
            self.learn(make_cell_key(path, cell.id), cell.source)

    def learn_own(self, key: VersionKey, text: str) -> None:
        """Note that the model itself wrote this text, and so knows it."""
        self._arriving.pop(key, None)
        self._parts.pop(key, None)
        self._known[key] = _digest(text)

    def rename(self, old: VersionKey, new: VersionKey) -> None:
        """Note that a source has another key now, because its file was moved."""
        for versions in (self._known, self._arriving):
            if (digest := versions.pop(old, None)) is not None:
                versions[new] = digest

    def begin_request(self) -> None:
        """Count all that was learned as known: the model receives it with the request that begins now."""
        self._known |= self._arriving
        for part in self._arriving_parts:
            parts = (*(known for known in self._parts.get(part.key, ()) if known.digest == part.digest), part)
            if _covers_all(parts):
                self._known[part.key] = part.digest
                self._parts.pop(part.key, None)
            else:
                self._parts[part.key] = parts
        self._arriving.clear()
        self._arriving_parts.clear()

    def forget(self) -> None:
        """Forget everything: the conversation no longer contains the texts."""
        for versions in (self._known, self._parts, self._arriving, self._arriving_parts):
            versions.clear()

    def copy_for_call(self) -> KnownVersions:
        """Return a copy for one tool call. It knows the same versions. What the call learns stays in the copy, because
        the result of the call may still be shortened. See `merge_call`."""
        call = KnownVersions()
        call._known, call._parts = self._known, self._parts
        return call

    def merge_call(self, call: KnownVersions) -> None:
        """Merge the copy of a call: the next request shows to the model what the call learned."""
        self._arriving |= call._arriving
        self._arriving_parts += call._arriving_parts

    def compare(self, key: VersionKey, text: str) -> Version:
        """Return which version the model knows of a source whose present text is `text`."""
        digest = _digest(text)
        if (known := self._known.get(key)) is not None:
            return Version.CURRENT if known == digest else Version.CHANGED
        return Version.PARTLY if any(part.digest == digest for part in self._parts.get(key, ())) else Version.UNKNOWN


def _covers_all(parts: Iterable[_Part]) -> bool:
    """Return whether these parts of one version contain all of its lines."""
    end, total = 0, 0
    for part in sorted(parts, key=lambda part: part.lines.start):
        if part.lines.start > end:
            return False
        end, total = max(end, part.lines.stop), part.total
    return end >= total


def _digest(text: str) -> bytes:
    """Return a digest of a text. It ignores the kind of line ends and a byte order mark, which the model does not
    see."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
