"""Owns the chats in memory: it loads them, gives inputs to the engine, and stores and publishes the resulting events.

A server may run for weeks, and its chats may be long. So the idle chats that were not used for longest are put to rest:
they leave memory, and are read from the store again when they are next needed. Nobody notices, because

- `LiveChat.must_stay` and `needs` name the chats that stay: those in which anything goes on;
- `UnstoredFacts` has what is known of a chat and is nowhere in the store, such as the approvals for the session;
- a chat at rest that somebody still holds, such as a turn that is about to begin, stays one and the same object:
  `get_live`, `load` and `feed` find it by a weak reference, and bring it back.

It must not know turns, tools or the host. It passes the effects to `effects`, and calls the functions in its lists of
observers (`on_change` and others). `host.turn.turns` starts and stops turns; `host.operations.chats` cuts, forks and
deletes chats.
"""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.model.task_plan import restore_plan
from jupyter_eca.engine.step import step
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, IllegalSignal, UnknownChat
from jupyter_eca.host.chat.live_chat import LiveChat, get_stored_choice, now
from jupyter_eca.host.chat.unstored_facts import NO_FACTS, UnstoredFacts
from jupyter_eca.host.newest_items import NewestItems
from jupyter_eca.host.store import is_alive
from jupyter_eca.protocol.chats import ChatStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from jupyter_eca.host.chat.ports import EffectSink
    from jupyter_eca.host.store import ChatRow, Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.protocol.content import FlagContent, MetadataContent, RatingContent, TextContent
    from jupyter_eca.protocol.event import Event, Person

MAX_IDLE: Final = 30
"""The most idle chats that stay in memory. Nobody goes back and forth between more, and one with many pictures may have
10 MB."""


class Chats:
    """All chats of one host. `feed` is synchronous, so that the steps of a chat never interleave."""

    effects: EffectSink
    """Runs the effects of the engine. The host sets it before the first input."""

    def __init__(self, store: Store, subscribers: Subscribers) -> None:
        self._store = store
        self._subscribers = subscribers
        # The chats in memory by their ids. The one that was used last is the last.
        self._chats: dict[str, LiveChat] = {}
        # The chats at rest to which somebody still refers. A chat is never here and in `_chats`.
        self._resting: WeakValueDictionary[str, LiveChat] = WeakValueDictionary()
        # What is known of chats at rest, and is not in the store.
        self._facts = NewestItems[str, UnstoredFacts]()
        # Held while a chat is loaded, so that no chat is loaded twice at the same time.
        self._loading = asyncio.Lock()
        self.on_subagent_events: list[Callable[[LiveChat, Sequence[Event]], None]] = []
        """Called after each step in the chat of a subagent with its events, before its effects begin."""
        self.on_change: list[Callable[[LiveChat], None]] = []
        """Called after each step, when its effects have begun."""
        self.on_forget: list[Callable[[str], None]] = []
        """Called with the id of a chat that is removed from memory, because it was deleted or cut. It is not called for
        a chat that is put to rest."""
        self.needs: list[Callable[[str], bool]] = []
        """Functions that return whether a chat must stay in memory. They are called with its id."""
        self.max_idle = MAX_IDLE
        """The most idle chats that stay in memory, at least 1. Chats that must stay do not count."""

    # -- inputs and events

    def feed(self, chat: LiveChat, input: inputs.Input, *, late: bool = False) -> None:
        """Give the engine an input for a chat. Then store the events that it returns, and run its effects.

        A `late` input may come after the turn or the call that it is about has ended. Then it is ignored.
        Raises: IllegalSignal when an input that is not late does not fit the chat's state.
        """
        id = chat.state.id
        if self._chats.get(id) is not chat and self._wake(id) is not chat:
            # The chat was deleted before one of its tasks has ended. If the events of this input were stored, the chat
            # would exist again.
            return
        try:
            chat.state, events, effects = step(chat.state, input)
        except IllegalSignal:
            if not late:
                raise
            return
        if chat.locking is not None:
            chat.locking.events += (event for event in events if event.turn)
        self._store.append(events)
        for observe in self.on_subagent_events if chat.parent else ():
            observe(chat, events)
        for effect in effects:
            self.effects.run(chat, effect)
        if chat.state.status is TurnStatus.IDLE:
            chat.under_way = None
            if self._chats.get(id) is chat:  # an observer may have removed it
                self._note_use(chat)
        for notify in self.on_change:
            notify(chat)

    def feed_late(self, id: str, input: inputs.Input) -> bool:
        """Give the engine a late input for a chat, see `feed`. It is ignored if the chat is not in memory. Return
        whether it changed the chat's state."""
        live = self.get_live(id)
        before = live and live.state
        if live is not None:
            self.feed(live, input, late=True)
        return live is not None and live.state is not before

    def add_fact(self, chat: LiveChat, content: FlagContent | RatingContent | MetadataContent | TextContent) -> None:
        """Add to a chat a content that belongs to no turn."""
        self.feed(chat, inputs.FactAdded(now(), content))

    def publish(self, events: list[Event]) -> None:
        """Show events to the clients. The store calls this once they are committed."""
        for event in events:
            if live := self._find(event.chat):
                live.last_seq = max(live.last_seq, event.seq)
        self._subscribers.show(events)

    # -- the chats in memory

    def get_live(self, id: str) -> LiveChat | None:
        """Return a chat; None when it is not in memory."""
        live = self._chats.get(id)
        return self._wake(id) if live is None else live

    def list_live(self) -> list[LiveChat]:
        """Return all chats in memory that are not at rest."""
        return list(self._chats.values())

    def get_facts(self, id: str) -> UnstoredFacts:
        """Return what is known of a chat and is not in the store. The chat need not be in memory."""
        live = self._find(id)
        return self._facts.get(id, NO_FACTS) if live is None else UnstoredFacts.from_chat(live)

    def forget(self, id: str) -> LiveChat | None:
        """Remove a chat from memory, and return it; None if it was not in memory. It is loaded again when it is next
        needed."""
        for notify in self.on_forget:
            notify(id)
        live = self._find(id)
        for known in (self._chats, self._resting, self._facts):
            known.pop(id, None)
        return live

    def _find(self, id: str) -> LiveChat | None:
        """Return a chat, and leave it at rest if it is; None when it is not in memory."""
        live = self._chats.get(id)
        return self._resting.get(id) if live is None else live

    def _wake(self, id: str) -> LiveChat | None:
        """Return a chat at rest to which somebody still refers, which is at rest no more; None if there is none."""
        chat = self._resting.get(id)
        if chat is not None:
            self._note_use(chat)
        return chat

    def _note_use(self, chat: LiveChat) -> None:
        """Note that a chat is the one that was used last, and that it is in memory."""
        id = chat.state.id
        self._resting.pop(id, None)
        self._facts.pop(id, None)
        self._chats.pop(id, None)
        self._chats[id] = chat

    def _rest_unused(self) -> None:
        """Put the idle chats to rest that were not used for longest, until at most `max_idle` are left."""
        if len(self._chats) <= self.max_idle:
            return
        unsaved = self._store.list_unsaved_chats()
        # A subagent adds its costs and its progress to its parent, also when it has moved to the background.
        parents = {chat.parent for chat in self._chats.values() if chat.is_busy}
        idle = [
            id
            for id, chat in self._chats.items()
            if not (chat.must_stay or id in unsaved or id in parents or self._subscribers.is_asking(id))
            and not any(needs(id) for needs in self.needs)
        ]
        for id in idle[: max(len(idle) - self.max_idle, 0)]:
            chat = self._chats.pop(id)
            self._resting[id] = chat
            facts = UnstoredFacts.from_chat(chat)
            if facts != NO_FACTS and not chat.parent:  # a subagent that has ended gets no more prompts
                self._facts[id] = facts

    def get_status(self, id: str) -> ChatStatus:
        """Return the status of a chat as clients see it."""
        live = self._chats.get(id)
        if live is None or live.state.status is TurnStatus.IDLE:
            waits = live is not None and live.dialogue is not None and not live.dialogue.is_over
            return ChatStatus.LOGIN if waits else ChatStatus.IDLE
        return ChatStatus.STOPPING if live.state.status is TurnStatus.STOPPING else ChatStatus.RUNNING

    def is_waiting(self, id: str) -> bool:
        """Return whether a chat, or the chat of one of its subagents, waits for the user: a tool call needs approval, a
        question needs an answer, or a dialogue is not over."""
        live = self._chats.get(id)
        if live is None:
            return False
        related = [chat for chat in self._chats.values() if id in {chat.state.id, chat.parent}]
        waits = any(call.status is ToolCallStatus.WAITING for chat in related for call in chat.state.calls)
        return waits or self.get_status(id) is ChatStatus.LOGIN or self._subscribers.is_asking(id)

    def find_asker(self, id: str) -> Person | None:
        """Return who has asked last in a chat that is running; None if that is not known."""
        live = self._chats.get(id)
        prompt = live.last_prompt if live is not None and live.is_busy else None
        return prompt.author if prompt is not None else None

    # -- the stored chats

    async def load(self, id: str, *, must_exist: bool = False) -> LiveChat:
        """Return a chat, and read it from the store if needed. If its last turn was cut off by a crash, the turn is
        closed first.

        A chat that does not exist yet is made, unless it `must_exist`. Raises: UnknownChat when there is no chat that
        must exist; BusyError while another process answers in the chat.
        """
        async with self._loading:
            await self._store.settle()
            live = self._find(id)
            row = await self._store.read_chat(id) if live is None or live.state.status is TurnStatus.IDLE else None
            if live is not None and (row is None or row.last <= live.last_seq):
                # The store has no newer events, which another process would have stored.
                if self._find(id) is live:  # it may have been deleted meanwhile
                    self._note_use(live)
                    self._rest_unused()
                return live
            # A chat of another workspace is only loaded without `must_exist`, as for a prompt.
            foreign = row is not None and row.workspace != self._store.workspace and live is None
            if must_exist and (row is None or foreign):
                raise UnknownChat(f"There is no chat {id!r}. Start a new one.")
            if row and self.is_answered_elsewhere(row):
                raise BusyError("This chat is being answered by another program. Wait for it, or start a new chat.")
            if row is None:
                # The chat may be marked as deleted. A new chat takes its id, so it cannot come back any more.
                await self._store.do(lambda tables: tables.delete_marked(id))
            events = await self._store.read_events(id) if row else []
            if live is not None and live.state.status is not TurnStatus.IDLE:
                return live  # a turn has begun meanwhile: events of its own were stored late, and seemed to be newer
            # If the last turn was cut off, `restored.missing` are the events that close it.
            restored = restore(id, events, now())
            state = restored.state
            if live is not None:
                # The ids of calls must stay unique.
                state = replace(state, call_ids=state.call_ids | live.state.call_ids)
            plan = restore_plan(event.content for event in events)
            parent = (row and row.parent) or ""
            chat = LiveChat(state, row.last if row else 0, get_stored_choice(row), parent, plan=plan)
            chat.is_foreign = row is not None and row.workspace != self._store.workspace
            facts = self._facts.get(id, NO_FACTS) if live is None else UnstoredFacts.from_chat(live)
            facts.add_to(chat)
            if live is not None:
                chat.known_versions = live.known_versions
            self._note_use(chat)
            self._rest_unused()
            if restored.missing:
                self._store.append(restored.missing)
                await self._store.settle()
            return chat

    def is_answered_elsewhere(self, row: ChatRow) -> bool:
        """Return whether another process answers in a chat now."""
        return row.owner not in {None, self._store.owner} and is_alive(row.owner)

    async def read_events(self, id: str) -> list[Event]:
        """Return all events of a chat. There are none for an unknown chat."""
        await self._store.settle()
        return await self._store.read_events(id)

    async def list_rows(self) -> list[ChatRow]:
        """Return the stored chats of this workspace. The chat that was used last comes first."""
        return await self._store.list_chats()

    async def __call__(self) -> list[ChatRow]:
        """Do `list_rows`. Fronts of other packages may still call `host.chats()`, which was documented. Kept for one
        release."""
        warnings.warn("Call host.chats.list_rows() in place of host.chats().", DeprecationWarning, stacklevel=2)
        return await self.list_rows()

    async def read_row(self, id: str) -> ChatRow | None:
        """Return a stored chat, None when there is none."""
        return await self._store.read_chat(id)
