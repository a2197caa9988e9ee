"""Owns the deletions that can be undone: it marks a chat as deleted, brings it back, or deletes it finally.

The mark is in the store. So the chat is gone for all clients at once, and after a crash too: the next start deletes it
finally. This module must not know how a chat is deleted: its neighbour `chats` does.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import NotSaved, UnknownChat
from jupyter_eca.host.chat.live_chat import now

if TYPE_CHECKING:
    from jupyter_eca.host.operations.chats import ChatOperations
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers

_log = logging.getLogger(__name__)

# The seconds in which a deletion can be undone. The panel shows its notice for ten seconds, but longer while the
# pointer or the focus is on it.
UNDO_SECONDS: Final = 120.0


class Deletions:
    """The chats of one host that are marked as deleted."""

    def __init__(self, store: Store, subscribers: Subscribers, operations: ChatOperations) -> None:
        self._store = store
        self._subscribers = subscribers
        self._operations = operations
        self._marked = asyncio.Event()  # set when a chat is marked
        self._own: set[str] = set()  # the chats that this process has marked
        # Held while a chat comes back or is deleted finally, so that only one of them happens.
        self._deciding = asyncio.Lock()
        self.undo_seconds = UNDO_SECONDS
        """The seconds in which a deletion can be undone."""

    async def delete(self, id: str) -> None:
        """Mark a chat as deleted. A turn under way is stopped first. Raises: BusyError, NotSaved."""
        if await self._operations.mark_deleted(id):
            self._own.add(id)
            self._marked.set()

    async def restore(self, id: str) -> None:
        """Bring back a chat as it was. Raises: UnknownChat when it was deleted finally."""
        async with self._deciding:
            is_back = await self._store.do(lambda tables: tables.unmark_deleted(id))
        self._own.discard(id)
        if not is_back:
            raise UnknownChat("The chat cannot be brought back any more: it was deleted for good.")
        self._subscribers.reload_chat(id)

    async def run(self) -> None:
        """Delete the marked chats finally when their time is over, until this is cancelled."""
        while True:
            self._marked.clear()
            try:
                deleted_at = await self._store.do(lambda tables: tables.list_deleted())
            except NotSaved as error:
                _log.warning("chats are not deleted for good this time: %s", error)
                await asyncio.sleep(self.undo_seconds)
                continue
            latest = now() - round(self.undo_seconds * 1000)
            for id in [id for id, at in deleted_at.items() if at <= latest]:
                await self._erase(id)
            seconds_left = [(at - latest) / 1000 for at in deleted_at.values() if at > latest]
            with suppress(TimeoutError):
                async with asyncio.timeout(min(seconds_left, default=None)):
                    await self._marked.wait()

    async def finish(self) -> None:
        """Delete finally what this process has marked. Called when the host ends, because nobody can undo it then."""
        for id in list(self._own):
            await self._erase(id)

    async def _erase(self, id: str) -> None:
        """Delete a chat finally, unless it has come back."""
        async with self._deciding:
            if id in await self._store.do(lambda tables: tables.list_deleted()):
                await self._operations.erase(id)
            self._own.discard(id)
