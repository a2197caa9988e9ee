"""Owns the ledger: the cost of each request to a model is recorded once, for its chat, its notebook and its day.

The events of a chat have the costs too. But they are deleted with the chat, and may be rolled back or copied, while the
money stays spent. So all sums come from a separate table, from which nothing is deleted. A notebook is identified by
its path.

It must not know the budgets: `costs.budgets` does. `host.store.spending` has the table.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.context_window import break_down
from jupyter_eca.engine.model.delta import UsageDelta
from jupyter_eca.errors import ToolError
from jupyter_eca.host.newest_items import NewestItems
from jupyter_eca.host.store import CostFilter, Spending, Total
from jupyter_eca.protocol.context import CellContext, CursorContext, NotebookContext, OutputContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import Store

# The suffix of notebooks.
_SUFFIX = ".ipynb"

# The smallest and the largest factor that corrects an estimate, which is made from characters. A vendor's count that
# differs by more is probably wrong.
_MIN_SCALE, _MAX_SCALE = 0.5, 3.0

# Every vendor keeps a request in its cache for at least so many milliseconds: 5 minutes.
_CACHE_MS = 5 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Bill:
    """Who pays for a request to a model: its cost is recorded for this model, chat, turn and notebook."""

    model: str
    """The full name `provider/model`."""
    chat: str = ""
    """The id of the chat that pays, "" for a request of no chat, such as a completion in the editor."""
    turn: str = ""
    """The id of the turn."""
    notebook: str = ""
    """The path of the notebook in which the user asked, "" for none."""
    asks_user: bool = False
    """Whether the user of the chat may be asked before a budget is exceeded."""
    is_conversation: bool = True
    """Whether the request sends the conversation of the chat. Only such a request corrects the next estimate of the
    chat (`Ledger.record_request`). The request for a title, for example, does not."""


@dataclass(frozen=True, slots=True)
class _LastRequest:
    """The last request of a chat."""

    at: int
    """Its time in milliseconds since the epoch."""
    model: str
    """The full name of its model."""
    estimated: int
    """How many tokens we estimated."""
    counted: int
    """How many tokens the vendor counted."""
    is_cached: bool
    """Whether the vendor has the request in its cache."""


@dataclass(frozen=True, slots=True)
class Account:
    """The costs that a client shows for a chat."""

    message: Total
    """The costs of the last turn in which a model was called."""
    chat: Total
    """The costs of the chat."""
    notebook_path: str
    """The path of the notebook that the last prompt came from, "" for none."""
    notebook: Total
    """The costs of that notebook in all chats."""
    today: Total
    """The costs of this day in all chats."""


def make_bill(chat: LiveChat, model: str) -> Bill:
    """Return the bill for a request of the turn under way."""
    return Bill(model, get_paying_chat(chat), chat.state.turn, chat.notebook, chat.bounds.asks_user)


def get_paying_chat(chat: LiveChat) -> str:
    """Return the id of the chat that pays: for a subagent it is the parent chat."""
    return chat.parent or chat.state.id


class Ledger:
    """Records the costs of one host, and sums them."""

    def __init__(self, current: Current, store: Store, chats: Chats) -> None:
        self._current = current
        self._store = store
        self._chats = chats
        # The last request of each chat.
        self._last = NewestItems[str, _LastRequest]()

    def estimate_usage(self, bill: Bill, request: ModelRequest) -> UsageDelta:
        """Estimate the tokens of a request before it is sent.

        The estimate is corrected by the factor by which the estimate of the chat's last request was wrong. If that
        request is still in the vendor's cache, its tokens are counted as cached, which are cheaper.
        """
        tokens, last = break_down(request).used_tokens, self._last.get(bill.chat)
        if last is None or last.model != bill.model or not (last.estimated and last.counted):
            return UsageDelta(tokens, 0)
        tokens = round(tokens * min(max(last.counted / last.estimated, _MIN_SCALE), _MAX_SCALE))
        is_cached = last.is_cached and tokens >= last.counted and _now() - last.at < _CACHE_MS
        cached = last.counted if is_cached else 0
        return UsageDelta(tokens - cached, 0, cache_read_tokens=cached)

    def record_request(self, bill: Bill, request: ModelRequest, usage: UsageDelta) -> None:
        """Record the cost of a request, and remember how wrong its estimate was, so that the next estimate of the chat
        is corrected."""
        tokens_in = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.record_cost(bill, usage)
        if bill.chat and bill.is_conversation:
            cached = bool(usage.cache_read_tokens or usage.cache_write_tokens)
            estimated = break_down(request).used_tokens
            self._last[bill.chat] = _LastRequest(_now(), bill.model, estimated, tokens_in, cached)

    def record_cost(self, bill: Bill, usage: UsageDelta) -> None:
        """Record only the cost of a request. Unlike `record_request`, this does not correct the next estimate of the
        chat."""
        cached = usage.cache_read_tokens
        tokens_in = usage.input_tokens + cached + usage.cache_write_tokens
        payer = bill.chat, bill.turn, bill.notebook, bill.model
        self._store.record_spending(Spending(_now(), *payer, tokens_in, cached, usage.output_tokens, usage.cost))

    async def sum_costs(self, cost_filter: CostFilter) -> Total:
        """Return the sum over the requests that `cost_filter` selects."""
        return await self._store.do(lambda tables: tables.sum_spending(cost_filter))

    async def read_account(self, chat: str, at: int) -> Account:
        """Return the costs that a client shows for a chat. `at` is a time of the day that counts as today, in
        milliseconds since the epoch."""
        facts = self._chats.get_facts(chat)
        turn, notebook = facts.last_paid_turn, facts.notebook
        return Account(
            await self.sum_costs(CostFilter(chat, turn)) if turn else Total(),
            await self.sum_costs(CostFilter(chat)),
            notebook,
            await self.sum_costs(CostFilter(notebook=notebook)) if notebook else Total(),
            await self.sum_costs(CostFilter(since=compute_midnight(at))),
        )

    def find_notebook(self, chat: LiveChat) -> str:
        """Return the path of the notebook that the prompt of the turn came from, "" for none. It is a real path, if the
        notebook is in the workspace."""
        path = next(self._find_notebooks(chat), "")
        if path:
            with suppress(ToolError):
                return str(self._current.workspace.files.resolve(path))
        return path

    def _find_notebooks(self, chat: LiveChat) -> Iterator[str]:
        """Yield the paths that the prompt may have come from, the surest first: the notebook of the cell that asked, a
        notebook among the contexts, and the notebook that was open."""
        prompt = chat.prompt
        if prompt is None:
            return
        if prompt.lock is not None and prompt.lock.notebook.endswith(_SUFFIX):
            yield str(Path(prompt.lock.folder) / prompt.lock.notebook)
        for context in prompt.contexts:
            has_path = isinstance(context, CursorContext | NotebookContext | CellContext | OutputContext)
            if has_path and context.path.endswith(_SUFFIX):
                yield context.path
        if chat.kernel is None and chat.asked_notebook:
            yield chat.asked_notebook


def _now() -> int:
    """Return the time in milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


def compute_midnight(at: int) -> int:
    """Return the beginning of the day of a time, in the server's time zone. Both are in milliseconds since the
    epoch."""
    day = datetime.fromtimestamp(at / 1000).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return int(day.timestamp() * 1000)
