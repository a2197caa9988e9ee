"""Owns the chats in memory: it loads them, gives inputs to the engine, and stores and publishes the resulting events.

It must not know turns, tools or the host. It passes the effects to `effects`, and calls the functions in its lists of
observers (`on_change` and others). `host.turn.turns` starts and stops turns; `host.operations.chats` cuts, forks and
deletes chats.
"""

from __future__ import annotations

import asyncio
import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.model.task_plan import restore_plan
from jupyter_eca.engine.step import step
from jupyter_eca.engine.tool_call import ToolCallStatus
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, IllegalSignal, UnknownChat
from jupyter_eca.host.chat.live_chat import LiveChat, get_stored_choice, now
from jupyter_eca.host.store import is_alive
from jupyter_eca.protocol.chats import ChatStatus

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from jupyter_eca.host.chat.ports import EffectSink
    from jupyter_eca.host.store import ChatRow, Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.protocol.content import FlagContent, MetadataContent, RatingContent, TextContent
    from jupyter_eca.protocol.event import Event, Person


class Chats:
    """All chats of one host. `feed` is synchronous, so that the steps of a chat never interleave."""

    effects: EffectSink
    """Runs the effects of the engine. The host sets it before the first input."""

    def __init__(self, store: Store, subscribers: Subscribers) -> None:
        self._store = store
        self._subscribers = subscribers
        # The chats in memory by their ids.
        self._chats: dict[str, LiveChat] = {}
        # Held while a chat is loaded, so that no chat is loaded twice at the same time.
        self._loading = asyncio.Lock()
        self.on_subagent_events: list[Callable[[LiveChat, Sequence[Event]], None]] = []
        """Called after each step in the chat of a subagent with its events, before its effects begin."""
        self.on_change: list[Callable[[LiveChat], None]] = []
        """Called after each step, when its effects have begun."""
        self.on_forget: list[Callable[[str], None]] = []
        """Called with the id of a chat that is removed from memory, because it was deleted or cut."""

    # -- inputs and events

    def feed(self, chat: LiveChat, input: inputs.Input, *, late: bool = False) -> None:
        """Give the engine an input for a chat. Then store the events that it returns, and run its effects.

        A `late` input may come after the turn or the call that it is about has ended. Then it is ignored.
        Raises: IllegalSignal when an input that is not late does not fit the chat's state.
        """
        if self._chats.get(chat.state.id) is not chat:
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
        for notify in self.on_change:
            notify(chat)

    def feed_late(self, id: str, input: inputs.Input) -> bool:
        """Give the engine a late input for a chat, see `feed`. It is ignored if the chat is not in memory. Return
        whether it changed the chat's state."""
        live = self._chats.get(id)
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
            if live := self._chats.get(event.chat):
                live.last_seq = max(live.last_seq, event.seq)
        self._subscribers.show(events)

    # -- the chats in memory

    def get_live(self, id: str) -> LiveChat | None:
        """Return a chat; None when it is not in memory."""
        return self._chats.get(id)

    def list_live(self) -> Iterable[LiveChat]:
        """Return all chats in memory."""
        return self._chats.values()

    def forget(self, id: str) -> LiveChat | None:
        """Remove a chat from memory, and return it; None if it was not in memory. It is loaded again when it is next
        needed."""
        for notify in self.on_forget:
            notify(id)
        return self._chats.pop(id, None)

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
            live = self._chats.get(id)
            row = await self._store.read_chat(id) if live is None or live.state.status is TurnStatus.IDLE else None
            if live is not None and (row is None or row.last <= live.last_seq):
                return live  # the store has no newer events, which another process would have stored
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
                # The approvals for the session are only in memory. The ids of calls must stay unique.
                ids = state.call_ids | live.state.call_ids
                state = replace(state, approved_scopes=live.state.approved_scopes, call_ids=ids)
            plan = restore_plan(event.content for event in events)
            parent = (row and row.parent) or ""
            chat = self._chats[id] = LiveChat(state, row.last if row else 0, get_stored_choice(row), parent, plan=plan)
            if live is not None:
                chat.known_versions = live.known_versions
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
