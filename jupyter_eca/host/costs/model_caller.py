"""Calls models and takes care of the costs: it checks the budgets before a request, and records what the answer costs.
It also notes whether the provider accepts the key, and reports how each request has ended.

It must not know chats or turns, only the `Bill`. `costs.budgets` checks, and `costs.ledger` records.
"""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.context_window import break_down
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ProviderError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from jupyter_eca.engine.model.delta import Delta
    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.costs.budgets import Budgets
    from jupyter_eca.host.costs.ledger import Bill, Ledger
    from jupyter_eca.host.services import Current
    from jupyter_eca.plugins.providers.catalog import ChosenModel


def _ignore(bill: Bill, chosen: ChosenModel, outcome: str) -> None:
    """Do nothing with the end of a request."""


class ModelCaller:
    """Streams the answers of models, and records their costs."""

    def __init__(self, current: Current, ledger: Ledger, budgets: Budgets) -> None:
        self._current = current
        self._ledger = ledger
        self._budgets = budgets
        self.on_end: Callable[[Bill, ChosenModel, str], None] = _ignore
        """Called when a request has ended: `completed`, `stopped`, or the `FailureKind` of its failure."""

    async def stream(self, bill: Bill, chosen: ChosenModel, request: ModelRequest) -> AsyncGenerator[Delta]:
        """Yield the deltas (pieces) of an answer, and record its cost. `bill` says who pays, and `chosen` which model
        of which provider answers.

        Raises: ProviderError; OverBudget before anything is sent.
        """
        if self._current.resolved.limits:
            await self._budgets.allow(bill, request)
        has_begun = counted = False
        outcome = "stopped"
        try:
            async with aclosing(chosen.provider.stream(chosen.model, request, chosen.settings)) as deltas:
                async for delta in deltas:
                    if not has_begun:
                        has_begun = True
                        if chosen.settings.key is not None:
                            chosen.key_outcomes.note_answer(chosen.settings)
                    if isinstance(delta, UsageDelta):
                        counted, delta = True, chosen.bill(delta)
                        self._ledger.count(bill, request, delta)
                    yield delta
            outcome = "completed"
        except ProviderError as error:
            chosen.key_outcomes.note_failure(chosen.settings, error.kind)
            outcome = error.kind.value
            raise
        finally:
            self.on_end(bill, chosen, outcome)
            # An answer that was broken off costs money too, but the vendor has not said how much.
            if has_begun and not counted and not chosen.free:
                self._ledger.record(bill, UsageDelta(break_down(request).used_tokens, 0))
