"""Owns what the front writes to disk: the notes of sessions, and the numbers that must never be used twice.

It must not know sessions; `NotedSession` is all it needs of one. `session/notes.py` makes the notes.
"""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.ahp.session import notes
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_eca.fronts.ahp.ports import NotedSession
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.host.store import Store

# Numbers that are reserved at a time: a server that crashed continues after them.
RESERVED: Final = 65_536
_COUNTER: Final = "ahp.serverSeq"


class NoteStore:
    """The notes of all sessions, and the reserved numbers."""

    def __init__(self, store: Store) -> None:
        self.notes: dict[str, Json] = {}
        self._store = store
        self._changed: dict[str, NotedSession | None] = {}
        self._wake = asyncio.Event()
        self._reserved = 0

    async def open(self) -> int:
        """Read the notes. Return the number after which no action was ever numbered."""
        start = await self._store.do(lambda tables: tables.reserve_numbers(_COUNTER, 0, RESERVED))
        self._reserved = start + RESERVED
        rows = await self._store.do(lambda tables: tables.read_notes())
        self.notes = {chat: notes.read(text) for chat, text in rows.items()}
        return start

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            await self.save()

    def keep(self, session: NotedSession) -> None:
        """Write the notes of a session, soon, from its state at that time."""
        self._changed[session.chat] = session
        self._wake.set()

    def note(self, chat: str, note: Json) -> None:
        self.notes[chat] = note
        self._changed[chat] = None
        self._wake.set()

    def settle(self, session: NotedSession) -> None:
        """Take the notes of a session now if they wait to be written: the session is about to be dropped."""
        if session.chat in self._changed:
            self.note(session.chat, notes.make_note(session.state, session.messages, session.starting))

    def forget(self, chat: str) -> None:
        """Drop the notes of a chat that was deleted. The store deletes its row with the chat."""
        self.notes.pop(chat, None)
        self._changed.pop(chat, None)

    async def save(self) -> None:
        changed, self._changed = self._changed, {}
        for chat, session in changed.items():
            if session is not None:
                self.notes[chat] = notes.make_note(session.state, session.messages, session.starting)
        texts = {chat: json.dumps(self.notes[chat], ensure_ascii=False) for chat in changed}
        if texts:
            # They are no longer in the list of changes: a cancellation here would lose them.
            await run_to_end(
                self._store.do(lambda tables: [tables.save_note(chat, text) for chat, text in texts.items()])
            )

    @property
    def mark(self) -> int:
        """The number at which more numbers must be reserved."""
        return self._reserved - RESERVED // 2

    def widen(self) -> Coroutine[None, None, int]:
        """Reserve more numbers. The mark moves at once; await the result to have it on disk."""
        least, self._reserved = self._reserved, self._reserved + RESERVED
        return self._store.do(lambda tables: tables.reserve_numbers(_COUNTER, least, RESERVED))
