"""What models were paid: one row for each request, which stays when its chat is deleted or cut back."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from operator import add
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Sequence


@dataclass(frozen=True, slots=True)
class Spending:
    """One request to a model. `at` is in milliseconds since the epoch; the `chat` is the one that pays for it, the
    `notebook` the path of the one that it was asked in; empty where there was none. `tokens_cached` are those of
    `tokens_in` that the vendor had kept. A `cost` of None is a price that is not known, in US dollars else."""

    at: int
    chat: str
    turn: str
    notebook: str
    model: str
    tokens_in: int
    tokens_cached: int
    tokens_out: int
    cost: float | None


@dataclass(frozen=True, slots=True)
class Extent:
    """Of a chat, of a turn of it, of a notebook, since a moment; what is not said is no bound. Of all workspaces."""

    chat: str | None = None
    turn: str | None = None
    notebook: str | None = None
    since: int = 0


@dataclass(frozen=True, slots=True)
class Total:
    """`cost` leaves out the requests whose price is not known; `unpriced` counts them."""

    requests: int = 0
    tokens_in: int = 0
    tokens_cached: int = 0
    tokens_out: int = 0
    cost: float = 0.0
    unpriced: int = 0

    def __add__(self, other: Total) -> Total:
        return Total(*map(add, astuple(self), astuple(other)))


def note(db: sqlite3.Connection, spent: Sequence[Spending]) -> None:
    db.executemany(
        "INSERT INTO spending (at, chat, turn, notebook, model, tokens_in, tokens_cached, tokens_out, cost)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        map(astuple, spent),
    )


def total(db: sqlite3.Connection, extent: Extent) -> Total:
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
