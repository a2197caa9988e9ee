"""A model's answer on its way through the purse: budgets are asked before it, the ledger is written during it.

Must not know chats or turns, only the bill. `costs.budgets` decides, `costs.ledger` keeps what was spent.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.context_window import break_down
from jupyter_eca.engine.model.delta import UsageDelta

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.costs.budgets import Budgets
    from jupyter_eca.host.costs.ledger import Bill, Ledger
    from jupyter_eca.plugins.providers.catalog import Chosen


class Metered:
    def __init__(self, ledger: Ledger, budgets: Budgets) -> None:
        self._ledger = ledger
        self._budgets = budgets

    async def stream(self, bill: Bill, chosen: Chosen, request: ModelRequest) -> AsyncGenerator[Delta]:
        """Yield what a model says, and write down what is paid for it.

        Raises: ProviderError; OverBudget before anything is sent.
        """
        await self._budgets.allow(bill, request)
        begun = counted = False
        try:
            async with aclosing(chosen.provider.stream(chosen.model, request, chosen.settings)) as deltas:
                async for delta in deltas:
                    begun = True
                    if isinstance(delta, UsageDelta):
                        counted, delta = True, chosen.bill(delta)
                        self._ledger.count(bill, request, delta)
                    yield delta
        finally:
            # An answer that was broken off costs as well, and nobody has told how much.
            if begun and not counted and not chosen.free:
                self._ledger.note(bill, UsageDelta(break_down(request).used_tokens, 0))
