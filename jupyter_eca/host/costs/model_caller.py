"""Calls models and takes care of the costs: it checks the budgets before a request, and records what the answer costs.
It also notes whether the provider accepts the key, and reports how each request has ended.

It must not know chats or turns, only the `Bill`. `costs.budgets` checks, and `costs.ledger` records.
"""

from __future__ import annotations

import time
from contextlib import aclosing
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class EndedRequest:
    """A request to a model that has ended."""

    bill: Bill
    """Who pays for it."""
    chosen: ChosenModel
    """The model and its provider."""
    outcome: str
    """`completed`, `stopped` (it was cancelled before its end), or the `FailureKind` of its failure."""
    began_at: int
    """When it began, in nanoseconds since the epoch."""
    usage: UsageDelta | None
    """The tokens as the vendor has counted them; None when the vendor has not reported them."""


class ModelCaller:
    """Streams the answers of models, and records their costs."""

    def __init__(self, current: Current, ledger: Ledger, budgets: Budgets) -> None:
        self._current = current
        self._ledger = ledger
        self._budgets = budgets
        self.watchers: list[Callable[[EndedRequest], None]] = []
        """Called when a request has ended."""

    async def stream(self, bill: Bill, chosen: ChosenModel, request: ModelRequest) -> AsyncGenerator[Delta]:
        """Yield the deltas (pieces) of an answer, and record its cost. `bill` says who pays, and `chosen` which model
        of which provider answers.

        Raises: ProviderError; OverBudget before anything is sent.
        """
        if self._current.resolved.limits:
            await self._budgets.check_request(bill, request)
        has_begun, usage, began_at = False, None, time.time_ns()
        outcome = "stopped"
        try:
            async with aclosing(chosen.provider.stream(chosen.model, request, chosen.settings)) as deltas:
                async for delta in deltas:
                    if not has_begun:
                        has_begun = True
                        if chosen.settings.key is not None:
                            chosen.key_outcomes.note_answer(chosen.settings)
                    if isinstance(delta, UsageDelta):
                        usage = delta = chosen.apply_rates(delta)  # with the user's own rates, if there are any
                        self._ledger.record_request(bill, request, delta)
                    yield delta
            outcome = "completed"
        except ProviderError as error:
            chosen.key_outcomes.note_failure(chosen.settings, error.kind)
            outcome = error.kind.value
            raise
        finally:
            for watch in self.watchers:
                watch(EndedRequest(bill, chosen, outcome, began_at, usage))
            # An answer that was broken off costs money too, but the vendor has not said how much.
            if has_begun and usage is None and not chosen.free:
                self._ledger.record_cost(bill, UsageDelta(break_down(request).used_tokens, 0))
