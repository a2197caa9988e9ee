"""Owns the store: it commits the events of chats to a database and publishes them, and reads them again by number.

An event is committed before any client is shown it. So all that was shown is still there after a crash of the server.
All work of the database runs on one thread. Events that are appended during a commit are committed together by the next
one. Pieces of an answer that follow each other become one event: the first piece is committed and published at once,
and then at most one commit is made every 40 ms (`PACE_SECONDS`).

A damaged file is repaired (`repair`), at the start or when the damage is found.

If a commit fails, because the disk is full, another program locks the file or the server of the database has ended,
the events are published without a number. They stay here in memory, in their order, until they can be stored. The chats
concerned get a message when this begins, and when all is stored. What is still not stored when the process ends is
written to a file (`unsaved_file`), and the next process stores it. If it is not known whether a commit has worked,
because the server has ended before its answer, this is asked before anything else is stored. So nothing is stored
twice.

It must not know the engine, nor which program keeps the rows: `database` does. `tables` has the statements.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from jupyter_eca.errors import NotSaved
from jupyter_eca.host.store import schema
from jupyter_eca.host.store.connection import UnknownCommit
from jupyter_eca.host.store.database import make_database
from jupyter_eca.host.store.dialect import SESSION
from jupyter_eca.host.store.opening import is_busy
from jupyter_eca.host.store.tables import Tables
from jupyter_eca.host.store.unsaved_file import UnsavedFile, UnsavedRows, take_unsaved, write_unsaved
from jupyter_eca.log_fields import LogFields
from jupyter_eca.protocol.event import Event, is_streamed_piece, merge_pieces

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Sequence
    from pathlib import Path

    from jupyter_eca.config.schema import StoreConfig
    from jupyter_eca.host.store.rows import ChatRow, StoredSelection
    from jupyter_eca.host.store.spending import Spending

_log = logging.getLogger(__name__)

T = TypeVar("T")

# The seconds between two pieces of an answer. Each piece costs a commit, a message to every page, and four more
# messages to a kernel, which is far more than its few characters. Nobody reads faster than this, and a cell draws only
# ten times a second.
PACE_SECONDS: Final = 0.04

# The seconds until a failed commit is tried again: they double after each failure, from the first to the second value.
FIRST_RETRY_SECONDS: Final = 0.5
LAST_RETRY_SECONDS: Final = 30.0
# The seconds that such a try waits for another program that writes to the file. Reads have to wait behind it.
RETRY_BUSY_SECONDS: Final = 0.2

# The seconds that the last commit may take. A server that is told to end is killed some seconds later.
CLOSE_SECONDS: Final = 5.0

_UNTIL_SAVED: Final = "Until it is saved, it is only in memory, and no new prompt is accepted."

# A process has a number with fewer digits. A damaged row may have any text in its place.
_PID_DIGITS: Final = 11


class Store:
    """The database of one process. Several processes may use the same file: `workspace` selects the chats that are
    listed, and `owner` marks the chats in which this process answers."""

    def __init__(
        self, path: Path, workspace: str, publish: Callable[[list[Event]], None], settings: StoreConfig | None = None
    ) -> None:
        """`path` is the file of the chats, if `settings` do not put them into another database. `publish` is called on
        the event loop with the committed events, in order and with their `seq`."""
        self._database = make_database(path, workspace, settings)
        self.owner: Final = self._database.owner
        """The mark of this process, see `is_alive`."""
        self.workspace: Final = workspace
        """The folder that identifies the workspace."""
        self.on_unsaved: Callable[[str, str], None] = _ignore
        """Called once with the id of a chat and the reason when its events cannot be stored now."""
        self.on_saved: Callable[[str], None] = _ignore
        """Called with the id of such a chat when all its events are stored."""
        self.on_warning: Callable[[str], None] = _ignore
        """Called with a sentence for the user when the file was damaged and has been repaired while it was open."""
        self.warnings: list[str] = []
        """What was wrong with the file since this process has opened it, and what to do next, for the user."""
        self.on_refused: Callable[[str, str], None] = _ignore
        """Called with the id of a chat and the reason when one of its events can never be stored."""
        self.path: Final = path
        """The file of the chats. Also if they are elsewhere, the other files of the assistant are in its folder."""
        self.files: Final = self._database.files
        """The files of the database."""
        self._publish = publish
        # What the next commit stores.
        self._pending: list[Event] = []
        # The chats of which the commit under way stores something.
        self._committing_chats: frozenset[str] = frozenset()
        # The settings of the next turns of chats, by the id of the chat.
        self._queued_selections: dict[str, StoredSelection] = {}
        # The costs of requests.
        self._queued_costs: list[Spending] = []
        # The events that could not be stored.
        self._unsaved: list[Event] = []
        # The ids of their chats, in the order in which the clients were told. The dict is used as a set in order.
        self._unsaved_chats: dict[str, None] = {}
        # A commit of which it is not known whether it has worked, with its events and costs. They are the first ones of
        # `_unsaved` and `_queued_costs`.
        self._unknown: UnknownCommit | None = None
        self._unknown_events: list[Event] = []
        self._unknown_spent: list[Spending] = []
        # The files of earlier processes whose events are in `_unsaved`.
        self._taken: list[UnsavedFile] = []
        # The error of the last commit; "" if it has worked.
        self._failure = ""
        # How many commits have failed one after the other.
        self._failures = 0
        # When the next try is made, in seconds of the loop's clock.
        self._retry_at = 0.0
        # Set when anything is queued. The second one is set only if it is no piece of an answer, because pieces can
        # wait for a moment.
        self._wake = asyncio.Event()
        self._wake_at_once = asyncio.Event()
        # When the last piece of an answer was published, on the loop's clock.
        self._streamed_at = float("-inf")
        # Held during a commit.
        self._committing = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "eca-store")

    async def open(self) -> None:
        """Open the database: the file of the user, or what takes its place if the file is damaged or cannot be written.
        Raises: ConfigError, with the path of the file, when it cannot be used and nothing can take its place."""
        await self._run(self._open)
        if self._database.warning:
            self.warnings.append(self._database.warning)
        await self._run(self._take_unsaved)
        if self._unsaved or self._queued_costs:
            await self._commit(retry=True)
        await self._warn_if_busy()

    async def _warn_if_busy(self) -> None:
        """Warn the user if another program writes to the database now. We start nevertheless, and store later."""
        await self._run(partial(self._database.set_lock_timeout, RETRY_BUSY_SECONDS))
        try:
            await self._run(self._tables.probe)
        except self._database.errors as error:
            # The first use of the database handles any other error.
            if is_busy(error):
                self.warnings.append(f"New chats cannot be saved yet: {self._explain(str(error))}")
        finally:
            if not self._failure:
                await self._run(partial(self._database.set_lock_timeout, schema.BUSY_SECONDS))

    def _open(self) -> None:
        """Open the database. It blocks."""
        self._database.open()
        self._use_connection()

    def _take_unsaved(self) -> None:
        """Take what an earlier process could not store. It blocks."""
        if self._is_temporary:
            return  # the rows would be deleted with the database
        for file in take_unsaved(self.path.parent, self.workspace):
            rows = file.rows
            if self._tables.is_file_stored(file.path.name):  # a process was killed before it could delete the file
                file.delete()
                continue
            is_stored = bool(rows.transaction) and self._database.was_committed(rows.transaction)
            self._unsaved += rows.events[rows.event_count if is_stored else 0 :]
            self._queued_costs += rows.spent[rows.spent_count if is_stored else 0 :]
            self._taken.append(file)

    def _use_connection(self) -> None:
        """Read and write over the connection that the database has now."""
        self._connection = self._database.db
        self._is_temporary = self._database.is_temporary
        self._tables = Tables(self._connection, self.workspace, self.owner)

    async def run(self) -> None:
        """Commit and publish the appended events, until this is cancelled."""
        while True:
            await self._wait_for_work()
            await self._wait_between_pieces()
            self._wake.clear()
            self._wake_at_once.clear()
            await self.settle()

    async def _wait_for_work(self) -> None:
        """Wait until something is appended, or until it is time to try a failed commit again."""
        async with _end_wait_at(self._retry_at if self._failure else None):
            await self._wake.wait()

    async def _wait_between_pieces(self) -> None:
        """Wait between two pieces of an answer (`PACE_SECONDS`), unless another kind of event is appended."""
        async with _end_wait_at(self._streamed_at + PACE_SECONDS):
            await self._wake_at_once.wait()

    async def close(self) -> None:
        """Commit the remaining events, and close the database."""
        committing = asyncio.ensure_future(self._commit(retry=True))
        await asyncio.wait([committing], timeout=CLOSE_SECONDS)
        if not committing.done():
            self._database.interrupt()
        await committing
        if self._unsaved or self._queued_costs:
            await self._run(self._write_unsaved)
        for file in self._taken:
            file.release()
        await self._run(self._database.close)
        self._thread.shutdown()

    def _write_unsaved(self) -> None:
        """Write what could not be stored to a file, for the next process. It blocks."""
        unknown, events, spent = self._unknown, self._unknown_events, self._unknown_spent
        transaction = (unknown.transaction, len(events), len(spent)) if unknown else ("", 0, 0)
        try:
            path = write_unsaved(
                self.path.parent, UnsavedRows(self.workspace, self._unsaved, self._queued_costs, *transaction)
            )
        except OSError as error:
            outcome = f"are lost: {error}"
        else:
            outcome = f"are kept in {path}, and stored at the next start"
            _delete_all(self._taken)
            self._taken = []
        _log.error(
            "%d events of the chats %s could not be stored in %s (%s). They %s",
            len(self._unsaved),
            ", ".join(self._unsaved_chats),
            self._database.name,
            self._failure,
            outcome,
        )

    def append(self, events: Sequence[Event]) -> None:
        """Queue events, which `run` commits and publishes soon."""
        if events:
            self._pending += events
            self._wake.set()
            if not all(map(is_streamed_piece, events)):
                self._wake_at_once.set()

    def save_selection(self, chat: str, selected: StoredSelection) -> None:
        """Queue the settings of the next turns of a chat. They are not stored for a chat without a prompt."""
        self._queued_selections[chat] = selected
        self._wake.set()

    def record_spending(self, spending: Spending) -> None:
        """Queue the cost of a request. It is committed together with events that are appended at once after it."""
        self._queued_costs.append(spending)
        self._wake.set()

    def discard(self, chat: str) -> None:
        """Forget the events of a chat that are not stored yet. Called before the chat is deleted."""
        self._pending = [event for event in self._pending if event.chat != chat]
        self._unsaved = [event for event in self._unsaved if event.chat != chat]
        self._unknown_events = [event for event in self._unknown_events if event.chat != chat]
        self._unsaved_chats.pop(chat, None)

    async def settle(self) -> None:
        """Wait until all events that are appended so far are published. They are also committed, if that does not
        fail."""
        # The caller may be cancelled, but the commit must not be: its events would never be shown. It ends by itself,
        # and `close` waits for the lock that it holds.
        await asyncio.shield(self._commit())

    async def confirm(self) -> None:
        """Wait until all events that are appended so far are committed. Raises: NotSaved when that fails."""
        await asyncio.shield(self._commit(retry=bool(self._failure)))
        if self._failure:
            raise NotSaved(self._explain(self._failure))

    async def check_writable(self) -> None:
        """Check that something can be stored now. Call this before work begins whose result must not be lost.

        Raises: NotSaved when nothing can be stored.
        """
        await self.confirm()
        await self.do(lambda tables: tables.probe())

    async def do(self, work: Callable[[Tables], T]) -> T:
        """Run a function with the tables on their thread, after all events that are appended so far, and return its
        result. Raises: NotSaved when the database cannot be used."""
        await self.settle()
        return await self._use(work)

    async def read_events(self, chat: str, after: int = 0) -> list[Event]:
        """Return the events of a chat after a sequence number, and those that could not be stored yet.

        Raises: NotSaved when the database cannot be used.
        """
        stored = await self._use(lambda tables: tables.read_events(chat, after))
        return [*stored, *(event for event in self._unsaved if event.chat == chat)]

    def list_unsaved_chats(self) -> set[str]:
        """Return the chats of which an event or the settings are not stored yet."""
        events = (*self._pending, *self._unsaved)
        return {*(event.chat for event in events), *self._queued_selections, *self._committing_chats}

    def explain_unsaved(self, chat: str) -> str:
        """Return why a chat cannot be stored now, and what to do about it; "" when all of it is stored."""
        if chat not in self._unsaved_chats:
            return ""
        if self._is_temporary and not self._failure:
            return f"{self._database.warning} `/export` keeps this chat."
        return f"{self._explain(self._failure)} {_UNTIL_SAVED}"

    async def read_chat(self, chat: str) -> ChatRow | None:
        """Return the row of a chat, None when there is none. Raises: NotSaved."""
        return await self._use(lambda tables: tables.read_chat(chat))

    async def list_chats(self) -> list[ChatRow]:
        """Return the chats of this workspace, the last used first. Raises: NotSaved."""
        return await self._use(lambda tables: tables.list_chats())

    def describe_place(self) -> str:
        """Return where the chats are stored, for `doctor`."""
        return self._database.describe()

    async def inspect(self) -> None:
        """Read the whole database, and repair it if it is damaged: not every damage shows in what is read daily.
        `warnings` then says what was repaired. Raises: NotSaved."""
        if await self._use(lambda _: self._database.has_damage()):
            await self._repair()

    async def _use(self, work: Callable[[Tables], T]) -> T:
        """Run a function with the tables on their thread, and return its result. A damaged database is repaired first.
        Raises: NotSaved in place of an error of the database."""
        try:
            return await self._use_repaired(work)
        except self._database.errors as error:
            raise NotSaved(self._explain(str(error))) from error

    async def _use_repaired(self, work: Callable[[Tables], T]) -> T:
        """Run a function with the tables on their thread. If the database is damaged, repair it and run the function
        again. Raises: an error of the database."""
        try:
            return await self._run(partial(self._run_with_tables, work))
        except self._database.errors as error:
            tables = self._tables
            if not await self._run(partial(self._database.is_caused_by_damage, error)):
                raise
            # Another reader may have found the damage at the same moment, and the file is repaired already.
            if tables is self._tables and not await self._repair():
                raise
            return await self._run(partial(self._run_with_tables, work))

    def _run_with_tables(self, work: Callable[[Tables], T]) -> T:
        """Run a function with the tables, over a new connection if that is needed. It blocks."""
        if self._connection.is_lost():
            self._database.renew()
            self._use_connection()
        return work(self._tables)

    async def _repair(self) -> bool:
        """Repair the database. Return whether that was done."""
        warning = await self._run(self._repair_database)
        if warning:
            self.warnings.append(warning)
            self.on_warning(warning)
        return bool(warning)

    def _repair_database(self) -> str:
        """Repair the database, and use its new connection. Return what happened, for the user; "" when it cannot be
        repaired. It blocks."""
        warning = self._database.repair()
        self._use_connection()
        return warning

    async def _run(self, work: Callable[[], T]) -> T:
        """Run a function on the thread of the database."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    # -- commits

    async def _commit(self, *, retry: bool = False) -> None:
        """Commit all that is queued, and publish the new events. With `retry`, try it even if the last commit failed a
        moment ago."""
        async with self._committing:
            fresh, self._pending = merge_pieces(self._pending), []
            self._committing_chats = frozenset((*(event.chat for event in fresh), *self._queued_selections))
            if self._failure and not retry and asyncio.get_running_loop().time() < self._retry_at:
                self._unsaved += fresh
                self._note_unsaved()
            elif fresh or self._unsaved or self._queued_selections or self._queued_costs:
                fresh = await self._store(fresh)
            if fresh:
                if is_streamed_piece(fresh[-1]):
                    self._streamed_at = asyncio.get_running_loop().time()
                self._publish(fresh)
            self._committing_chats = frozenset()

    async def _store(self, fresh: list[Event]) -> list[Event]:
        """Store new events behind those that could not be stored before. Return the new ones as they are published.

        A full or broken disk must not take the answer away from the user who is reading it. So events that cannot be
        stored are published without a number, and stay here in their order.
        """
        selected, self._queued_selections = self._queued_selections, {}
        events, spent = [*self._unsaved, *fresh], self._queued_costs
        try:
            if self._unknown is not None:
                await self._resolve_unknown(self._unknown)
            # The first `late` events were published before, without a number.
            events, late = [*self._unsaved, *fresh], len(self._unsaved)
            spent, self._queued_costs = self._queued_costs, []
            files = [file.path.name for file in self._taken]
            written = await self._use_repaired(lambda tables: tables.write(events, selected, spent, files, late=late))
        except Exception as error:  # noqa: BLE001  # whatever is wrong with one write, the store must go on for all chats
            if not self._failure:
                _log.exception("%d events could not be stored in %s", len(events), self._database.name)
            self._queued_selections = {**selected, **self._queued_selections}
            if spent is not self._queued_costs:  # they were taken out of the queue above
                self._queued_costs = [*spent, *self._queued_costs]
            if isinstance(error, UnknownCommit):
                self._unknown, self._unknown_events, self._unknown_spent = error, events, spent
            # After an unknown commit, the events are not merged: `_resolve_unknown` must find the same objects again.
            self._unsaved = events if self._unknown else merge_pieces(events)
            await self._note_failure(str(error))
            return fresh
        self._unsaved = []
        if self._taken:
            await self._run(partial(_delete_all, self._taken))
            self._taken = []
        if self._is_temporary:
            self._note_temporary(events)
        elif self._failure:
            await self._note_success()
        for refused in written.refused:
            fields = LogFields(chat_id=refused.chat)
            _log.error("something of the chat %s was not stored: %s", refused.chat, refused.reason, extra=fields)
            self.on_refused(refused.chat, refused.reason)
        return written.events[late:]

    async def _resolve_unknown(self, unknown: UnknownCommit) -> None:
        """Find out whether an unknown commit has worked, and forget what it has stored. Raises: an error of the
        database when that cannot be found out now."""
        if await self._use_repaired(lambda _: self._database.was_committed(unknown.transaction)):
            shown = [event for event in unknown.written.events if event.seq]
            await self._use_repaired(lambda tables: tables.mark_shown(shown))
            # An event that is not stored has no number, so it is compared by its identity.
            stored = set(map(id, self._unknown_events))
            self._unsaved = [event for event in self._unsaved if id(event) not in stored]
            self._queued_costs = self._queued_costs[len(self._unknown_spent) :]
        self._unknown, self._unknown_events, self._unknown_spent = None, [], []

    async def _note_failure(self, reason: str) -> None:
        """Note that a commit has failed: plan the next try, and tell the chats concerned."""
        self._failures += 1
        wait = min(FIRST_RETRY_SECONDS * 2 ** (self._failures - 1), LAST_RETRY_SECONDS)
        self._retry_at = asyncio.get_running_loop().time() + wait
        if not self._failure:
            # From now on, reads must not wait long behind a commit that waits for another program.
            await self._run(partial(self._database.set_lock_timeout, RETRY_BUSY_SECONDS))
        self._failure = reason
        self._note_unsaved()

    def _note_unsaved(self) -> None:
        """Tell each chat, once, that something of it is not stored: an event, the selection or a cost."""
        chats = (
            *(event.chat for event in self._unsaved),
            *self._queued_selections,
            *(spent.chat for spent in self._queued_costs),
        )
        for chat in chats:
            if chat and chat not in self._unsaved_chats:
                self._unsaved_chats[chat] = None
                self.on_unsaved(chat, self.explain_unsaved(chat))

    def _note_temporary(self, events: Sequence[Event]) -> None:
        """Tell each chat, once, that it is in a file which is deleted at the end."""
        self._failure, self._failures = "", 0
        for event in events:
            if event.chat not in self._unsaved_chats:
                self._unsaved_chats[event.chat] = None
                self.on_unsaved(event.chat, self.explain_unsaved(event.chat))

    async def _note_success(self) -> None:
        """Note that a commit has worked after others had failed, and tell the chats concerned."""
        self._failure, self._failures = "", 0
        await self._run(partial(self._database.set_lock_timeout, schema.BUSY_SECONDS))
        chats, self._unsaved_chats = self._unsaved_chats, {}
        for chat in chats:
            self.on_saved(chat)

    def _explain(self, reason: str) -> str:
        """Return a text for the user: the reason of a failure, and what to do about it."""
        return f"{self._database.name} cannot be used now ({reason}). {self._database.advise(reason)}"


def _delete_all(files: Sequence[UnsavedFile]) -> None:
    """Delete files of unsaved events, which are stored now."""
    for file in files:
        file.delete()


def _ignore(*_: object) -> None:
    """Do nothing. This is the default of the callbacks, for a store without clients."""


@asynccontextmanager
async def _end_wait_at(end: float | None) -> AsyncGenerator[None]:
    """End what is awaited within this context at the time `end` of the loop's clock, without an error. None: never."""
    # `wait_for` is not used, because in Python 3.11 it can mistake a cancellation for a timeout.
    with suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            yield


def is_alive(owner: str | None) -> bool:
    """Return whether the process that answers in a chat still runs. `owner` is the `Store.owner` of this process, as it
    was read from the row of the chat. None, for a chat in which no process answers, returns False."""
    if owner is not None and owner.startswith(SESSION):
        return True  # else it would not have been read, see `SqlDialect.owner`
    process = (owner or "").partition(":")[0]
    if not process.isdecimal() or len(process) >= _PID_DIGITS:
        return False
    import psutil

    return psutil.pid_exists(int(process))
