"""What models were paid: one row for each request, which stays when its chat is deleted or cut back.

It must not know prices or limits: `host/costs` does.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spending:
    """One request to a model."""

    at: int
    """Milliseconds since the epoch."""
    chat: str
    """The chat that pays for it."""
    turn: str
    """The turn of that chat."""
    notebook: str
    """The path of the notebook that it was asked in; empty where there was none."""
    model: str
    """The full name `provider/model`."""
    tokens_in: int
    """Tokens that were read."""
    tokens_cached: int
    """Those of `tokens_in` that the vendor's cache served."""
    tokens_out: int
    """Tokens that were written."""
    cost: float | None
    """US dollars; None is an unknown price."""


@dataclass(frozen=True, slots=True)
class Extent:
    """Which requests are summed, in all workspaces. What is None is no bound."""

    chat: str | None = None
    turn: str | None = None
    notebook: str | None = None
    since: int = 0
    """Milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of requests."""

    requests: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    """US dollars, without the requests whose price is unknown."""
    unpriced: int = 0
    """How many requests have an unknown price."""

    def __add__(self, other: Total) -> Total:
        return Total(*map(add, astuple(self), astuple(other)))


def add_spending(db: sqlite3.Connection, spent: Sequence[Spending]) -> None:
    """Add rows."""
    db.executemany(
        "INSERT INTO spending (at, chat, turn, notebook, model, tokens_in, tokens_cached, tokens_out, cost)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, spent),
    )


def sum_spending(db: sqlite3.Connection, extent: Extent) -> Total:
    """Sum the requests of an extent."""
    every = (
        ("at >= ?", extent.since),
        ("chat = ?", extent.chat),
        ("turn = ?", extent.turn),
        ("notebook = ?", extent.notebook),
    )
    bounds = {bound: value for bound, value in every if value is not None}
    where = " AND ".join(bounds)
    tokens = ", ".join(f"coalesce(sum({name}), 0)" for name in ("tokens_in", "tokens_cached", "tokens_out"))
    figures = f"count(*), {tokens}, total(cost), count(*) - count(cost)"
    select = f"SELECT {figures} FROM spending WHERE {where}"  # noqa: S608  # words of ours
    return Total(*db.execute(select, tuple(bounds.values())).fetchone())
