"""The rows of the tables as values.

They must not know SQL: `tables` reads and writes them. What was spent has rows of its own, in `spending`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_eca.engine.changes.revert import Decided


@dataclass(frozen=True, slots=True)
class StoredSelection:
    """What a chat's turns are run with; None is not chosen."""

    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    trust: bool | None = None
    folder: str | None = None


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A chat as it is listed. Times are in milliseconds since the epoch."""

    id: str
    created: int
    updated: int
    title: str | None
    model: str | None
    owner: str | None
    """The process that answers in it now, None for none."""
    last: int
    """Its newest sequence number."""
    prompts: int
    """How many prompts it has."""
    agent: str | None
    variant: str | None
    trust: bool | None
    cut_from: int | None
    """The first of the events that were taken away; None when none were."""
    cut_to: int | None
    """Its newest event when they were taken away."""
    workspace: str
    """Where it belongs."""
    parent: str | None = None
    """The chat of which this one is a subagent's."""
    folder: str | None = None
    """The working directory; None for the first root."""

    def intact(self, after: int) -> bool:
        """Return whether everything up to this sequence number is still as it was shown."""
        return self.cut_from is None or self.cut_to is None or after < self.cut_from or after > self.cut_to


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file as it was before a turn changed it."""

    turn: str
    """The turn."""
    path: str
    """The file."""
    before: bytes | None
    """What it held; None: it was not there."""
    after: str | None
    """The digest of what the turn left (None: the turn left no file), or why it cannot be put back: UNKEPT, CHANGED."""
    decided: Decided | None = None
    """What the user made of the change."""


@dataclass(frozen=True, slots=True)
class CellCheckpoint:
    """What a turn did to a cell."""

    turn: str
    """The turn."""
    path: str
    """The notebook."""
    undo: str
    """What takes the change back, as JSON."""
    left: str
    """The sources that it left, as JSON."""
    order: str = "[]"
    """The ids of the notebook's cells before it in their order, as JSON."""
    decided: str = "{}"
    """What was decided about which cell, as JSON."""
    id: int = 0
    """The number of the row."""


UNKEPT: Final = "unkept"
"""In the place of a digest: the file could not be kept."""
CHANGED: Final = "changed"
"""In the place of a digest: somebody else changed the file while the turn ran."""
