"""What is read from the tables, and written to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from jupyter_eca.engine.changes.revert import Decided


@dataclass(frozen=True, slots=True)
class Selection:
    """What a chat's turns are run with; None is not chosen."""

    model: str | None = None
    agent: str | None = None
    variant: str | None = None
    trust: bool | None = None


@dataclass(frozen=True, slots=True)
class ChatRow:
    """`owner` is the process that answers in it now, `last` its newest sequence number; times in milliseconds.
    Events were taken away from among those between `cut_from` and `cut_to`. `parent` is the chat of which this one is a
    subagent's."""

    id: str
    created: int
    updated: int
    title: str | None
    model: str | None
    owner: str | None
    last: int
    prompts: int
    agent: str | None
    variant: str | None
    trust: bool | None
    cut_from: int | None
    cut_to: int | None
    workspace: str
    parent: str | None = None

    def intact(self, after: int) -> bool:
        """Whether everything up to this sequence number is still as it was shown."""
        return self.cut_from is None or self.cut_to is None or after < self.cut_from or after > self.cut_to


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A file as it was before a turn changed it (`before` is None: it was not there), and the digest of what the turn
    left (None: it ended otherwise), or why it cannot be put back: UNKEPT, CHANGED."""

    turn: str
    path: str
    before: bytes | None
    after: str | None
    decided: Decided | None = None


@dataclass(frozen=True, slots=True)
class CellCheckpoint:
    """What takes a change of cells back, the sources that it left, the ids of the notebook before it in their order,
    and what was decided about which cell: all as JSON."""

    turn: str
    path: str
    undo: str
    left: str
    order: str = "[]"
    decided: str = "{}"
    id: int = 0


UNKEPT: Final = "unkept"
CHANGED: Final = "changed"
"""In the place of a digest: the file could not be kept; somebody else changed it while the turn ran."""
