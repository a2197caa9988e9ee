"""Owns `Disk`: where a simulated chat is stored, with the promises of `host/store`.

Events are shown when they are committed, in batches of any size. While the disk fails, they are shown without a number,
and stored later in their order. A kill loses what was not committed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jupyter_eca.protocol.event import Event, merge_pieces

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass
class Disk:
    """What is stored of one chat, and what its clients were shown."""

    rows: list[str] = field(default_factory=list[str])
    """The stored events as JSON."""
    shown: list[Event] = field(default_factory=list[Event])
    """The events as the clients of this process got them."""
    fails: bool = False
    """Whether nothing can be stored now."""
    _pending: list[Event] = field(default_factory=list[Event])
    _unsaved: list[Event] = field(default_factory=list[Event])

    def append(self, events: Sequence[Event]) -> None:
        """Queue events for the next commit."""
        self._pending += events

    def commit(self) -> None:
        """Store what is queued, if that works, and show it in any case."""
        fresh, self._pending = merge_pieces(self._pending), []
        if self.fails:
            self._unsaved += fresh
        else:
            late, self._unsaved = self._unsaved, []
            numbered = [
                event.model_copy(update={"seq": len(self.rows) + place})
                for place, event in enumerate([*late, *fresh], start=1)
            ]
            self.rows += [event.model_dump_json(by_alias=True, exclude_none=True) for event in numbered]
            fresh = numbered[len(late) :]
        self.shown += fresh

    def die(self) -> None:
        """The process is killed."""
        self._pending, self._unsaved, self.fails = [], [], False

    def read(self) -> list[Event]:
        """Return the stored events, as a new process and a client that comes later read them."""
        return [Event.model_validate_json(row) for row in self.rows]
