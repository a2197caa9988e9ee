"""Owns the figures of a task, the committed table, and the comparison of both.

| figure | what it counts |
|---|---|
| requests | requests to the model |
| tokens | the tokens of all these requests together |
| cached | the share of these tokens that the vendor's cache has |
| refused | calls that the tools refused, though a reader of their descriptions would have made them so |
| approvals | calls that waited for the user |
| clicks | clicks that these need: all that wait at once are approved by one |
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE = Path(__file__).with_name("figures.json")

# The share by which a figure may become worse without a word. Names of folders and versions of packages differ between
# machines.
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Figures:
    """What a task costs."""

    requests: int
    tokens: int
    cached: float
    refused: int
    approvals: int
    clicks: int

    def find_worse(self, before: Figures) -> Iterator[str]:
        """Yield each figure that is worse than before, in words.

        The share that the cache has is not compared, but the tokens that it does not have: of fewer requests it has a
        smaller share, since it never has the first one.
        """
        pairs = {name: (was, getattr(self, name)) for name, was in asdict(before).items() if name != "cached"}
        pairs["tokens not cached"] = (before.count_uncached(), self.count_uncached())
        for name, (was, now) in pairs.items():
            if now > was * (1 + TOLERANCE):
                yield f"{name} {_format(was)} -> {_format(now)}"

    def count_uncached(self) -> int:
        """Return how many tokens the cache does not have."""
        return round(self.tokens * (1 - self.cached))


def read() -> dict[str, Figures]:
    """Return the committed table."""
    return {name: Figures(**row) for name, row in json.loads(FILE.read_text("utf-8")).items()} if FILE.exists() else {}


def write(table: Mapping[str, Figures]) -> None:
    rows = (f"  {json.dumps(name)}: {json.dumps(asdict(row))}" for name, row in table.items())
    FILE.write_text("{\n" + ",\n".join(rows) + "\n}\n", "utf-8")


def draw(table: Mapping[str, Figures], titles: Mapping[str, str], before: Mapping[str, Figures]) -> str:
    """Return the table as Markdown. Where a figure differs from the committed one, that is in brackets."""
    names = [field.name for field in fields(Figures)]
    lines = [f"| task | {' | '.join(names)} |", f"|---|{'--:|' * len(names)}"]
    for name, row in table.items():
        was = before.get(name, row)
        cells = (_draw_cell(getattr(row, field), getattr(was, field)) for field in names)
        lines.append(f"| {name}: {titles[name]} | {' | '.join(cells)} |")
    return "\n".join([*lines, _draw_sum(table)])


def _draw_sum(table: Mapping[str, Figures]) -> str:
    rows = list(table.values())
    tokens = sum(row.tokens for row in rows)
    cached = sum(row.cached * row.tokens for row in rows) / tokens if tokens else 0.0
    total = Figures(
        requests=sum(row.requests for row in rows),
        tokens=tokens,
        cached=cached,
        refused=sum(row.refused for row in rows),
        approvals=sum(row.approvals for row in rows),
        clicks=sum(row.clicks for row in rows),
    )
    return f"| all | {' | '.join(_format(getattr(total, field.name)) for field in fields(total))} |"


def _draw_cell(now: float, was: float) -> str:
    return _format(now) if _format(now) == _format(was) else f"{_format(now)} ({_format(was)})"


def _format(value: float) -> str:
    return f"{value:.0%}" if isinstance(value, float) else f"{value:,}"
