"""Checks the budgets of the configuration before each request to a model, and asks the user if one would be exceeded.

It must not record costs: `costs.ledger` does. `engine.model.budget` decides when a budget is exceeded.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.budget import (
    GO_ON,
    STOP,
    Budget,
    BudgetExcess,
    BudgetScope,
    explain_unknown_price,
    find_excess,
    format_increase,
)
from jupyter_eca.errors import OverBudget
from jupyter_eca.host.costs.ledger import compute_midnight
from jupyter_eca.host.store import CostFilter
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.costs.ledger import Bill, Ledger
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.plugins.providers.catalog import Catalog


class Budgets:
    """The budgets of one host."""

    def __init__(self, current: Current, catalog: Catalog, ledger: Ledger, subscribers: Subscribers) -> None:
        self._current = current
        self._catalog = catalog
        self._ledger = ledger
        self._subscribers = subscribers
        # The US dollars by which the user has raised a budget. The keys are the chat in which the user did so, the
        # scope of the budget, and the beginning of the day: the increase counts only for requests of this chat on this
        # day.
        self._increases: dict[tuple[str, BudgetScope, int], float] = {}

    async def check_request(self, bill: Bill, request: ModelRequest) -> None:
        """Check that a request may be sent. If it would exceed a budget, the user is asked whether it may.

        A budget that the administrator's policy sets cannot be exceeded, so the user is not asked about it. If the cost
        of an earlier request is not known, nobody can say how much of such a budget is left: then a request is refused
        if its own price is not known either.

        Raises: OverBudget, whose message says which budget is exceeded, what was spent, and how to raise the budget.
        """
        expected = self._ledger.estimate_usage(bill, request)
        price = (await self._catalog.quote(bill.model, expected)).cost
        policy = self._current.resolved.config.policy
        # First the budgets of the policy, with the policy's own limit. The user may have set a lower limit, and may
        # raise that one, but not beyond the limit of the policy. `reason` is the administrator's sentence about the
        # limit.
        for budget in await self._list_budgets(bill):
            if (limit_and_reason := policy.find_budget(budget.scope)) is None:
                continue
            limit, reason = limit_and_reason
            if price is None and budget.unpriced:
                raise OverBudget(f"{explain_unknown_price(bill.model, budget)} {reason}")
            if excess := find_excess((replace(budget, limit=limit, raised=0.0),), price):
                raise OverBudget(f"{excess.text} It was not sent. {reason}")
        while excess := find_excess(await self._list_budgets(bill), price):
            answer = await self._ask(bill, excess)
            if answer == GO_ON:
                return  # only this request is sent, and the budget stays as it is
            if answer != format_increase(excess):
                raise OverBudget(excess.refusal)
            self._raise_budget(bill, excess)

    async def _list_budgets(self, bill: Bill) -> list[Budget]:
        """Return the budgets that a request counts for, with what was spent and by how much the user has raised them.
        The limits are those in the configuration, which the policy has lowered where they were higher than its own."""
        today = _get_midnight()
        filters = {BudgetScope.DAY: CostFilter(since=today)}
        if bill.chat:
            filters[BudgetScope.CHAT] = CostFilter(bill.chat)
        if bill.notebook:
            filters[BudgetScope.NOTEBOOK] = CostFilter(notebook=bill.notebook)
        budgets: list[Budget] = []
        for scope, limit in self._current.resolved.limits.items():
            if scope in filters:
                total = await self._ledger.sum_costs(filters[scope])
                increase = self._increases.get((bill.chat, scope, today), 0.0)
                budgets.append(Budget(scope, limit, total.cost, total.unpriced, increase))
        return budgets

    async def _ask(self, bill: Bill, excess: BudgetExcess) -> str | None:
        """Ask the user what to do about an exceeded budget. Return the label of the chosen option, None if nobody can
        answer."""
        if not (bill.asks_user and self._subscribers.has_answerer(bill.chat)):
            return None
        params = ChatAskQuestionParams(
            chat_id=bill.chat,
            question=excess.text,
            options=tuple(QuestionOption(label=label) for label in (GO_ON, format_increase(excess), STOP)),
            allow_freeform=False,
        )
        return (await ChatQuestions(self._subscribers, bill.chat).ask(params)).answer

    def _raise_budget(self, bill: Bill, excess: BudgetExcess) -> None:
        """Record that the user has raised an exceeded budget by `excess.increase`."""
        key = (bill.chat, excess.budget.scope, _get_midnight())
        self._increases[key] = self._increases.get(key, 0.0) + excess.increase


def _get_midnight() -> int:
    """Return the time at which today began, in milliseconds since the epoch."""
    return compute_midnight(time.time_ns() // 1_000_000)
