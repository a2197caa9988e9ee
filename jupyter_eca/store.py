"""Chats on disk: an append-only table of events in SQLite, replayed by sequence number. Knows no engine.

Events are committed before anybody is shown them, so what had been shown is there after a crash of the server. All
SQLite work is on one thread; appends that come while a commit is under way are committed together by the next one, and
neighbouring pieces of text in it become one event.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from pydantic import TypeAdapter

from jupyter_eca.errors import ConfigError
from jupyter_eca.protocol.content import Content, MetadataContent, Role
from jupyter_eca.protocol.event import Event, Outcome, merged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_log = logging.getLogger(__name__)
_CONTENT: Final[TypeAdapter[Content]] = TypeAdapter(Content)

MIGRATIONS: Final = (
    """
    CREATE TABLE events (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        chat TEXT NOT NULL, turn TEXT NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL,
        content TEXT NOT NULL, aside TEXT NOT NULL, outcome TEXT
    );
    CREATE INDEX events_of_chat ON events (chat, seq);
    CREATE TABLE chats (
        id TEXT PRIMARY KEY, workspace TEXT NOT NULL, created INTEGER NOT NULL, updated INTEGER NOT NULL,
        title TEXT, model TEXT, owner TEXT
    );
    CREATE INDEX chats_of_workspace ON chats (workspace, updated);
    """,
)
"""Each is run once, in order; `PRAGMA user_version` counts those that were. Never change one that was released."""

_ROWS: Final = """
    SELECT id, created, updated, title, model, owner,
        (SELECT coalesce(max(seq), 0) FROM events WHERE chat = id),
        (SELECT count(*) FROM events WHERE chat = id AND role = 'user')
    FROM chats
"""

# Another process writes for microseconds at a time; a wait of this length means that its disk is stuck.
BUSY_SECONDS = 5.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChatRow:
    """`owner` is the process that answers in it now, `last` its newest sequence number; times in milliseconds."""

    id: str
    created: int
    updated: int
    title: str | None
    model: str | None
    owner: str | None
    last: int
    prompts: int


class Store:
    """One file may serve several processes: `workspace` tells whose chats are listed, `owner` who is answering."""

    def __init__(self, path: Path, workspace: str, publish: Callable[[list[Event]], None]) -> None:
        """`publish` is called on the event loop with events that are committed, in order, `seq` filled in."""
        self.owner: Final = f"{os.getpid()}:{time.time_ns()}"
        self._path = path
        self._workspace = workspace
        self._publish = publish
        self._pending: list[Event] = []
        self._models: dict[str, str] = {}
        self._wake = asyncio.Event()
        self._flushing = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, "eca-store")

    async def open(self) -> None:
        """Raises: ConfigError, naming the file, when it cannot be used."""
        try:
            self._db = await self._do(self._connect)
        except (sqlite3.Error, OSError) as error:
            raise ConfigError(f"{self._path} cannot be used: {error}. Mend it, or move it away.") from error

    async def run(self) -> None:
        """Commit and publish what is appended, until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self._flush()

    async def close(self) -> None:
        await self._flush()
        await self._do(self._db.close)
        self._thread.shutdown()

    def append(self, events: Sequence[Event], model: str) -> None:
        """`model`, unless it is empty, is noted as the chat's last one."""
        if events:
            self._pending += events
            self._wake.set()
            if model:
                self._models[events[-1].chat] = model

    async def settled(self) -> None:
        """Returns once everything appended so far is committed and published."""
        await self._flush()

    async def events(self, chat: str, after: int = 0) -> list[Event]:
        return await self._do(partial(self._events, chat, after))

    async def chat(self, chat: str) -> ChatRow | None:
        rows = await self._do(partial(self._rows, "WHERE id = ?", chat))
        return rows[0] if rows else None

    async def chats(self) -> list[ChatRow]:
        """Those of this workspace, the last used first."""
        return await self._do(partial(self._rows, "WHERE workspace = ? ORDER BY updated DESC", self._workspace))

    async def _do(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def _flush(self) -> None:
        # Whoever waits here may be cancelled; the commit may not, or what is in it would never be shown. It ends by
        # itself, and `close` waits for the lock that it holds.
        await asyncio.shield(self._commit())

    async def _commit(self) -> None:
        async with self._flushing:
            events, self._pending = merged(self._pending), []
            models, self._models = self._models, {}
            if not events:
                return
            try:
                events = await self._do(partial(self._write, events, models))
            except sqlite3.Error:
                # A full or broken disk must not take the answer away from who is reading it: it is shown, not kept.
                _log.exception("%d events could not be stored in %s", len(events), self._path)
            self._publish(events)

    # -- on the store's own thread

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.touch(mode=0o600)
        db = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            self._migrate(db)
        except BaseException:
            db.close()
            raise
        return db

    def _migrate(self, db: sqlite3.Connection) -> None:
        (done,) = db.execute("PRAGMA user_version").fetchone()
        if done > len(MIGRATIONS):
            raise ConfigError(f"{self._path} is a newer jupyter-eca's. Install that version, or move the file away.")
        _use_wal(db)
        db.execute("BEGIN IMMEDIATE")
        (done,) = db.execute("PRAGMA user_version").fetchone()
        for number, script in enumerate(MIGRATIONS[done:], done + 1):
            for statement in filter(str.strip, script.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
        db.execute("COMMIT")

    def _write(self, events: list[Event], models: dict[str, str]) -> list[Event]:
        db = self._db
        stored: list[Event] = []
        db.execute("BEGIN IMMEDIATE")
        try:
            for event in events:
                if event.role is Role.USER or isinstance(event.content, MetadataContent) or event.outcome:
                    self._note(event, models.get(event.chat))
                row = db.execute(
                    "INSERT INTO events (chat, turn, role, at, content, aside, outcome) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (event.chat, event.turn, event.role, event.at, _json(event), event.aside, event.outcome),
                )
                stored.append(event.model_copy(update={"seq": row.lastrowid}))
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")
        return stored

    def _note(self, event: Event, model: str | None) -> None:
        """Keep the chat's row: made by its first prompt, owned while a turn runs."""
        title = event.content.title if isinstance(event.content, MetadataContent) else None
        owner = None if event.outcome else self.owner
        self._db.execute(
            "INSERT INTO chats (id, workspace, created, updated, title, model, owner) VALUES (?, ?, ?, ?, ?, ?, ?)"
            " ON CONFLICT (id) DO UPDATE SET updated = excluded.updated, title = coalesce(excluded.title, title),"
            " model = coalesce(excluded.model, model), owner = excluded.owner",
            (event.chat, self._workspace, event.at, event.at, title, model, owner),
        )

    def _events(self, chat: str, after: int) -> list[Event]:
        rows = self._db.execute(
            "SELECT seq, turn, role, at, content, aside, outcome FROM events WHERE chat = ? AND seq > ? ORDER BY seq",
            (chat, after),
        )
        return [
            Event(
                chat=chat,
                turn=turn,
                role=Role(role),
                content=_CONTENT.validate_json(content),
                at=at,
                seq=seq,
                aside=aside,
                outcome=outcome and Outcome(outcome),
            )
            for seq, turn, role, at, content, aside, outcome in rows
        ]

    def _rows(self, where: str, value: str) -> list[ChatRow]:
        return [ChatRow(*row) for row in self._db.execute(_ROWS + where, (value,))]


def _use_wal(db: sqlite3.Connection) -> None:
    """SQLite does not wait when two processes do this at the same moment, whatever the timeout (measured)."""
    latest = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode = WAL")
            break
        except sqlite3.OperationalError:
            if time.monotonic() > latest:
                raise
            time.sleep(0.01)
    # A commit survives the death of this process without waiting for the disk; only a power cut may lose the last ones,
    # never the file.
    db.execute("PRAGMA synchronous = NORMAL")


def _json(event: Event) -> str:
    return event.content.model_dump_json(by_alias=True, exclude_none=True)


def alive(owner: str | None) -> bool:
    """Whether the process that claimed a chat still runs on this machine."""
    import psutil

    return owner is not None and psutil.pid_exists(int(owner.partition(":")[0]))
