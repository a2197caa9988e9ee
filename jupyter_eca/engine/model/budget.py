"""Whether a request may be paid for: limits in US dollars, and what is said and asked when one would be passed. Pure.

A limit holds for what is known: a model without a price cannot be counted, and whoever is asked is told so. What the
coming request will cost is estimated by what it sends; the answer comes on top of it, so a limit may be passed by one
answer, never by two.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

GO_ON: Final = "Go on once"
STOP: Final = "Stop"

# What a budget is raised by at least.
_STEP: Final = 0.01

# Less than this is told as less.
_LEAST: Final = 0.0001


class Purse(StrEnum):
    """What a limit is for, in the words of the configuration."""

    CHAT = "perChat"
    NOTEBOOK = "perNotebook"
    DAY = "perDay"


_WORDS: Final = {
    Purse.CHAT: "this chat",
    Purse.NOTEBOOK: "this notebook",
    Purse.DAY: "today",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be `spent` of a purse and what was, with the number of requests whose price nobody knows. `raised` is
    what the user has added to the limit."""

    purse: Purse
    limit: float
    spent: float
    unpriced: int = 0
    raised: float = 0.0

    @property
    def most(self) -> float:
        return self.limit + self.raised


@dataclass(frozen=True, slots=True)
class Over:
    """A budget that a request would pass. `coming` is what it would cost at least, None where nobody knows."""

    budget: Budget
    coming: float | None

    @property
    def told(self) -> str:
        budget = self.budget
        raised = f", raised by {dollars(budget.raised)}" if budget.raised else ""
        known = f" ({budget.unpriced} more of unknown price)" if budget.unpriced else ""
        coming = "is of unknown price" if self.coming is None else f"costs about {dollars(self.coming)} and its answer"
        return (
            f"The budget for {_WORDS[budget.purse]} is {dollars(budget.limit)}{raised}; {dollars(budget.spent)} were "
            f"spent{known}, and the next request {coming}."
        )

    @property
    def step(self) -> float:
        """What it is raised by: as much again, and more where this request needs more."""
        missing = self.budget.spent + (self.coming or 0.0) - self.budget.most
        return max(self.budget.limit, 2 * missing, _STEP)

    @property
    def refused(self) -> str:
        return f"{self.told} It was not sent. Raise `budget.{self.budget.purse}` of the configuration to go on."


def over(budgets: Iterable[Budget], coming: float | None) -> Over | None:
    """The first budget that is used up, or would be passed. What costs nothing passes none."""
    for budget in budgets:
        if coming != 0.0 and (budget.spent >= budget.most or budget.spent + (coming or 0.0) > budget.most):
            return Over(budget, coming)
    return None


def raising(found: Over) -> str:
    """The answer that raises a budget."""
    return f"Raise it by {dollars(found.step)} for this chat today"


def dollars(amount: float) -> str:
    """As exact as it is of use."""
    if 0 < amount < _LEAST:
        return f"less than {_LEAST} USD"
    return f"{amount:.4f} USD" if amount < 1 else f"{amount:.2f} USD"
