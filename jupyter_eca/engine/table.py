"""`Table`: a lifecycle as data, `(status, signal) -> (status, moves)`.

It must not know what any status or move means. The two lifecycles are in `turn` and `tool_call`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from jupyter_eca.errors import IllegalSignal

Status = TypeVar("Status", bound=StrEnum)
Signal = TypeVar("Signal", bound=StrEnum)
Move = TypeVar("Move", bound=StrEnum)


@dataclass(frozen=True, slots=True)
class Table(Generic[Status, Signal, Move]):
    """A lifecycle. What it has no row for is illegal."""

    rows: dict[tuple[Status, Signal], tuple[Status, tuple[Move, ...]]]
    """What each signal leads to in each status."""

    def take(self, status: Status, signal: Signal) -> tuple[Status, tuple[Move, ...]]:
        """Return the next status, and the moves that lead there.

        Raises: IllegalSignal when the table has no such row.
        """
        try:
            return self.rows[status, signal]
        except KeyError:
            raise IllegalSignal(f"{signal} means nothing while {status}") from None

    def accepts(self, status: Status, signal: Signal) -> bool:
        """Return whether the table has such a row."""
        return (status, signal) in self.rows
