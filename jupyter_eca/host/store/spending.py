"""Owns the rows of costs: one row for each request to a model. It stays when its chat is deleted or rolled back.

It must not know prices or budgets: `host/costs` does.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.host.store.connection import DatabaseConnection


@dataclass(frozen=True, slots=True)
class Spending:
    """One request to a model."""

    at: int
    """The time of the request, in milliseconds since the epoch."""
    chat: str
    """The id of the chat that pays. For a subagent it is the parent chat."""
    turn: str
    """The id of the turn."""
    notebook: str
    """The path of the notebook in which the user asked, "" for none."""
    model: str
    """The full name `provider/model`."""
    tokens_in: int
    """The tokens of the request, the cached ones included."""
    tokens_cached: int
    """The tokens of `tokens_in` that the vendor read from its cache."""
    tokens_out: int
    """The tokens of the answer."""
    cost: float | None
    """The price in US dollars, None if it is unknown."""


@dataclass(frozen=True, slots=True)
class CostFilter:
    """Selects the requests that are summed, in all workspaces. A field that is None selects all."""

    chat: str | None = None
    """The id of the chat that pays."""
    turn: str | None = None
    """The id of the turn."""
    notebook: str | None = None
    """The path of the notebook."""
    since: int = 0
    """The time of the oldest request, in milliseconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Total:
    """A sum over requests."""

    requests: int = 0
    """How many requests there are."""
    tokens_in: int = 0
    """The tokens of the requests, the cached ones included."""
    tokens_cached: int = 0
    """The tokens of `tokens_in` that vendors read from their caches."""
    tokens_out: int = 0
    """The tokens of the answers."""
    cost: float = 0.0
    """US dollars, without the requests whose price is unknown."""
    unpriced: int = 0
    """How many requests have an unknown price."""

    def __add__(self, other: Total) -> Total:
        """Return the sum of two totals, field by field."""
        return Total(*map(add, astuple(self), astuple(other)))


def add_spending(db: DatabaseConnection, spent: Sequence[Spending]) -> None:
    """Store the costs of requests."""
    db.executemany(
        "INSERT INTO spending (at, chat, turn, notebook, model, tokens_in, tokens_cached, tokens_out, cost)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, spent),
    )


def sum_spending(db: DatabaseConnection, cost_filter: CostFilter) -> Total:
    """Return the sum over the requests that `cost_filter` selects."""
    conditions = (
        ("at >= ?", cost_filter.since),
        ("chat = ?", cost_filter.chat),
        ("turn = ?", cost_filter.turn),
        ("notebook = ?", cost_filter.notebook),
    )
    bounds = {bound: value for bound, value in conditions if value is not None}
    where = " AND ".join(bounds)
    tokens = ", ".join(f"coalesce(sum({name}), 0)" for name in ("tokens_in", "tokens_cached", "tokens_out"))
    figures = f"count(*), {tokens}, coalesce(sum(cost), 0.0), count(*) - count(cost)"
    select = f"SELECT {figures} FROM spending WHERE {where}"  # noqa: S608  # words of ours
    return Total(*db.execute(select, tuple(bounds.values())).fetchone())
