"""Decides whether a request fits into the user's budgets, and writes the question to the user when it does not. Pure.

It must not know who pays for a request: its neighbour `host/costs` does, and also counts what was spent.

A budget is a limit in US dollars. Only known prices count: the requests to a model without a price are not added up,
and the question to the user says so. Where an administrator has set the budget, only one such request is sent, because
nobody knows how much of the budget is left after it. The cost of the next request is estimated from the text that it
sends, without the answer, whose length nobody knows. So one answer may exceed a limit, but never two.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from jupyter_eca.protocol.costs import OutsideCost

# Two answers to the question whether a request may exceed a budget. The third is the text of `format_increase`.
GO_ON: Final = "Go on once"
STOP: Final = "Stop"

# The smallest amount by which a budget is raised, in US dollars.
_MIN_INCREASE: Final = 0.01

# Amounts in US dollars from this one on are shown with two decimal places.
_TWO_DECIMALS_FROM: Final = 0.1
# The most decimal places of an amount.
_MAX_DIGITS: Final = 6


class BudgetScope(StrEnum):
    """The chats that a budget counts. The values are the keys in the configuration (`budget.perChat`)."""

    CHAT = "perChat"
    NOTEBOOK = "perNotebook"
    DAY = "perDay"


# The words for each scope in the question to the user.
_SCOPE_NAMES: Final = {
    BudgetScope.CHAT: "this chat",
    BudgetScope.NOTEBOOK: "this notebook",
    BudgetScope.DAY: "today",
}


@dataclass(frozen=True, slots=True)
class Budget:
    """A limit, and how much of it was spent."""

    scope: BudgetScope
    """The chats that the budget counts."""
    limit: float
    """The limit in US dollars, from the configuration."""
    spent: float
    """The US dollars that were spent so far."""
    unpriced: int = 0
    """The number of requests whose price is unknown. They are not part of `spent`."""
    raised: float = 0.0
    """The US dollars that the user has added to the limit."""

    @property
    def maximum(self) -> float:
        """The US dollars that may be spent in total."""
        return self.limit + self.raised


@dataclass(frozen=True, slots=True)
class BudgetExcess:
    """A budget that a request would exceed."""

    budget: Budget
    """The budget."""
    next_cost: float | None
    """What the request would cost without its answer, in US dollars; None when the price is unknown."""

    @property
    def text(self) -> str:
        """The sentence that tells the user about the budget and the request."""
        budget = self.budget
        raised = f", raised by {format_dollars(budget.raised)}" if budget.raised else ""
        unpriced = f" ({budget.unpriced} more of unknown price)" if budget.unpriced else ""
        next_cost = (
            "is of unknown price"
            if self.next_cost is None
            else f"costs about {format_dollars(self.next_cost)} and its answer"
        )
        limit, spent = format_dollars(budget.limit), format_dollars(budget.spent)
        return (
            f"The budget for {_SCOPE_NAMES[budget.scope]} is {limit}{raised}; {spent} were spent{unpriced}, "
            f"and the next request {next_cost}."
        )

    @property
    def increase(self) -> float:
        """The US dollars that "raise" adds to the budget: as many as its limit. If these are not enough for this
        request, twice what is missing is added."""
        missing = self.budget.spent + (self.next_cost or 0.0) - self.budget.maximum
        return max(self.budget.limit, 2 * missing, _MIN_INCREASE)

    @property
    def refusal(self) -> str:
        """The error text when the request is not sent."""
        return f"{self.text} It was not sent. Raise `budget.{self.budget.scope}` of the configuration to go on."


def find_excess(budgets: Iterable[Budget], next_cost: float | None) -> BudgetExcess | None:
    """Return the first budget that is used up or that the request would exceed; None when there is none.

    `next_cost` is what the request would cost without its answer; None when the price is unknown. A request that costs
    nothing exceeds no budget.
    """
    for budget in budgets:
        if next_cost != 0.0 and (budget.spent >= budget.maximum or budget.spent + (next_cost or 0.0) > budget.maximum):
            return BudgetExcess(budget, next_cost)
    return None


def explain_unknown_price(model: str, budget: Budget) -> str:
    """Return the error text for a request of unknown price where an administrator has set a budget, and the cost of an
    earlier request is not known either."""
    provider, _, name = model.partition("/")
    return (
        f"The budget for {_SCOPE_NAMES[budget.scope]} cannot be exceeded, and it is not known what {model} costs. So "
        f"the request was not sent. An administrator can set `providers.{provider}.models.{name}.cost`."
    )


def format_increase(excess: BudgetExcess) -> str:
    """Return the text of the button that raises the budget."""
    return f"Raise it by {format_dollars(excess.increase)} for this chat today"


def describe_outside_cost(cost: OutsideCost) -> str:
    """Return in words what an outside agent says that it has cost. `settings/Costs.tsx` has the same words."""
    known = f"has cost {format_dollars(cost.cost)}" if cost.cost is not None else "has used an unknown amount of USD"
    return f"{cost.agent} says that it {known} in this chat. Costs of outside agents are not counted in budgets."


def format_dollars(amount: float) -> str:
    """Return an amount as text, with two digits that are not leading zeros, because most answers cost less than a cent:
    1.20 USD, 0.0034 USD. No amount has more than six decimal places.

    `formatCost` in `labextension/src/render/format.ts` does the same; both are tested with the same amounts.
    """
    return f"{amount:.{_count_decimals(amount)}f} USD"


def format_cost(amount: float) -> str:
    """Return an amount in dollars as ECA sends it: a number with four decimal places. An amount below a tenth of a cent
    has up to six, so that it is not shown as zero."""
    return f"{amount:.{max(4, _count_decimals(amount))}f}"


def _count_decimals(amount: float) -> int:
    """Return how many decimal places show two digits that are not leading zeros, from two to `_MAX_DIGITS`."""
    return 2 if amount <= 0 or amount >= _TWO_DECIMALS_FROM else min(_MAX_DIGITS, 1 - math.floor(math.log10(amount)))
