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

    async def allow(self, to: Bill, request: ModelRequest) -> None:
        """Returns when the request may be sent, which its user may be asked first.

        Raises: OverBudget, whose message says which budget, what was spent and how to raise it.
        """
        if not self._limits:
            return
        expected = self._ledger.expect(to, request)
        coming = (await self._catalog.quote(to.model, expected)).cost
        while found := find_excess(await self._budgets(to), coming):
            answer = await self._ask(to, found)
            if answer == GO_ON:
                return
            if answer != format_increase(found):
                raise OverBudget(found.refusal)
            self._raise(to, found)

    @property
    def _limits(self) -> dict[Purse, float]:
        config = self._current.config.budget
        limits = {Purse.CHAT: config.per_chat, Purse.NOTEBOOK: config.per_notebook, Purse.DAY: config.per_day}
        return {purse: limit for purse, limit in limits.items() if limit is not None}

    async def _budgets(self, to: Bill) -> list[Budget]:
        """Those that this request is counted in."""
        today = _today()
        extents = {Purse.DAY: Extent(since=today)}
        if to.chat:
            extents[Purse.CHAT] = Extent(to.chat)
        if to.notebook:
            extents[Purse.NOTEBOOK] = Extent(notebook=to.notebook)
        found: list[Budget] = []
        for purse, limit in self._limits.items():
            if purse in extents:
                total = await self._ledger.total(extents[purse])
                raised = self._raised.get((to.chat, purse, today), 0.0)
                found.append(Budget(purse, limit, total.cost, total.unpriced, raised))
        return found

    async def _ask(self, to: Bill, found: BudgetExcess) -> str | None:
        """None when nobody is there to answer."""
        if not (to.asks and self._subscribers.has_answerer(to.chat)):
            return None
        asked = ChatAskQuestionParams(
            chat_id=to.chat,
            question=found.text,
            options=tuple(QuestionOption(label=label) for label in (GO_ON, format_increase(found), STOP)),
            allow_freeform=False,
        )
        return (await ChatQuestions(self._subscribers, to.chat).ask(asked)).answer

    def _raise(self, to: Bill, found: BudgetExcess) -> None:
        key = (to.chat, found.budget.purse, _today())
        self._raised[key] = self._raised.get(key, 0.0) + found.increase


def _today() -> int:
    return find_midnight(time.time_ns() // 1_000_000)
