"""What was spent: each request to a model is written down once, for its chat, its notebook and its day.

The events of a chat tell what was used too, but they go with the chat, and may be cut back or copied; money does not
come back. So sums are those of a table that nothing is ever taken away from. A notebook is known by its path.
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
from jupyter_eca.host.store import Extent, Spending, Total
from jupyter_eca.protocol.context import CellContext, CursorContext, NotebookContext, OutputContext

if TYPE_CHECKING:
    from collections.abc import Iterator

    from jupyter_eca.engine.model.request import ModelRequest
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import Store

_SUFFIX = ".ipynb"

# Tokens are estimated from characters: the rule of thumb is off by as much, not by more, unless a server miscounts.
_LEAST_SCALE, _MOST_SCALE = 0.5, 3.0

# What vendors keep at least of what they have read.
_CACHE_MS = 5 * 60 * 1000


@dataclass(frozen=True, slots=True)
class Bill:
    """Who pays for a request: nobody in particular, or a chat and the notebook that was asked in. `asks`: somebody may
    be asked about it there."""

    model: str
    chat: str = ""
    turn: str = ""
    notebook: str = ""
    asks: bool = False


@dataclass(frozen=True, slots=True)
class _LastRequest:
    """The last request of a chat: what was estimated and what the vendor counted; `cached`: it keeps that a while."""

    at: int
    model: str
    estimated: int
    counted: int
    cached: bool


@dataclass(frozen=True, slots=True)
class Account:
    """`message` is the last one that a model answered. Where the `place` is empty nothing is known of a notebook."""

    message: Total
    chat: Total
    notebook_path: str
    notebook: Total
    today: Total


def make_bill(chat: LiveChat, model: str) -> Bill:
    return Bill(model, find_paying_chat(chat), chat.state.turn, chat.notebook, chat.bounds.asks)


def find_paying_chat(chat: LiveChat) -> str:
    """The chat whose budget a request counts for."""
    return chat.parent or chat.state.id


class Ledger:
    def __init__(self, current: Current, store: Store, chats: Chats) -> None:
        self._current = current
        self._store = store
        self._chats = chats
        self._last: dict[str, _LastRequest] = {}

    def expect(self, bill: Bill, request: ModelRequest) -> UsageDelta:
        """What a request will be counted as before its answer: estimated as the last one was, put right by what came of
        that. What the vendor's cache still has of it is cheaper."""
        tokens, last = break_down(request).used_tokens, self._last.get(bill.chat)
        if last is None or last.model != bill.model or not (last.estimated and last.counted):
            return UsageDelta(tokens, 0)
        tokens = round(tokens * min(max(last.counted / last.estimated, _LEAST_SCALE), _MOST_SCALE))
        kept = last.cached and tokens >= last.counted and _now() - last.at < _CACHE_MS
        cached = last.counted if kept else 0
        return UsageDelta(tokens - cached, 0, cache_read_tokens=cached)

    def count(self, bill: Bill, request: ModelRequest, usage: UsageDelta) -> None:
        """Write down what a request cost, and how far its estimate was off."""
        read = usage.input_tokens + usage.cache_read_tokens + usage.cache_write_tokens
        self.note(bill, usage)
        if bill.chat:
            cached = bool(usage.cache_read_tokens or usage.cache_write_tokens)
            self._last[bill.chat] = _LastRequest(_now(), bill.model, break_down(request).used_tokens, read, cached)

    def note(self, bill: Bill, usage: UsageDelta) -> None:
        """Write down what a request cost."""
        cached = usage.cache_read_tokens
        read = usage.input_tokens + cached + usage.cache_write_tokens
        where = bill.chat, bill.turn, bill.notebook, bill.model
        self._store.spend(Spending(_now(), *where, read, cached, usage.output_tokens, usage.cost))

    async def sum_costs(self, extent: Extent) -> Total:
        return await self._store.do(lambda tables: tables.sum_spending(extent))

    async def read_account(self, chat: str, at: int) -> Account:
        """What a client is told: of a chat, of where it was last asked in, of the day."""
        live = self._chats.live(chat)
        turn, notebook = (live.paid, live.notebook) if live else ("", "")
        return Account(
            await self.sum_costs(Extent(chat, turn)) if turn else Total(),
            await self.sum_costs(Extent(chat)),
            notebook,
            await self.sum_costs(Extent(notebook=notebook)) if notebook else Total(),
            await self.sum_costs(Extent(since=find_midnight(at))),
        )

    def find_notebook(self, chat: LiveChat) -> str:
        """The path of the notebook that the chat's prompt came from, "" when it came from none."""
        for path in self._find_notebooks(chat):
            with suppress(ToolError):
                return str(self._current.workspace.files.resolve(path))
            return path
        return ""

    def _find_notebooks(self, chat: LiveChat) -> Iterator[str]:
        """By the cell that asked, by what was sent along, by where it was asked: the nearest first."""
        prompt = chat.prompt
        if prompt is None:
            return
        if prompt.lock is not None and prompt.lock.notebook.endswith(_SUFFIX):
            yield str(Path(prompt.lock.folder) / prompt.lock.notebook)
        for context in prompt.contexts:
            named = isinstance(context, CursorContext | NotebookContext | CellContext | OutputContext)
            if named and context.path.endswith(_SUFFIX):
                yield context.path
        if chat.kernel is None and chat.asked_notebook:
            yield chat.asked_notebook


def _now() -> int:
    return time.time_ns() // 1_000_000


def find_midnight(at: int) -> int:
    """When the day began, where the server stands; both in milliseconds since the epoch."""
    day = datetime.fromtimestamp(at / 1000).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return int(day.timestamp() * 1000)
