"""Money that may be spent: asks before a request that would cost more than the user allows.

Every request to a model passes here on its way. Without a budget in the configuration nothing is counted for it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.budget import GO_ON, STOP, Budget, BudgetExcess, Purse, find_excess, format_increase
from jupyter_eca.errors import OverBudget
from jupyter_eca.host.costs.ledger import find_midnight
from jupyter_eca.host.store import Extent
from jupyter_eca.host.subscribers import ChatQuestions
from jupyter_eca.protocol.question import ChatAskQuestionParams, QuestionOption

if TYPE_CHECKING:
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.costs.ledger import Bill, Ledger
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.plugins.providers.catalog import Catalog


class Budgets:
    def __init__(self, current: Current, catalog: Catalog, ledger: Ledger, subscribers: Subscribers) -> None:
        self._current = current
        self._catalog = catalog
        self._ledger = ledger
        self._subscribers = subscribers
        # By chat, purse and day: what the user has added is for one chat, and for today.
        self._raised: dict[tuple[str, Purse, int], float] = {}

    async def allow(self, bill: Bill, request: ModelRequest) -> None:
        """Returns when the request may be sent, which its user may be asked first.

        Raises: OverBudget, whose message says which budget, what was spent and how to raise it.
        """
        if not self._limits:
            return
        expected = self._ledger.expect(bill, request)
        coming = (await self._catalog.quote(bill.model, expected)).cost
        while excess := find_excess(await self._budgets(bill), coming):
            answer = await self._ask(bill, excess)
            if answer == GO_ON:
                return
            if answer != format_increase(excess):
                raise OverBudget(excess.refusal)
            self._raise(bill, excess)

    @property
    def _limits(self) -> dict[Purse, float]:
        config = self._current.config.budget
        limits = {Purse.CHAT: config.per_chat, Purse.NOTEBOOK: config.per_notebook, Purse.DAY: config.per_day}
        return {purse: limit for purse, limit in limits.items() if limit is not None}

    async def _budgets(self, bill: Bill) -> list[Budget]:
        """Those that this request is counted in."""
        today = _today()
        extents = {Purse.DAY: Extent(since=today)}
        if bill.chat:
            extents[Purse.CHAT] = Extent(bill.chat)
        if bill.notebook:
            extents[Purse.NOTEBOOK] = Extent(notebook=bill.notebook)
        excess: list[Budget] = []
        for purse, limit in self._limits.items():
            if purse in extents:
                total = await self._ledger.sum_costs(extents[purse])
                raised = self._raised.get((bill.chat, purse, today), 0.0)
                excess.append(Budget(purse, limit, total.cost, total.unpriced, raised))
        return excess

    async def _ask(self, bill: Bill, excess: BudgetExcess) -> str | None:
        """None when nobody is there to answer."""
        if not (bill.asks and self._subscribers.has_answerer(bill.chat)):
            return None
        asked = ChatAskQuestionParams(
            chat_id=bill.chat,
            question=excess.text,
            options=tuple(QuestionOption(label=label) for label in (GO_ON, format_increase(excess), STOP)),
            allow_freeform=False,
        )
        return (await ChatQuestions(self._subscribers, bill.chat).ask(asked)).answer

    def _raise(self, bill: Bill, excess: BudgetExcess) -> None:
        key = (bill.chat, excess.budget.purse, _today())
        self._raised[key] = self._raised.get(key, 0.0) + excess.increase


def _today() -> int:
    return find_midnight(time.time_ns() // 1_000_000)
