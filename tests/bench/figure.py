"""What was measured, next to its budget, and the table of it. Knows nothing of how anything is measured."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


@dataclass(frozen=True)
class Figure:
    """`values` are one per round, in `unit`; a `budget` of None is for figures that only explain another. `noise` is
    how far rounds of the same thing lie apart: above the budget, they say nothing about it."""

    name: str
    values: Sequence[float]
    unit: str
    budget: float | None
    beside: str
    noise: float = 0.0

    @property
    def verdict(self) -> str:
        if self.budget is None:
            return ""
        if self.noise > self.budget:
            return f"lost in noise of {number(self.noise)} {self.unit}"
        return "within" if median(self.values) <= self.budget else "**over**"

    def row(self) -> str:
        budget = "" if self.budget is None else f"<= {self.budget:g} {self.unit}"
        cells = (self.name, number(min(self.values)), number(median(self.values)), self.unit, budget, self.verdict)
        return f"| {' | '.join((*cells, self.beside))} |"


def number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def table(figures: Iterable[Figure]) -> str:
    head = "| figure | min | median | unit | budget | | beside |\n|---|--:|--:|---|---|---|---|"
    return "\n".join([head, *(figure.row() for figure in figures)])


def ratios(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    """Of rounds that were run next to each other."""
    return [one / other for one, other in zip(ours, theirs, strict=True)]


def differences(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    return [one - other for one, other in zip(ours, theirs, strict=True)]


def list_of(values: Sequence[float], unit: str, scale: float = 1) -> str:
    """The least and the middle, for the column `beside`."""
    return f"{number(min(values) * scale)} / {number(median(values) * scale)} {unit}"
