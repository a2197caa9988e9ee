"""A lifecycle as data: `(status, signal) -> (status, moves)`. Whoever walks the table knows what a move does."""

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
    rows: dict[tuple[Status, Signal], tuple[Status, tuple[Move, ...]]]

    def take(self, status: Status, signal: Signal) -> tuple[Status, tuple[Move, ...]]:
        """Raises: IllegalSignal when the table has no such row."""
        try:
            return self.rows[status, signal]
        except KeyError:
            raise IllegalSignal(f"{signal} means nothing while {status}") from None

    def accepts(self, status: Status, signal: Signal) -> bool:
        return (status, signal) in self.rows
