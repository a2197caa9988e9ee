"""The store: an append-only table of events in SQLite, replayed by sequence number.

Events are committed before anybody is shown them, so what had been shown is there after a crash of the server. All
SQLite work is on one thread; appends that come while a commit is under way are committed together by the next one, and
neighbouring pieces of text in it become one event. So do the pieces of an answer that follow each other closely: only
its first, and what comes after a rest, is committed and published at once. It must not know the engine; the statements
are in `tables`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from jupyter_eca.errors import ConfigError
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.event import Event, is_streamed_piece, merge_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from jupyter_eca.host.store.rows import ChatRow, StoredSelection
    from jupyter_eca.host.store.spending import Spending

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds between two pieces of what a model says. Each costs a commit, a message to every page, and to a kernel four
# more: many times what its few characters do. A reader sees no faster than that, and a cell draws ten times a second.
PACE: Final = 0.04


class Store:
    """Serves one file. Several processes may: `workspace` tells whose chats are listed, `owner` who is answering."""

    def __init__(self, path: Path, workspace: str, publish: Callable[[list[Event]], None]) -> None:
        """`publish` is called on the event loop with events that are committed, in order, `seq` filled in."""
        self.owner: Final = f"{os.getpid()}:{time.time_ns()}"
        self._path = path
        self.workspace: Final = workspace
        self._publish = publish
        self._pending: list[Event] = []
        self._selected: dict[str, StoredSelection] = {}
        self._spent: list[Spending] = []
        self._wake = asyncio.Event()
        self._pressing = asyncio.Event()
        self._streamed = float("-inf")
        self._flushing = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "eca-store")

    async def open(self) -> None:
        """Raises: ConfigError, naming the file, when it cannot be used."""
        try:
            self._db = await self._run(partial(connect, self._path))
        except (sqlite3.Error, OSError) as error:
            raise ConfigError(f"{self._path} cannot be used: {error}. Mend it, or move it away.") from error
        self._tables = Tables(self._db, self.workspace, self.owner)

    async def run(self) -> None:
        """Commit and publish what is appended, until cancelled."""
        while True:
            await self._wake.wait()
            await self._rest()
            self._wake.clear()
            self._pressing.clear()
            await self.settle()

    async def _rest(self) -> None:
        """Wait between two pieces of an answer, unless something else comes."""
        left = self._streamed + PACE - asyncio.get_running_loop().time()
        if left > 0:
            # Not `wait_for`, which in Python 3.11 can take a cancellation for the end of the time.
            with suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._pressing.wait()

    async def close(self) -> None:
        """Commit what is left, and close the file."""
        await self.settle()
        await self._run(self._db.close)
        self._thread.shutdown()

    def append(self, events: Sequence[Event]) -> None:
        """Store events soon, and publish them then."""
        if events:
            self._pending += events
            self._wake.set()
            if not all(map(is_streamed_piece, events)):
                self._pressing.set()

    def select(self, chat: str, selected: StoredSelection) -> None:
        """Store what the turns of a chat are run with from now on. Nothing is stored for a chat without a prompt."""
        self._selected[chat] = selected
        self._wake.set()

    def spend(self, spending: Spending) -> None:
        """Store what a request cost, with what is appended next if that comes at once: both belong together."""
        self._spent.append(spending)
        self._wake.set()

    async def settle(self) -> None:
        """Return once everything appended so far is committed and published."""
        # Whoever waits here may be cancelled; the commit may not, or what is in it would never be shown. It ends by
        # itself, and `close` waits for the lock that it holds.
        await asyncio.shield(self._commit())

    async def do(self, work: Callable[[Tables], T]) -> T:
        """Run some work with the tables, on their thread, after everything appended so far."""
        await self.settle()
        return await self._run(partial(work, self._tables))

    async def events(self, chat: str, after: int = 0) -> list[Event]:
        """Return the events of a chat after a sequence number."""
        return await self._run(partial(self._tables.events, chat, after))

    async def chat(self, chat: str) -> ChatRow | None:
        """Return the row of a chat, None when there is none."""
        return await self._run(partial(self._tables.chat, chat))

    async def chats(self) -> list[ChatRow]:
        """Return the chats of this workspace, the last used first."""
        return await self._run(self._tables.chats)

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _commit(self) -> None:
        async with self._flushing:
            events, self._pending = merge_pieces(self._pending), []
            selected, self._selected = self._selected, {}
            spent, self._spent = self._spent, []
            if not events and not selected and not spent:
                return
            try:
                events = await self._run(partial(self._tables.write, events, selected, spent))
            except sqlite3.Error:
                # A full or broken disk must not take the answer away from who is reading it: it is shown, not kept.
                _log.exception("%d events could not be stored in %s", len(events), self._path)
            if events:
                if is_streamed_piece(events[-1]):
                    self._streamed = asyncio.get_running_loop().time()
                self._publish(events)


def is_alive(owner: str | None) -> bool:
    """Return whether the process that claimed a chat still runs on this machine."""
    import psutil

    return owner is not None and psutil.pid_exists(int(owner.partition(":")[0]))
