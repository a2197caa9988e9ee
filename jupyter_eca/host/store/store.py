"""The store: an append-only table of events in SQLite, replayed by sequence number.

Events are committed before anybody is shown them, so what had been shown is there after a crash of the server. All
SQLite work is on one thread; appends that come while a commit is under way are committed together by the next one, and
neighbouring pieces of text in it become one event. So do the pieces of an answer that follow each other closely: only
its first, and what comes after a rest, is committed and published at once.

Where a commit fails, because the disk is full or another program holds the file, the events are published without a
number and stay here, in their order, until they are stored. The chats that this concerns are told, once when it begins
and once when it is over.

It must not know the engine; the statements are in `tables`.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from jupyter_eca.errors import ConfigError, NotSaved
from jupyter_eca.host.store import schema
from jupyter_eca.host.store.schema import connect
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.protocol.event import Event, is_streamed_piece, merge_pieces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from jupyter_eca.host.store.rows import ChatRow, StoredSelection
    from jupyter_eca.host.store.spending import Spending

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Seconds between two pieces of what a model says. Each costs a commit, a message to every page, and to a kernel four
# more: many times what its few characters do. A reader sees no faster than that, and a cell draws ten times a second.
PACE: Final = 0.04

# Seconds until what could not be stored is tried again: twice as long after each failure, up to the second number.
FIRST_RETRY: Final = 0.5
LAST_RETRY: Final = 30.0
# How long such a try waits for another program that writes to the file. Reading waits behind it.
BUSY_SECONDS_AGAIN: Final = 0.2

# What the user can do, by words of SQLite's message.
_ADVICE: Final = {
    "locked": "Another program is using the file: end it, or wait.",
    "full": "The disk is full: free some space.",
    "readonly": "The file cannot be written: check its permissions.",
    "disk I/O": "The disk does not work: check it, and the space on it.",
    "malformed": "The file is damaged: end all programs that use it, then restore or move it away.",
}


class Store:
    """Serves one file. Several processes may: `workspace` tells whose chats are listed, `owner` who is answering."""

    def __init__(self, path: Path, workspace: str, publish: Callable[[list[Event]], None]) -> None:
        """`publish` is called on the event loop with events that are committed, in order, `seq` filled in."""
        self.owner: Final = f"{os.getpid()}:{time.time_ns()}"
        self.workspace: Final = workspace
        self.on_unsaved: Callable[[str, str], None] = _ignore
        """Called with a chat and the reason when its events cannot be stored, once until they are."""
        self.on_saved: Callable[[str], None] = _ignore
        """Called with such a chat when all its events are stored after all."""
        self.on_refused: Callable[[str, str], None] = _ignore
        """Called with a chat and the reason when one of its events can never be stored."""
        self._path = path
        self._publish = publish
        self._pending: list[Event] = []
        self._unsaved: list[Event] = []
        self._unsaved_chats: dict[str, None] = {}
        self._failure = ""
        self._failures = 0
        self._retry_at = 0.0
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
            await self._wait_for_work()
            await self._rest()
            self._wake.clear()
            self._pressing.clear()
            await self.settle()

    async def _wait_for_work(self) -> None:
        """Wait until something is appended, or until it is time to store again what could not be stored."""
        async with _until(self._retry_at if self._failure else None):
            await self._wake.wait()

    async def _rest(self) -> None:
        """Wait between two pieces of an answer, unless something else comes."""
        async with _until(self._streamed + PACE):
            await self._pressing.wait()

    async def close(self) -> None:
        """Commit what is left, and close the file."""
        await self._commit(retry=True)
        if self._unsaved:
            _log.error(
                "%d events of the chats %s are lost: they could not be stored in %s (%s)",
                len(self._unsaved),
                ", ".join(self._unsaved_chats),
                self._path,
                self._failure,
            )
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

    def discard(self, chat: str) -> None:
        """Forget what is not stored yet of a chat that is about to be deleted."""
        self._pending = [event for event in self._pending if event.chat != chat]
        self._unsaved = [event for event in self._unsaved if event.chat != chat]
        self._unsaved_chats.pop(chat, None)

    async def settle(self) -> None:
        """Return once everything appended so far is published, and committed unless that fails now."""
        # Whoever waits here may be cancelled; the commit may not, or what is in it would never be shown. It ends by
        # itself, and `close` waits for the lock that it holds.
        await asyncio.shield(self._commit())

    async def confirm(self) -> None:
        """Return once everything appended so far is committed. Raises: NotSaved when that fails."""
        await asyncio.shield(self._commit(retry=bool(self._failure)))
        if self._failure:
            raise NotSaved(self._explain(self._failure))

    async def check(self) -> None:
        """Return if something can be stored now: call this before work begins whose result must be kept.

        Raises: NotSaved.
        """
        await self.confirm()
        await self.do(lambda tables: tables.probe())

    async def do(self, work: Callable[[Tables], T]) -> T:
        """Run some work with the tables, on their thread, after everything appended so far. Raises: NotSaved."""
        await self.settle()
        return await self._use(partial(work, self._tables))

    async def events(self, chat: str, after: int = 0) -> list[Event]:
        """Return the events of a chat after a sequence number, and those that could not be stored yet.

        Raises: NotSaved.
        """
        stored = await self._use(partial(self._tables.events, chat, after))
        return [*stored, *(event for event in self._unsaved if event.chat == chat)]

    def explain_unsaved(self, chat: str) -> str:
        """Return why a chat cannot be stored now, and what to do about it; "" when all of it is stored."""
        return self._explain(self._failure) if chat in self._unsaved_chats else ""

    async def chat(self, chat: str) -> ChatRow | None:
        """Return the row of a chat, None when there is none. Raises: NotSaved."""
        return await self._use(partial(self._tables.chat, chat))

    async def chats(self) -> list[ChatRow]:
        """Return the chats of this workspace, the last used first. Raises: NotSaved."""
        return await self._use(self._tables.chats)

    async def _use(self, work: Callable[[], T]) -> T:
        try:
            return await self._run(work)
        except sqlite3.Error as error:
            raise NotSaved(self._explain(str(error))) from error

    async def _run(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # -- commits

    async def _commit(self, *, retry: bool = False) -> None:
        """Store what waits, and publish what was not published yet. With `retry`, do not wait after a failure."""
        async with self._flushing:
            fresh, self._pending = merge_pieces(self._pending), []
            if self._failure and not retry and asyncio.get_running_loop().time() < self._retry_at:
                self._unsaved += fresh
                self._note_unsaved()
            elif fresh or self._unsaved or self._selected or self._spent:
                fresh = await self._store(fresh)
            if fresh:
                if is_streamed_piece(fresh[-1]):
                    self._streamed = asyncio.get_running_loop().time()
                self._publish(fresh)

    async def _store(self, fresh: list[Event]) -> list[Event]:
        """Store events behind those that could not be stored before. Return them as they are to be published.

        A full or broken disk must not take the answer away from who is reading it. What cannot be stored is published
        without a number, and stays here, in its order.
        """
        events, late = [*self._unsaved, *fresh], len(self._unsaved)
        selected, self._selected = self._selected, {}
        spent, self._spent = self._spent, []
        try:
            written = await self._run(partial(self._tables.write, events, selected, spent, late=late))
        except Exception as error:  # noqa: BLE001  # whatever is wrong with one write, the store must go on for all chats
            if not self._failure:
                _log.exception("%d events could not be stored in %s", len(events), self._path)
            self._selected, self._spent = {**selected, **self._selected}, [*spent, *self._spent]
            self._unsaved = merge_pieces(events)
            await self._note_failure(str(error))
            return fresh
        self._unsaved = []
        if self._failure:
            await self._note_success()
        for refused in written.refused:
            _log.error("something of the chat %s was not stored: %s", refused.chat, refused.reason)
            self.on_refused(refused.chat, refused.reason)
        return written.events[late:]

    async def _note_failure(self, reason: str) -> None:
        self._failures += 1
        wait = min(FIRST_RETRY * 2 ** (self._failures - 1), LAST_RETRY)
        self._retry_at = asyncio.get_running_loop().time() + wait
        if not self._failure:
            # From now on, nobody who only reads must wait for the program that holds the file.
            await self._run(partial(self._tables.wait_for_others, BUSY_SECONDS_AGAIN))
        self._failure = reason
        self._note_unsaved()

    def _note_unsaved(self) -> None:
        """Tell each chat, once, of which an event, the selection or a cost is not stored."""
        chats = (*(event.chat for event in self._unsaved), *self._selected, *(spent.chat for spent in self._spent))
        for chat in chats:
            if chat and chat not in self._unsaved_chats:
                self._unsaved_chats[chat] = None
                self.on_unsaved(chat, self._explain(self._failure))

    async def _note_success(self) -> None:
        self._failure, self._failures = "", 0
        await self._run(partial(self._tables.wait_for_others, schema.BUSY_SECONDS))
        chats, self._unsaved_chats = self._unsaved_chats, {}
        for chat in chats:
            self.on_saved(chat)

    def _explain(self, reason: str) -> str:
        """Return the reason of a failure, and what to do about it, for the user."""
        advice = next((advice for words, advice in _ADVICE.items() if words in reason), "See the log.")
        return f"{self._path} cannot be used now ({reason}). {advice}"


def _ignore(*_: object) -> None:
    """Ignore what happens to the saving of chats: nobody is there to be told."""


@asynccontextmanager
async def _until(end: float | None) -> AsyncGenerator[None]:
    """Leave this context at a time of the loop's clock, without an error. None is never."""
    # Not `wait_for`, which in Python 3.11 can take a cancellation for the end of the time.
    with suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            yield


def is_alive(owner: str | None) -> bool:
    """Return whether the process that claimed a chat still runs on this machine."""
    import psutil

    return owner is not None and psutil.pid_exists(int(owner.partition(":")[0]))
