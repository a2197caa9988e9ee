"""Owns what the front for the Agent Host Protocol writes to disk: a note for each session, and reserved numbers.

The note of a session has what the events of its chat do not contain, such as queued messages (`session/notes.py` makes
it). The numbers are those of actions. The protocol forbids that a number is used twice, even after the server was
restarted. So numbers are reserved on disk before they are used. This module must not know the sessions, which it sees
only as `NotedSession`.
"""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import NotSaved
from jupyter_eca.fronts.ahp.session import notes
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from jupyter_eca.fronts.ahp.ports import NotedSession
    from jupyter_eca.fronts.ahp.reducers.base import Json
    from jupyter_eca.host.store import Store

# How many numbers are reserved together. The reservation is on disk before the numbers are used. So a server that
# starts again after a crash continues with numbers that were never used.
RESERVED_COUNT: Final = 65_536
# The name of the counter in the store.
_COUNTER: Final = "ahp.serverSeq"
# Seconds until a note is written again that could not be written.
_RETRY_SECONDS: Final = 2.0

_log = logging.getLogger(__name__)


class NoteStore:
    """The notes of all sessions, by the ids of their chats, and the reserved numbers."""

    def __init__(self, store: Store) -> None:
        self.notes: dict[str, Json] = {}
        """The last note of each session."""
        self._store = store
        # The chats whose notes must be written. If the value is a session, the note is first made from its state. If it
        # is None, the note is already in `notes`.
        self._changed: dict[str, NotedSession | None] = {}
        self._wake = asyncio.Event()  # set when notes must be written
        self._reserved_up_to = 0  # the last number that is reserved

    async def open(self) -> int:
        """Read the notes, and reserve numbers. Return a number that no action so far has exceeded."""
        start = await self._store.do(lambda tables: tables.reserve_numbers(_COUNTER, 0, RESERVED_COUNT))
        self._reserved_up_to = start + RESERVED_COUNT
        rows = await self._store.do(lambda tables: tables.read_notes())
        self.notes = {chat: notes.parse_note(text) for chat, text in rows.items()}
        return start

    async def run(self) -> None:
        """Write notes whenever some have changed, until this task is cancelled. While the database cannot be used, the
        notes wait; the store then warns the users."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self.save()
            except NotSaved as error:
                _log.warning("notes of sessions are written later: %s", error)
                await asyncio.sleep(_RETRY_SECONDS)
                self._wake.set()

    def schedule(self, session: NotedSession) -> None:
        """Write the note of a session soon. The note is made when it is written."""
        self._changed[session.chat] = session
        self._wake.set()

    def set_note(self, chat: str, note: Json) -> None:
        """Replace the note of a chat, and write it soon."""
        self.notes[chat] = note
        self._changed[chat] = None
        self._wake.set()

    def make_pending_note(self, session: NotedSession) -> None:
        """Make the note of a session now if it waits to be written. Called before the session is dropped from
        memory."""
        if session.chat in self._changed:
            self.set_note(session.chat, notes.make_note(session.state, session.messages, session.starting))

    def forget(self, chat: str) -> None:
        """Drop the note of a chat that was deleted. The store deletes its row together with the chat."""
        self.notes.pop(chat, None)
        self._changed.pop(chat, None)

    async def save(self) -> None:
        """Write all notes that have changed. Raises: NotSaved; then they still count as changed."""
        changed, self._changed = self._changed, {}
        for chat, session in changed.items():
            if session is not None:
                self.notes[chat] = notes.make_note(session.state, session.messages, session.starting)
        texts = {chat: json.dumps(self.notes[chat], ensure_ascii=False) for chat in changed}
        if texts:
            # These notes are no longer in `_changed`, so a cancellation in the middle of the write would lose them.
            try:
                await run_to_end(
                    self._store.do(lambda tables: [tables.save_note(chat, text) for chat, text in texts.items()])
                )
            except NotSaved:
                # What has changed meanwhile takes the place of these notes.
                self._changed = dict.fromkeys((chat for chat in texts if chat in self.notes), None) | self._changed
                raise

    @property
    def reserve_at(self) -> int:
        """The number at which more numbers must be reserved. Half of the reserved numbers are left then."""
        return self._reserved_up_to - RESERVED_COUNT // 2

    def reserve_more(self) -> Coroutine[None, None, int]:
        """Reserve more numbers. `reserve_at` changes immediately. The reservation is on disk when the returned
        coroutine has run."""
        # The new reservation begins after the last number that is reserved now.
        least, self._reserved_up_to = self._reserved_up_to, self._reserved_up_to + RESERVED_COUNT
        return self._store.do(lambda tables: tables.reserve_numbers(_COUNTER, least, RESERVED_COUNT))
