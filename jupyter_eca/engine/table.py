"""Owns `Table`: a state machine as data, `(status, signal) -> (status, moves)`.

A signal is something that happens, and a move is a piece of work that follows. This module must not know any of them.
The two tables are `TURNS` in `turn` and `TOOL_CALLS` in `tool_call`.
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
    """A state machine. A signal without a row for the current status is illegal."""

    rows: dict[tuple[Status, Signal], tuple[Status, tuple[Move, ...]]]
    """For a status and a signal: the next status, and the moves to carry out."""

    def look_up(self, status: Status, signal: Signal) -> tuple[Status, tuple[Move, ...]]:
        """Return the next status, and the moves to carry out.

        Raises: IllegalSignal when the table has no such row.
        """
        try:
            return self.rows[status, signal]
        except KeyError:
            raise IllegalSignal(f"{signal} means nothing while {status}") from None

    def accepts(self, status: Status, signal: Signal) -> bool:
        """Return whether the table has a row for this signal in this status."""
        return (status, signal) in self.rows
