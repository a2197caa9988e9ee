"""Which version of each file and cell the model of one chat knows, so that it never replaces what it has not seen.

A model reads a cell, and the user changes it while the model works. What the model then writes would overwrite the
user's change without a word. So whoever shows a source to the model calls `learn`, and whoever is about to replace one
calls `compare` with the source that is there now. Pure; it keeps digests, never texts.

A reply is written before the results of its own calls are read. So what `learn` is told counts only from the next
request to the model on (`begin_request`). What the model wrote itself (`learn_own`) it knows at once.

A file that was shown in parts is known when all parts of one version were shown. A result that was cut teaches nothing:
the host takes over what a call learned (`for_call`, `take_over`) only when the model is given all of its result.

The knowledge lasts as long as the model has the texts. A summary of the conversation ends it (`forget`), and so does a
restart of the server: the model is then asked to read again.
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
"""What a version is of: a file, or a cell of a notebook."""


class Version(Enum):
    """How a source is related to what the model knows."""

    CURRENT = auto()
    """The model knows it as it is."""
    CHANGED = auto()
    """The model knows an earlier version."""
    PARTLY = auto()
    """The model knows a part of it as it is, and nothing else of it."""
    UNKNOWN = auto()
    """The model has not seen it in this chat."""


def make_file_key(real: Path) -> VersionKey:
    return ("file", str(real))


def make_cell_key(path: str, id: str) -> VersionKey:
    return ("cell", path, id)


@dataclass(frozen=True, slots=True)
class _Part:
    """Some lines of one version of a file."""

    key: VersionKey
    digest: bytes
    lines: range
    total: int


class KnownVersions:
    def __init__(self) -> None:
        self._known: dict[VersionKey, bytes] = {}
        self._parts: dict[VersionKey, tuple[_Part, ...]] = {}
        self._arriving: dict[VersionKey, bytes] = {}
        self._arriving_parts: list[_Part] = []

    def learn(self, key: VersionKey, text: str) -> None:
        """Note that the next request shows this text to the model."""
        self._arriving[key] = _digest(text)

    def learn_lines(self, key: VersionKey, text: str, lines: range, total: int) -> None:
        """Note that the next request shows some of the lines of this text, counted from 0."""
        self._arriving_parts.append(_Part(key, _digest(text), lines, total))

    def learn_cells(self, path: str, cells: Iterable[NotebookCell]) -> None:
        """Note that the next request shows the whole sources of these cells to the model."""
        for cell in cells:
            self.learn(make_cell_key(path, cell.id), cell.source)

    def learn_own(self, key: VersionKey, text: str) -> None:
        """Note a text that the model itself has put there."""
        self._arriving.pop(key, None)
        self._parts.pop(key, None)
        self._known[key] = _digest(text)

    def rename(self, old: VersionKey, new: VersionKey) -> None:
        """Note that the same text is found under another key."""
        for versions in (self._known, self._arriving):
            if (digest := versions.pop(old, None)) is not None:
                versions[new] = digest

    def begin_request(self) -> None:
        """Count what was learned as known: the model is asked now, and reads it."""
        self._known |= self._arriving
        for part in self._arriving_parts:
            parts = (*(one for one in self._parts.get(part.key, ()) if one.digest == part.digest), part)
            if _covers_all(parts):
                self._known[part.key] = part.digest
                self._parts.pop(part.key, None)
            else:
                self._parts[part.key] = parts
        self._arriving.clear()
        self._arriving_parts.clear()

    def forget(self) -> None:
        """Forget everything: the model does not have the texts any more."""
        for versions in (self._known, self._parts, self._arriving, self._arriving_parts):
            versions.clear()

    def for_call(self) -> KnownVersions:
        """Return the same knowledge for one call, whose result may be cut. See `take_over`."""
        call = KnownVersions()
        call._known, call._parts = self._known, self._parts  # of the same class
        return call

    def take_over(self, call: KnownVersions) -> None:
        """Note that the next request shows all that a call learned."""
        self._arriving |= call._arriving  # of the same class
        self._arriving_parts += call._arriving_parts  # of the same class

    def compare(self, key: VersionKey, text: str) -> Version:
        """Return whether the model knows the text that is there now."""
        digest = _digest(text)
        if (known := self._known.get(key)) is not None:
            return Version.CURRENT if known == digest else Version.CHANGED
        return Version.PARTLY if any(part.digest == digest for part in self._parts.get(key, ())) else Version.UNKNOWN


def _covers_all(parts: Iterable[_Part]) -> bool:
    """Return whether parts of one version are together all of its lines."""
    end, total = 0, 0
    for part in sorted(parts, key=lambda part: part.lines.start):
        if part.lines.start > end:
            return False
        end, total = max(end, part.lines.stop), part.total
    return end >= total


def _digest(text: str) -> bytes:
    """Return a digest. It is the same for all line ends, which the model is not shown."""
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
