"""What can be done to a chat beside talking in it: page through it, cut it back, fork it, mark it, delete it."""

from __future__ import annotations

import asyncio
import sys
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.chat.pagination import Page, find_last_summary, find_turn_of_message, make_page
from jupyter_eca.engine.model.texts import describe_fork, describe_restored, describe_reverted
from jupyter_eca.engine.state import ChatState
from jupyter_eca.errors import BusyError, LocalError
from jupyter_eca.host.chat.live_chat import LiveChat, choice_of, now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.turn.open_notebooks import find_notebooks
from jupyter_eca.protocol import chats
from jupyter_eca.protocol.content import (
    FlagContent,
    MetadataContent,
    SubagentDetails,
    TextContent,
    ToolCallContent,
    ToolCallRunningContent,
    UsageContent,
)
from jupyter_eca.protocol.event import NoteAside, merge_pieces
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Collection, Iterable, Sequence

    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.runner import Hooks
    from jupyter_eca.host.services import Services
    from jupyter_eca.host.store.tables import Tables
    from jupyter_eca.host.turn.subagents import Subagents
    from jupyter_eca.host.turn.turns import Turns
    from jupyter_eca.protocol.event import Event


_GONE: Final = "That place of the chat is gone. Open the chat anew."


class CursorExpired(LocalError):
    """What the cursor pointed at is gone."""


class ChatOperations:
    """Every change is for idle chats, and is made to its end. Raises, each: UnknownChat, BusyError."""

    def __init__(self, services: Services, chats: Chats, turns: Turns, subagents: Subagents, hooks: Hooks) -> None:
        self._services = services
        self._chats = chats
        self._turns = turns
        self._subagents = subagents
        self._hooks = hooks

    async def page(
        self, id: str, limit: int | None, before: int | None, after: int | None, *, since_summary: bool = False
    ) -> Page:
        """`since_summary` stands in for `after`: from the last summary on, or from the beginning when there is none.

        Raises: CursorExpired, besides.
        """
        await self._check_known(id)
        if limit and limit > 0 and after is None and not since_summary:
            return await self._newest(id, limit, before)
        events = await self._services.store.events(id)
        if since_summary:
            after = find_last_summary(events)
        row = await self._chats.read_row(id)
        known = {event.seq for event in events}
        if any(cursor is not None and cursor not in known for cursor in (before, after)):
            raise CursorExpired(_GONE)
        if after is not None and row is not None and not row.intact(after):
            raise CursorExpired("The chat was cut back since. Open it anew.")
        return make_page(merge_between(events, before, after), limit, before, after)

    async def _check_known(self, id: str) -> None:
        """A chat that nobody answers in is not brought to memory in order to be read: it may be long."""
        store = self._services.store
        row = await store.do(lambda tables: tables.read_chat(id))
        here = row is not None and row.workspace == store.workspace and self._chats.live(id) is None
        if not (row and here and row.owner is None and row.parent is None):
            await self._chats.load(id, must_exist=True)

    async def _newest(self, id: str, limit: int, before: int | None) -> Page:
        """Return a page as `pagination.page` does, and read no more of the chat than it needs. What is stored in pieces
        may be shown as one, so that more pieces may be needed than were asked for."""
        wanted = limit
        while True:
            window = await self._services.store.do(partial(_window, id, wanted, before))
            shown = merge_pieces(window.events)
            if window.earlier == 0 or len(shown) >= limit:
                break
            wanted *= 2
        cut = make_page(shown, limit)
        first, last = (cut.events[0].seq, cut.events[-1].seq) if cut.events else (None, None)
        return replace(
            cut,
            total=window.total,
            before=cut.before or (first if window.earlier else None),
            after=None if before is None else last,
            summary=window.summary,
        )

    async def flags(self, id: str) -> list[Event]:
        return await self._services.store.do(lambda tables: tables.list_flags(id))

    async def clear(self, id: str, *, messages: bool = True) -> None:
        """Without `messages`, only what was used is forgotten."""
        await run_to_end(self._clear(id, messages=messages))

    async def delete(self, id: str) -> None:
        """A chat that is answering is stopped first. Raises: BusyError when another process answers in it."""
        await run_to_end(self._delete(id))

    async def rollback(self, id: str, content_id: str, *, messages: bool, files: bool) -> None:
        """To before the turn of a user's message: the chat, the files that tools changed since, or both."""
        await run_to_end(self._rollback(id, content_id, messages=messages, files=files))

    async def fork(self, id: str, content_id: str, new: str) -> None:
        """A new chat that goes on from the end of the turn of a user's message."""
        await run_to_end(self._fork(id, content_id, new))

    async def copy(self, id: str, turn: str, new: str) -> None:
        """As `fork`, by the id of the turn; the title is kept and nothing is said of it. Raises: LocalError, besides,
        when there is no such turn."""
        await run_to_end(self._copy(id, turn, new))

    async def keep(self, id: str, turns: Collection[str]) -> None:
        """All other turns go. Files stay as they are."""
        await run_to_end(self._keep(id, turns))

    async def flag(self, id: str, content_id: str, text: str) -> None:
        async with self._idle(id) as (chat, events):
            self._place(events, content_id)
            self._chats.mark(chat, FlagContent(text=text, content_id=content_id))

    async def unflag(self, id: str, content_id: str) -> None:
        await run_to_end(self._unflag(id, content_id))

    async def rename(self, id: str, title: str) -> None:
        chat = await self._chats.load(id, must_exist=True)
        self._chats.mark(chat, MetadataContent(title=title))
        await self._services.store.settle()

    # -- how

    async def _clear(self, id: str, *, messages: bool) -> None:
        async with self._idle(id) as (chat, events):
            if messages:
                # The title stays in the chat's row: left as an event, it would be a turn that never ended.
                gone = events
                await self._services.checkpoints.forget(id, {event.turn for event in events})
            else:
                gone = [event for event in events if isinstance(event.content, UsageContent)]
            await self._cut_events(chat, [event.seq for event in gone])

    async def _delete(self, id: str) -> None:
        live, row = self._chats.live(id), await self._chats.read_row(id)
        if row is not None and self._chats.is_answered_elsewhere(row):
            raise BusyError("This chat is being answered by another program. Wait for it, then delete it.")
        if live is None and row is not None and row.workspace != self._services.store.workspace:
            return
        if live is not None:
            live.held = True
            self._turns.stop(id)
            await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        elif row is not None:
            live = LiveChat(ChatState(id), row.last, choice_of(row))
        subagents = await self._subagents.list_chats(id)
        self._chats.forget(id)
        await self._services.store.settle()
        for gone in (id, *(row.id for row in subagents)):
            self._services.store.discard(gone)
        await self._services.store.do(lambda tables: tables.delete_chat(id))
        self._subagents.forget(subagents)
        await self._services.outputs.forget([id, *(row.id for row in subagents)])
        if live is not None:
            self._hooks.forget(live)
        self._services.subscribers.tell(Notice("chat/deleted", chats.ChatDeletedParams(chat_id=id), id))

    async def _rollback(self, id: str, content_id: str, *, messages: bool, files: bool) -> None:
        async with self._idle(id) as (chat, events):
            gone = events[self._place(events, content_id) :]
            turns = {event.turn for event in gone if event.turn}
            report = aside = ""
            if files:
                notebooks = find_notebooks(self._services, id)
                restored = await self._services.checkpoints.restore(
                    id, turns, self._services.workspace.files, notebooks
                )
                report = describe_restored(restored.done, restored.left, self._list_not_taken_back(gone))
                aside = describe_reverted(restored.done) if restored.done and not messages else ""
            if messages:
                # What the files are like now is what the user wanted to keep.
                await self._services.checkpoints.forget(id, turns)
                # What the model was told of changes goes with them.
                about = [event.seq for event in gone if isinstance(event.aside, NoteAside)]
                chat = await self._cut_events(chat, _seqs(events, turns) + about)
            if aside:
                self._turns.note(id, report, aside)
            elif report:
                self._chats.mark(chat, TextContent(text=report))

    async def _keep(self, id: str, turns: Collection[str]) -> None:
        async with self._idle(id) as (chat, events):
            gone = {event.turn for event in events if event.turn} - set(turns)
            await self._services.checkpoints.forget(id, gone)
            await self._cut_events(chat, _seqs(events, gone))

    def _list_not_taken_back(self, gone: Iterable[Event]) -> list[str]:
        """The tools that ran and may have changed what we know nothing of."""
        ran = dict.fromkeys(e.content.name for e in gone if isinstance(e.content, ToolCallRunningContent))
        found = ((name, self._services.toolbox.get(name)) for name in ran)
        return [name for name, tool in found if tool is None or not (tool.reads or tool.keeps)]

    async def _fork(self, id: str, content_id: str, new: str) -> None:
        async with self._idle(id) as (chat, events):
            row = await self._chats.read_row(id)
            title = f"{(row and row.title) or 'Chat'} (fork)"
            await self._branch(id, events, events[self._place(events, content_id)].turn, new, title)
            self._chats.mark(chat, TextContent(text=describe_fork(title)))

    async def _copy(self, id: str, turn: str, new: str) -> None:
        async with self._idle(id) as (_, events):
            row = await self._chats.read_row(id)
            await self._branch(id, events, turn, new, (row and row.title) or "Chat")

    async def _branch(self, id: str, events: Sequence[Event], turn: str, new: str, title: str) -> None:
        last = max((event.seq for event in events if event.turn == turn), default=None)
        if last is None:
            raise LocalError(f"There is no turn {turn!r} in this chat.")
        at = now()
        await self._services.store.do(lambda tables: tables.copy_chat(id, last, new, title, at))
        await self._services.outputs.copy(id, new)
        self._services.subscribers.show_anew(new)

    async def _unflag(self, id: str, content_id: str) -> None:
        async with self._idle(id) as (chat, events):
            await self._cut_events(chat, _flags(events, {content_id}))

    @asynccontextmanager
    async def _idle(self, id: str) -> AsyncGenerator[tuple[LiveChat, list[Event]]]:
        """The chat and all its events; no turn begins in it meanwhile."""
        chat = await self._chats.load(id, must_exist=True)
        with chat.hold():
            await self._services.store.confirm()
            yield chat, await self._services.store.events(id)

    def _place(self, events: Sequence[Event], content_id: str) -> int:
        if (at := find_turn_of_message(events, content_id)) is None:
            raise LocalError(f"There is no message {content_id!r} in this chat.")
        return at

    async def _cut_subagents(self, id: str, seqs: Collection[int]) -> None:
        """They go with the calls that spawned them."""
        if rows := await self._subagents.list_chats(id):
            gone = _find_spawned(event for event in await self._services.store.events(id) if event.seq in set(seqs))
            rows = [row for row in rows if row.id in gone]
            for row in rows:
                await self._services.store.do(lambda tables, row=row: tables.delete_chat(row.id))
            self._subagents.forget(rows)

    async def _cut_events(self, chat: LiveChat, seqs: Collection[int]) -> LiveChat:
        id = chat.state.id
        if not seqs:
            return chat
        await self._cut_subagents(id, seqs)
        await self._services.store.do(lambda tables: tables.delete_events(id, seqs))
        self._chats.forget(id)
        anew = await self._chats.load(id)
        anew.state = replace(anew.state, remembered=chat.state.remembered)
        self._services.subscribers.show_anew(id)
        return anew


def _find_spawned(events: Iterable[Event]) -> set[str]:
    """The chats of the subagents that calls among these spawned."""
    details = (event.content.details for event in events if isinstance(event.content, ToolCallContent))
    return {one.subagent_chat_id for one in details if isinstance(one, SubagentDetails) and one.subagent_chat_id}


@dataclass(frozen=True, slots=True)
class EventWindow:
    """The end of a chat, or what comes next to a place in it, and what is known of the rest."""

    events: list[Event]
    earlier: int
    total: int
    summary: int | None


def _window(id: str, wanted: int, before: int | None, tables: Tables) -> EventWindow:
    if before is not None and not tables.has_event(id, before):
        raise CursorExpired(_GONE)
    events, earlier = tables.read_newest(id, wanted, before)
    return EventWindow(events, earlier, tables.count_events(id), tables.find_last_summary(id))


def merge_between(events: Sequence[Event], *cursors: int | None) -> list[Event]:
    """Merged, but not over the places that a client knows."""
    ends = [0, *sorted(cursor for cursor in cursors if cursor is not None), sys.maxsize]
    return [
        event
        for last, end in pairwise(ends)
        for event in merge_pieces(event for event in events if last < event.seq <= end)
    ]


def _seqs(events: Iterable[Event], turns: set[str]) -> list[int]:
    """Those of the turns, and the flags at their messages."""
    of_turns = [event for event in events if event.turn in turns]
    ids = {id for event in of_turns if (id := getattr(event.content, "content_id", None))}
    return [event.seq for event in of_turns] + _flags(events, ids)


def _flags(events: Iterable[Event], content_ids: set[str]) -> list[int]:
    return [e.seq for e in events if isinstance(e.content, FlagContent) and e.content.content_id in content_ids]
