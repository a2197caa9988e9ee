"""Whether a request may be paid for: limits in US dollars, and what is said and asked when one would be passed. Pure.

A limit holds for what is known: a model without a price cannot be counted, and whoever is asked is told so. What the
next request will cost is estimated from what it sends. The answer comes on top of it, so a limit may be passed by one
answer, never by two. It must not know who pays: the ledger in `host/costs` does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

GO_ON: Final = "Go on once"
STOP: Final = "Stop"

# The least amount by which a budget is raised.
_STEP: Final = 0.01

# A smaller amount is shown as less than this.
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
    """A limit, and what was spent of it."""

    purse: Purse
    """What the limit is for."""
    limit: float
    """US dollars, from the configuration."""
    spent: float
    """US dollars so far."""
    unpriced: int = 0
    """The number of requests whose price nobody knows."""
    raised: float = 0.0
    """What the user has added to the limit."""

    @property
    def maximum(self) -> float:
        """What may be spent in all."""
        return self.limit + self.raised


@dataclass(frozen=True, slots=True)
class BudgetExcess:
    """A budget that a request would pass."""

    budget: Budget
    coming: float | None
    """What the request would cost at least; None where nobody knows."""

    @property
    def text(self) -> str:
        """What the reader and the model are told, in whole sentences."""
        budget = self.budget
        raised = f", raised by {format_dollars(budget.raised)}" if budget.raised else ""
        known = f" ({budget.unpriced} more of unknown price)" if budget.unpriced else ""
        coming = (
            "is of unknown price"
            if self.coming is None
            else f"costs about {format_dollars(self.coming)} and its answer"
        )
        limit, spent = format_dollars(budget.limit), format_dollars(budget.spent)
        return (
            f"The budget for {_WORDS[budget.purse]} is {limit}{raised}; {spent} were spent{known}, "
            f"and the next request {coming}."
        )

    @property
    def increase(self) -> float:
        """What the budget is raised by: as much again, and more where this request needs more."""
        missing = self.budget.spent + (self.coming or 0.0) - self.budget.maximum
        return max(self.budget.limit, 2 * missing, _STEP)

    @property
    def refusal(self) -> str:
        """What is said when the request is not sent."""
        return f"{self.text} It was not sent. Raise `budget.{self.budget.purse}` of the configuration to go on."


def find_excess(budgets: Iterable[Budget], coming: float | None) -> BudgetExcess | None:
    """Return the first budget that is used up, or would be passed. A request that costs nothing passes none."""
    for budget in budgets:
        if coming != 0.0 and (budget.spent >= budget.maximum or budget.spent + (coming or 0.0) > budget.maximum):
            return BudgetExcess(budget, coming)
    return None


def format_increase(excess: BudgetExcess) -> str:
    """Return the answer by which the user raises a budget."""
    return f"Raise it by {format_dollars(excess.increase)} for this chat today"


def format_dollars(amount: float) -> str:
    """Return an amount with as many digits as are of use."""
    if 0 < amount < _LEAST:
        return f"less than {_LEAST} USD"
    return f"{amount:.4f} USD" if amount < 1 else f"{amount:.2f} USD"
