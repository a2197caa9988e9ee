"""What can be done to a chat beside talking in it: page through it, cut it back, fork it, mark it, delete it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.audience import Notice
from jupyter_eca.engine.page import Page, from_message, page
from jupyter_eca.engine.prompt import forked, restored_text
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, LocalError
from jupyter_eca.protocol import chats
from jupyter_eca.protocol.content import FlagContent, MetadataContent, TextContent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from jupyter_eca.host import Host
    from jupyter_eca.live import LiveChat
    from jupyter_eca.protocol.event import Event


# How long the end of what a chat runs is waited for, so that whoever watches sees it; what ends later says no more.
END_SECONDS = 2.0


class CursorExpired(LocalError):
    """What the cursor pointed at is gone."""


class Archive:
    """Every change is for idle chats. Raises, each: UnknownChat, BusyError."""

    def __init__(self, host: Host) -> None:
        self._host = host

    async def page(self, id: str, limit: int | None, before: int | None, after: int | None) -> Page:
        """Raises: CursorExpired, besides."""
        await self._host.load(id, must_exist=True)
        events = await self._host.store.events(id)
        row = await self._host.chat(id)
        known = {event.seq for event in events}
        if any(cursor is not None and cursor not in known for cursor in (before, after)):
            raise CursorExpired("That place of the chat is gone. Open the chat anew.")
        if after is not None and row is not None and not row.intact(after):
            raise CursorExpired("The chat was cut back since. Open it anew.")
        return page(events, limit, before, after)

    async def clear(self, id: str) -> None:
        chat, events = await self._idle(id)
        await self._cut(chat, [event.seq for event in events if not isinstance(event.content, MetadataContent)])

    async def delete(self, id: str) -> None:
        """A chat that is answering is stopped first."""
        if live := self._host.live(id):
            self._host.stop(id)
            ending = tuple(live.tasks.values())
            for task in ending:
                task.cancel()
            if ending:
                await asyncio.wait(ending, timeout=END_SECONDS)
        self._host.forget(id)
        await self._host.store.do(lambda tables: tables.delete(id))
        self._host.audiences.tell(Notice("chat/deleted", chats.ChatDeletedParams(chat_id=id), id))

    async def rollback(self, id: str, content_id: str, *, messages: bool, files: bool) -> None:
        """To before the turn of a user's message: the chat, the files that tools changed since, or both."""
        chat, events = await self._idle(id)
        gone = events[self._place(events, content_id) :]
        turns = {event.turn for event in gone if event.turn}
        report = ""
        if files:
            restored = await self._host.checkpoints.restore(id, turns, self._host.workspace.files)
            report = restored_text(restored.done, restored.left)
        if messages:
            chat = await self._cut(chat, _seqs(events, turns))
        if report:
            self._host.mark(chat, TextContent(text=report))

    async def fork(self, id: str, content_id: str, new: str) -> None:
        """A new chat that goes on from the end of the turn of a user's message."""
        chat, events = await self._idle(id)
        turn = events[self._place(events, content_id)].turn
        last = max(event.seq for event in events if event.turn == turn)
        row = await self._host.chat(id)
        title = f"{(row and row.title) or 'Chat'} (fork)"
        await self._host.store.do(lambda tables: tables.copy(id, last, new, title))
        self._host.audiences.show_anew(new)
        self._host.mark(chat, TextContent(text=forked(title)))

    async def flag(self, id: str, content_id: str, text: str) -> None:
        chat, events = await self._idle(id)
        self._place(events, content_id)
        self._host.mark(chat, FlagContent(text=text, content_id=content_id))

    async def unflag(self, id: str, content_id: str) -> None:
        chat, events = await self._idle(id)
        await self._cut(chat, _flags(events, {content_id}))

    async def rename(self, id: str, title: str) -> None:
        chat = await self._host.load(id, must_exist=True)
        self._host.mark(chat, MetadataContent(title=title))

    # -- how

    async def _idle(self, id: str) -> tuple[LiveChat, list[Event]]:
        chat = await self._host.load(id, must_exist=True)
        if chat.state.status is not TurnStatus.IDLE:
            raise BusyError("This chat is still answering. Wait for it, or stop it first.")
        return chat, await self._host.store.events(id)

    def _place(self, events: Sequence[Event], content_id: str) -> int:
        if (at := from_message(events, content_id)) is None:
            raise LocalError(f"There is no message {content_id!r} in this chat.")
        return at

    async def _cut(self, chat: LiveChat, seqs: Iterable[int]) -> LiveChat:
        id, gone = chat.state.id, tuple(seqs)
        await self._host.store.do(lambda tables: tables.cut(id, gone))
        self._host.forget(id)
        anew = await self._host.load(id)
        anew.state = replace(anew.state, remembered=chat.state.remembered)
        anew.kernel = chat.kernel
        self._host.audiences.show_anew(id)
        return anew


def _seqs(events: Iterable[Event], turns: set[str]) -> list[int]:
    """Those of the turns, and the flags at their messages."""
    of_turns = [event for event in events if event.turn in turns]
    ids = {id for event in of_turns if (id := getattr(event.content, "content_id", None))}
    return [event.seq for event in of_turns] + _flags(events, ids)


def _flags(events: Iterable[Event], content_ids: set[str]) -> list[int]:
    return [e.seq for e in events if isinstance(e.content, FlagContent) and e.content.content_id in content_ids]
