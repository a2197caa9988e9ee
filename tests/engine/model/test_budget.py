"""Budgets: which request exceeds one, and what the user reads about it."""

from __future__ import annotations

import pytest

from jupyter_eca.engine.model.budget import (
    Budget,
    BudgetExcess,
    BudgetScope,
    describe_outside_cost,
    explain_unknown_price,
    find_excess,
    format_dollars,
    format_increase,
)
from jupyter_eca.protocol.costs import OutsideCost


def budget(spent: float, limit: float = 1.0, raised: float = 0.0, unpriced: int = 0) -> Budget:
    return Budget(BudgetScope.CHAT, limit, spent, unpriced, raised)


@pytest.mark.parametrize(
    ("spent", "raised", "cost", "exceeds"),
    [
        (0.5, 0.0, 0.4, False),
        (0.5, 0.0, 0.5, False),
        (0.5, 0.0, 0.6, True),
        (0.5, 0.5, 0.6, False),
        (1.0, 0.0, 0.001, True),
        (1.0, 0.0, None, True),
        (0.9, 0.0, None, False),
        (1.0, 0.0, 0.0, False),
        (2.0, 0.5, 0.0, False),
        (1.5, 0.5, 0.1, True),
    ],
)
def test_a_request_exceeds_a_budget_that_is_used_up_or_would_be(
    spent: float, raised: float, cost: float | None, exceeds: bool
) -> None:
    found = find_excess([budget(spent, raised=raised)], cost)
    assert (found is not None) is exceeds


def test_the_first_budget_that_is_exceeded_is_told() -> None:
    budgets = [Budget(BudgetScope.CHAT, 2, 1), Budget(BudgetScope.NOTEBOOK, 1, 1), Budget(BudgetScope.DAY, 1, 1)]
    found = find_excess(budgets, 0.5)
    assert found == BudgetExcess(budgets[1], 0.5)
    assert find_excess([], 0.5) is None


@pytest.mark.parametrize(
    ("excess", "increase"),
    [
        (BudgetExcess(budget(1.0), 0.25), 1.0),
        (BudgetExcess(budget(1.0), 3.0), 6.0),
        (BudgetExcess(budget(1.0), None), 1.0),
        (BudgetExcess(budget(4.0, raised=1.0), 0.5), 5.0),
        (BudgetExcess(budget(0.0, limit=0.0), 0.001), 0.01),
        (BudgetExcess(budget(0.0, limit=0.0), None), 0.01),
    ],
)
def test_a_budget_is_raised_by_its_limit_or_by_twice_what_is_missing(excess: BudgetExcess, increase: float) -> None:
    assert excess.increase == increase
    assert format_dollars(increase) in format_increase(excess)


def test_the_question_has_the_limit_what_was_spent_and_what_the_request_costs() -> None:
    text = BudgetExcess(budget(1.5, 1.0, raised=0.75, unpriced=3), 0.25).text
    assert all(amount in text for amount in ("1.00 USD", "0.75 USD", "1.50 USD", "0.25 USD", "(3 more"))
    plain = BudgetExcess(budget(1.5), None).text
    assert ("raised" in plain, "more of" in plain, "unknown price" in plain) == (False, False, True)
    assert "unknown price" not in BudgetExcess(budget(1.5), 0.5).text


def test_a_refusal_names_the_key_that_raises_the_budget() -> None:
    excess = BudgetExcess(Budget(BudgetScope.DAY, 1, 1), None)
    assert excess.text in excess.refusal
    assert "`budget.perDay`" in excess.refusal


def test_a_price_that_nobody_knows_is_asked_of_the_administrator_by_its_key() -> None:
    assert "`providers.acme.models.llm/1.cost`" in explain_unknown_price("acme/llm/1", budget(0))


@pytest.mark.parametrize(("cost", "words"), [(0.5, "has cost 0.50 USD"), (None, "unknown amount")])
def test_an_outside_agent_says_itself_what_it_has_cost(cost: float | None, words: str) -> None:
    text = describe_outside_cost(OutsideCost(agent="Ada", cost=cost))
    assert text.startswith("Ada says")
    assert words in text
