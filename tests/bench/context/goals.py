"""Owns what the figures of the tasks must reach: the limits, and the comparison of a run with them. A figure that is
over its limit fails `make bench-context` and the tests.

The limits of requests are what the best model needs at least, and a few for which no better view was found. The limit
of tokens of a task is half of what the task cost when it was first measured, or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.bench.context.figures import Figures

# A chat before its first word: the system prompt and the tools, where nothing is configured.
MOST_PROMPT_TOKENS = 5_000
# What is sent of the place of the user when it is the same as with the message before.
MOST_UNCHANGED_CHIP_TOKENS = 15
# What is sent of it when the active cell has 3,000 lines.
MOST_LONG_CELL_CHIP_TOKENS = 400

SUMMED: tuple[str, ...] = ("fix", "plot", "bars", "table", "refactor", "long_run", "plan", "subagents", "cell")
"""The tasks whose requests count together."""

_MOST_REQUESTS = 26
_MOST_REQUESTS_OF_LONG_CHAT = 63
_MOST_CLICKS = 2
_MOST_TOKENS = {"fix": 14_000, "plot": 18_000, "bars": 24_000, "table": 9_000}


@dataclass(frozen=True, slots=True)
class Sizes:
    """The tokens of what does not depend on a task."""

    prompt: float
    unchanged_chip: float
    long_cell_chip: float


@dataclass(frozen=True, slots=True)
class Measured:
    """A figure beside its limit."""

    name: str
    now: int
    most: int

    @property
    def is_over(self) -> bool:
        return self.now > self.most


def compare_sizes(sizes: Sizes) -> list[Measured]:
    return [
        Measured("prompt with nothing, tokens", round(sizes.prompt), MOST_PROMPT_TOKENS),
        Measured("chip, unchanged, tokens", round(sizes.unchanged_chip), MOST_UNCHANGED_CHIP_TOKENS),
        Measured("chip, a cell of 3,000 lines, tokens", round(sizes.long_cell_chip), MOST_LONG_CELL_CHIP_TOKENS),
    ]


def compare_breaks(count: int) -> Measured:
    """Compare the number of continuations that do not begin with the request before them, see `list_breaks`."""
    return Measured("continuations that break the prefix", count, 0)


def compare_figures(table: Mapping[str, Figures]) -> list[Measured]:
    """Compare the figures of tasks. What needs a task that is not in the table is left out."""
    return list(_compare_figures(table))


def _compare_figures(table: Mapping[str, Figures]) -> Iterator[Measured]:
    if table.keys() >= set(SUMMED):
        yield Measured(f"requests of {', '.join(SUMMED)}", sum(table[name].requests for name in SUMMED), _MOST_REQUESTS)
    if "long_chat" in table:
        yield Measured("requests of long_chat", table["long_chat"].requests, _MOST_REQUESTS_OF_LONG_CHAT)
    for name, most in _MOST_TOKENS.items():
        if name in table:
            yield Measured(f"tokens of {name}", table[name].tokens, most)
    if "refactor" in table:
        yield Measured("clicks of refactor", table["refactor"].clicks, _MOST_CLICKS)


def draw(measured: Sequence[Measured]) -> str:
    """Return the figures and their limits as a table in Markdown. A figure over its limit has a mark."""
    lines = ["| to reach | now | at most |", "|---|--:|--:|"]
    lines += [f"| {one.name} | {one.now:,}{' OVER' if one.is_over else ''} | {one.most:,} |" for one in measured]
    return "\n".join(lines)
