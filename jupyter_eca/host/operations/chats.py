"""Owns the operations on stored chats: read a page, clear, roll back, fork, copy, flag, rename and delete, and
rate an answer.

It must not start turns: `host.turn.turns` does. `host.chat.registry` has the chats in memory, and
`engine.chat.pagination` cuts the pages.
"""

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
from jupyter_eca.host.chat.live_chat import LiveChat, get_stored_choice, now
from jupyter_eca.host.subscribers import Notice
from jupyter_eca.host.turn.open_notebooks import find_notebooks
from jupyter_eca.protocol import chats
from jupyter_eca.protocol.content import (
    MAX_TITLE,
    FlagContent,
    MetadataContent,
    RatingContent,
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
    from jupyter_eca.protocol.content import AnswerRating, TaskDetails
    from jupyter_eca.protocol.event import Event


_EXPIRED: Final = "That place of the chat is gone. Open the chat again."


class CursorExpired(LocalError):
    """The event that a cursor names was deleted."""


class ChatOperations:
    """The operations on the chats of one host.

    In all methods, `id` is the id of a chat, and `content_id` the id of a user's message in it.

    All methods raise UnknownChat. All changes but `rename`, `rate_answer` and `delete` need a chat without a turn under
    way, and raise BusyError otherwise. A change that has begun is finished even if the caller is cancelled.
    """

    def __init__(self, services: Services, chats: Chats, turns: Turns, subagents: Subagents, hooks: Hooks) -> None:
        self._services = services
        self._chats = chats
        self._turns = turns
        self._subagents = subagents
        self._hooks = hooks

    async def read_page(
        self, id: str, limit: int | None, before: int | None, after: int | None, *, since_summary: bool = False
    ) -> Page:
        """Return a page of at most about `limit` events (None: all), see `pagination.make_page`.

        `before` and `after` are cursors: sequence numbers of events that the client has. The page lies between them.
        With `since_summary` it begins at the last summary, or at the beginning if there is none. `after` is ignored
        then. Raises: CursorExpired when the event of a cursor was deleted, or events before `after` were.
        """
        await self._check_known(id)
        if limit and limit > 0 and after is None and not since_summary:
            return await self._read_newest(id, limit, before)
        events = await self._services.store.read_events(id)
        if since_summary:
            after = find_last_summary(events)
        row = await self._chats.read_row(id)
        known = {event.seq for event in events}
        if any(cursor is not None and cursor not in known for cursor in (before, after)):
            raise CursorExpired(_EXPIRED)
        if after is not None and row is not None and not row.is_intact_up_to(after):
            raise CursorExpired("The chat was rolled back since then. Open it again.")
        return make_page(merge_between_cursors(events, before, after), limit, before, after)

    async def _check_known(self, id: str) -> None:
        """Raise UnknownChat if a chat does not exist. The chat is loaded into memory only if it may need more than this
        check: it may be in memory already, a turn in it may have been cut off by a crash (it has an owner then), or it
        may be a subagent's. All other chats are left in the store, because they may be long."""
        store = self._services.store
        row = await store.do(lambda tables: tables.read_chat(id))
        is_only_stored = row is not None and row.workspace == store.workspace and self._chats.get_live(id) is None
        if not (row and is_only_stored and row.owner is None and row.parent is None):
            await self._chats.load(id, must_exist=True)

    async def _read_newest(self, id: str, limit: int, before: int | None) -> Page:
        """Return the newest page, or the one before a cursor, and read no more events from the store than needed.

        Stored pieces of a text are shown as one event, so more pieces may be needed than `limit`.
        """
        count = limit
        while True:
            window = await self._services.store.do(partial(_read_window, id, count, before))
            merged = merge_pieces(window.events)
            if window.earlier_count == 0 or len(merged) >= limit:
                break
            count *= 2
        page = make_page(merged, limit)
        first, last = (page.events[0].seq, page.events[-1].seq) if page.events else (None, None)
        return replace(
            page,
            total=window.total_count,
            before=page.before or (first if window.earlier_count else None),
            after=None if before is None else last,
            summary=window.summary,
        )

    async def read_earlier_state(self, id: str, before: int) -> tuple[UsageContent | None, TaskDetails | None]:
        """Return the last usage and the last list of tasks before the event with the sequence number `before`. A client
        shows them although it has only the newest page of a chat."""

        def read(tables: Tables) -> tuple[UsageContent | None, TaskDetails | None]:
            """Read both in one visit to the thread of the store."""
            return tables.read_last_usage(id, before), tables.read_last_tasks(id, before)

        return await self._services.store.do(read)

    async def list_flags(self, id: str) -> list[Event]:
        """Return the events that are flags of a chat."""
        return await self._services.store.do(lambda tables: tables.list_flags(id))

    async def clear(self, id: str, *, messages: bool = True) -> None:
        """Delete the events of a chat. Without `messages`, only its usage events are deleted."""
        await run_to_end(self._clear(id, messages=messages))

    async def delete(self, id: str) -> None:
        """Delete a chat with its subagents. A turn under way is stopped first. Raises: BusyError when another process
        answers in the chat."""
        await run_to_end(self._delete(id))

    async def mark_deleted(self, id: str) -> bool:
        """Do what `delete` does, but keep all that is stored, so that the chat can come back. Return False when the
        chat cannot come back, because nothing of it was stored. Raises: BusyError."""
        return await run_to_end(self._delete(id, keep=True))

    async def erase(self, id: str) -> None:
        """Delete all that is stored of a chat that is marked as deleted, so that it cannot come back."""
        await run_to_end(self._erase(id))

    async def rollback(self, id: str, content_id: str, *, messages: bool, files: bool) -> None:
        """Go back to the time before the turn of a user's message: restore the `files` that tools have changed since,
        delete the `messages` since, or both."""
        await run_to_end(self._rollback(id, content_id, messages=messages, files=files))

    async def fork(self, id: str, content_id: str, new_id: str) -> None:
        """Copy a chat up to the end of the turn of a user's message to the new chat `new_id`. The old chat shows a
        remark about it."""
        await run_to_end(self._fork(id, content_id, new_id))

    async def copy(self, id: str, turn: str, new_id: str) -> None:
        """Copy a chat up to the end of a turn to the new chat `new_id`, with the same title and without a remark.
        Raises: LocalError when there is no such turn."""
        await run_to_end(self._copy(id, turn, new_id))

    async def delete_other_turns(self, id: str, turns: Collection[str]) -> None:
        """Delete all turns of a chat but these. Files stay as they are."""
        await run_to_end(self._delete_other_turns(id, turns))

    async def flag(self, id: str, content_id: str, text: str) -> None:
        """Set a flag on a user's message."""
        async with self._hold_idle(id) as (chat, events):
            self._find_turn(events, content_id)
            self._chats.add_fact(chat, FlagContent(text=text, content_id=content_id))

    async def unflag(self, id: str, content_id: str) -> None:
        """Remove the flags of a user's message."""
        await run_to_end(self._unflag(id, content_id))

    async def rate_answer(self, id: str, content_id: str, rating: AnswerRating | None) -> None:
        """Rate the answer after a user's message; None removes the rating. A turn may be under way."""
        chat = await self._chats.load(id, must_exist=True)
        self._find_turn(await self._chats.read_events(id), content_id)
        self._chats.add_fact(chat, RatingContent(content_id=content_id, rating=rating))
        await self._services.store.settle()

    async def rename(self, id: str, title: str) -> None:
        """Give a chat another title. Raises: LocalError for a title that is too long."""
        if len(title) > MAX_TITLE:
            raise LocalError(f"The title is longer than {MAX_TITLE} characters.")
        chat = await self._chats.load(id, must_exist=True)
        self._chats.add_fact(chat, MetadataContent(title=title))
        await self._services.store.settle()

    # -- the work of the operations, which the public methods explain

    async def _clear(self, id: str, *, messages: bool) -> None:
        """Delete the events of a chat: all of them with `messages`, else only those about the usage of the context
        window."""
        async with self._hold_idle(id) as (chat, events):
            if messages:
                # The event of the title is deleted too: alone, it would look like a turn that never ended. The title
                # itself stays in the row of the chat.
                deleted = events
                await self._services.checkpoints.forget(id, {event.turn for event in events})
            else:
                deleted = [event for event in events if isinstance(event.content, UsageContent)]
            await self._cut_events(chat, [event.seq for event in deleted])

    async def _delete(self, id: str, *, keep: bool = False) -> bool:
        """Delete a chat, or only mark it as deleted (`keep`). Return whether it was marked."""
        live, row = self._chats.get_live(id), await self._chats.read_row(id)
        if row is not None and self._chats.is_answered_elsewhere(row):
            raise BusyError("This chat is being answered by another program. Wait for it, then delete it.")
        if live is None and row is not None and row.workspace != self._services.store.workspace:
            return False  # a chat of another workspace is not deleted from here
        if live is not None:
            live.is_held = True
            self._turns.stop(id)
            await asyncio.gather(*live.tasks.values(), return_exceptions=True)
        is_kept = keep and row is not None
        if is_kept:
            self._chats.forget(id)
            # If the chat is brought back, it must have the events of the stopped turn, too. This raises NotSaved if
            # they cannot be stored.
            await self._services.store.confirm()
            at = now()
            await self._services.store.do(lambda tables: tables.mark_deleted(id, at))
        else:
            await self._erase(id, live)
        self._services.subscribers.tell(Notice("chat/deleted", chats.ChatDeletedParams(chat_id=id), id))
        return is_kept

    async def _erase(self, id: str, live: LiveChat | None = None) -> None:
        """Delete all that is kept of a chat. `live` is the chat in memory, whose turn was stopped."""
        row = await self._services.store.do(lambda tables: tables.read_chat(id, with_deleted=True))
        if live is None and row is not None:
            # The hooks that run at the end of a chat get its fields, so an empty chat is made for them.
            live = LiveChat(ChatState(id), row.last, get_stored_choice(row))
        subagents = await self._subagents.list_chats(id)
        self._chats.forget(id)
        await self._services.store.settle()
        # Events that wait for a commit would make the chats again.
        for deleted in (id, *(row.id for row in subagents)):
            self._services.store.discard(deleted)
        await self._services.store.do(lambda tables: tables.delete_chat(id))
        self._subagents.forget(subagents)
        await self._services.outputs.forget([id, *(row.id for row in subagents)])
        if live is not None:
            self._hooks.forget(live)

    async def _rollback(self, id: str, content_id: str, *, messages: bool, files: bool) -> None:
        """Remove the turn of the event `content_id` and all later turns. With `messages`, their events are deleted.
        With `files`, the changes that they made are undone."""
        async with self._hold_idle(id) as (chat, events):
            later_events = events[self._find_turn(events, content_id) :]
            turns = {event.turn for event in later_events if event.turn}
            # The texts about the rollback for the user and for the model; "" for none.
            report = aside = ""
            if files:
                notebooks = find_notebooks(self._services, id)
                restored = await self._services.checkpoints.restore(
                    id, turns, self._services.workspace.files, notebooks
                )
                other_tools = self._list_unrestored_tools(later_events)
                report = describe_restored(restored.done, restored.skipped, other_tools, restored.removed)
                aside = describe_reverted(restored.done) if restored.done and not messages else ""
            if messages:
                # The user wants to keep the files as they are now.
                await self._services.checkpoints.forget(id, turns)
                # Notes to the model about changes of these turns are deleted with them.
                notes = [event.seq for event in later_events if isinstance(event.aside, NoteAside)]
                chat = await self._cut_events(chat, _list_seqs(events, turns) + notes)
            if aside:
                self._turns.note(id, report, aside)
            elif report:
                self._chats.add_fact(chat, TextContent(text=report))

    async def _delete_other_turns(self, id: str, turns: Collection[str]) -> None:
        """Do the work of `delete_other_turns`."""
        async with self._hold_idle(id) as (chat, events):
            deleted_turns = {event.turn for event in events if event.turn} - set(turns)
            await self._services.checkpoints.forget(id, deleted_turns)
            await self._cut_events(chat, _list_seqs(events, deleted_turns))

    def _list_unrestored_tools(self, events: Iterable[Event]) -> list[str]:
        """Return the names of the tools that were run in these events and whose changes have no checkpoints, such as
        shell commands."""
        names = dict.fromkeys(e.content.name for e in events if isinstance(e.content, ToolCallRunningContent))
        tools = ((name, self._services.toolbox.get(name)) for name in names)
        return [name for name, tool in tools if tool is None or not (tool.only_reads or tool.makes_checkpoints)]

    async def _fork(self, id: str, content_id: str, new_id: str) -> None:
        """Do the work of `fork`."""
        async with self._hold_idle(id) as (chat, events):
            row = await self._chats.read_row(id)
            title = f"{(row and row.title) or 'Chat'} (fork)"
            await self._branch(id, events, events[self._find_turn(events, content_id)].turn, new_id, title)
            self._chats.add_fact(chat, TextContent(text=describe_fork(title)))

    async def _copy(self, id: str, turn: str, new_id: str) -> None:
        """Do the work of `copy`."""
        async with self._hold_idle(id) as (_, events):
            row = await self._chats.read_row(id)
            await self._branch(id, events, turn, new_id, (row and row.title) or "Chat")

    async def _branch(self, id: str, events: Sequence[Event], turn: str, new_id: str, title: str) -> None:
        """Copy a chat up to the end of a turn to the new chat `new_id`. Raises: LocalError when there is no such
        turn."""
        last = max((event.seq for event in events if event.turn == turn), default=None)
        if last is None:
            raise LocalError(f"There is no turn {turn!r} in this chat.")
        at = now()
        await self._services.store.do(lambda tables: tables.copy_chat(id, last, new_id, title, at))
        await self._services.outputs.copy(id, new_id)
        self._services.subscribers.reload_chat(new_id)

    async def _unflag(self, id: str, content_id: str) -> None:
        """Do the work of `unflag`."""
        async with self._hold_idle(id) as (chat, events):
            await self._cut_events(chat, _list_flags(events, {content_id}))

    @asynccontextmanager
    async def _hold_idle(self, id: str) -> AsyncGenerator[tuple[LiveChat, list[Event]]]:
        """Yield a chat and all its events. No turn can begin in it within this context.

        Raises: UnknownChat; BusyError when a turn is under way.
        """
        chat = await self._chats.load(id, must_exist=True)
        with chat.hold():
            await self._services.store.confirm()
            yield chat, await self._services.store.read_events(id)

    def _find_turn(self, events: Sequence[Event], content_id: str) -> int:
        """Return the index of the event with which the turn of a user's message begins. Raises: LocalError."""
        if (index := find_turn_of_message(events, content_id)) is None:
            raise LocalError(f"There is no message {content_id!r} in this chat.")
        return index

    async def _cut_subagents(self, id: str, seqs: Collection[int]) -> None:
        """Delete the chats of subagents that calls among the events to delete have spawned. `seqs` are the numbers of
        these events."""
        if rows := await self._subagents.list_chats(id):
            spawned = _list_spawned_chats(
                event for event in await self._services.store.read_events(id) if event.seq in set(seqs)
            )
            rows = [row for row in rows if row.id in spawned]
            for row in rows:
                await self._services.store.do(lambda tables, row=row: tables.delete_chat(row.id))
            self._subagents.forget(rows)

    async def _cut_events(self, chat: LiveChat, seqs: Collection[int]) -> LiveChat:
        """Delete events of a chat, and show the chat again to all clients. Return the chat as it was loaded again."""
        id = chat.state.id
        if not seqs:
            return chat
        await self._cut_subagents(id, seqs)
        await self._services.store.do(lambda tables: tables.delete_events(id, seqs))
        self._chats.forget(id)
        reloaded = await self._chats.load(id)
        reloaded.state = replace(
            reloaded.state, approved_scopes=chat.state.approved_scopes, call_ids=chat.state.call_ids
        )
        self._services.subscribers.reload_chat(id)
        return reloaded


def _list_spawned_chats(events: Iterable[Event]) -> set[str]:
    """Return the ids of the chats of the subagents that calls among these events spawned."""
    details = (event.content.details for event in events if isinstance(event.content, ToolCallContent))
    return {
        detail.subagent_chat_id for detail in details if isinstance(detail, SubagentDetails) and detail.subagent_chat_id
    }


@dataclass(frozen=True, slots=True)
class EventWindow:
    """The newest events of a chat, or those before a cursor."""

    events: list[Event]
    """The events."""
    earlier_count: int
    """How many events come before them."""
    total_count: int
    """How many events the chat has."""
    summary: int | None
    """The sequence number of the chat's last summary, None for none."""


def _read_window(id: str, count: int, before: int | None, tables: Tables) -> EventWindow:
    """Read at least `count` events, if the chat has so many: the newest, or those before the event with the number
    `before`. Raises: CursorExpired when there is no such event any more."""
    if before is not None and not tables.has_event(id, before):
        raise CursorExpired(_EXPIRED)
    events, earlier = tables.read_newest(id, count, before)
    return EventWindow(events, earlier, tables.count_events(id), tables.find_last_summary(id))


def merge_between_cursors(events: Sequence[Event], *cursors: int | None) -> list[Event]:
    """Merge the pieces of texts, but never a piece before a cursor with one after it."""
    bounds = [0, *sorted(cursor for cursor in cursors if cursor is not None), sys.maxsize]
    return [
        event
        for last, end in pairwise(bounds)
        for event in merge_pieces(event for event in events if last < event.seq <= end)
    ]


def _list_seqs(events: Iterable[Event], turns: set[str]) -> list[int]:
    """Return the sequence numbers of all events of these turns, of the flags on their messages, and of the ratings of
    their answers."""
    events_of_turns = [event for event in events if event.turn in turns]
    ids = {id for event in events_of_turns if (id := getattr(event.content, "content_id", None))}
    ratings = [e.seq for e in events if isinstance(e.content, RatingContent) and e.content.content_id in ids]
    return [event.seq for event in events_of_turns] + _list_flags(events, ids) + ratings


def _list_flags(events: Iterable[Event], content_ids: set[str]) -> list[int]:
    """Return the sequence numbers of the flags on these messages."""
    return [e.seq for e in events if isinstance(e.content, FlagContent) and e.content.content_id in content_ids]
