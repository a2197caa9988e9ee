"""Subagents at work: each has a chat of its own within that of the call which spawned it.

It is run by the same engine as any chat. What is its own: an agent, a model, steps, approval. What is its parent's,
at every moment: trust, what was approved for the session, the files and cells that are kept to take a turn back, the
people who approve, and the bill. It ends with the call: whoever stops that stops it.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.subagents import SubagentTranscript
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import LocalError, ProviderError, ToolError
from jupyter_eca.host.chat.live_chat import Choice, Prompt, now
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.content import SubagentDetails, UsageContent
from jupyter_eca.workspace.shielded import run_to_end
from jupyter_eca.workspace.tool_result import Report, ToolResult

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable

    from jupyter_eca.config import Agent
    from jupyter_eca.engine.chat.subagents import SubagentTask
    from jupyter_eca.host.chat.live_chat import LiveChat
    from jupyter_eca.host.chat.ports import TurnStarter
    from jupyter_eca.host.chat.registry import Chats
    from jupyter_eca.host.hooks.turn_hooks import TurnHooks
    from jupyter_eca.host.services import Current
    from jupyter_eca.host.store import ChatRow, Store
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.protocol.event import Event

Span = tuple[int, int | None]
"""A part of a chat: what comes after a place in it, up to and with another; None is the end."""

# Characters of a chat's id; a call's id may be longer, and holds what its vendor likes.
_ID_LENGTH = 200


@dataclass
class Subagent:
    """One at work: in the chat `id`, for the `call` of the chat `parent`."""

    id: str
    parent: str
    call: str
    task: SubagentTask
    details: SubagentDetails
    heard: SubagentTranscript = field(default_factory=SubagentTranscript)
    done: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass(frozen=True, slots=True)
class Spawning:
    """Spawns the subagents of one chat. See `plugins.tools.base.Spawner`."""

    subagents: Subagents
    chat: str

    async def details(self, call: str, task: SubagentTask) -> SubagentDetails | None:
        return await self.subagents.details(self.chat, call, task)

    async def spawn(self, call: str, task: SubagentTask, report: Callable[[Report], None]) -> ToolResult:
        return await self.subagents.spawn(self.chat, call, task, report)


class Subagents:
    turns: TurnStarter
    """Starts and stops the turns of subagents. The host sets it before anything is spawned."""

    def __init__(self, current: Current, store: Store, catalog: Catalog, chats: Chats, hooks: TurnHooks) -> None:
        self._current = current
        self._store = store
        self._catalog = catalog
        self._chats = chats
        self._hooks = hooks
        self._parents: dict[str, str] = {}
        self._claimed: dict[tuple[str, str], str] = {}
        self._running: dict[str, Subagent] = {}
        self._free = asyncio.Condition()

    # -- whose is what

    def parent(self, chat: str) -> str:
        """The chat of which this is a subagent's; "" for any other."""
        return self._parents.get(chat, "") if chat.startswith(SUBAGENT) else ""

    def of(self, parent: str) -> list[Subagent]:
        """Those that are at work."""
        return [one for one in self._running.values() if one.parent == parent]

    def spawner(self, chat: str) -> Spawning:
        return Spawning(self, chat)

    def expects(self, chat: str) -> bool:
        """Whether a prompt in this chat is a subagent's task. Nobody else is to ask in such a chat."""
        return chat in self._running

    async def chats(self, parent: str) -> list[ChatRow]:
        """All there ever were; one that did not live to its end is closed first."""
        if parent.startswith(SUBAGENT):
            return []
        rows = await self._store.do(lambda tables: tables.subagents(parent))
        for row in rows:
            self._parents[row.id] = parent
            if row.owner is not None and row.id not in self._running and not self._chats.is_answered_elsewhere(row):
                await self._chats.load(row.id)
        return rows

    async def events(self, parent: str, after: int = 0, until: int | None = None) -> list[Event]:
        """What subagents of a chat said in a part of it, in the order in which they said it."""
        found = [event for row in await self.chats(parent) for event in await self._chats.read_events(row.id)]
        between = (event for event in found if event.seq > after and (until is None or event.seq <= until))
        return sorted(between, key=lambda event: event.seq)

    # -- from a call to its result

    async def details(self, parent: str, call: str, task: SubagentTask) -> SubagentDetails | None:
        """What is told of a call before it is approved."""
        chat = self._chats.live(parent)
        who = self._current.resolved.list_spawnable(chat.state.setup.agent).get(task.agent) if chat else None
        if chat is None or who is None:
            return None
        model, variant = self._model(chat, who, task)
        return SubagentDetails(
            agent_name=who.name,
            step=0,
            subagent_chat_id=await self._claim(parent, call),
            model=model or None,
            variant=variant or None,
            max_steps=who.max_steps,
        )

    async def spawn(self, parent: str, call: str, task: SubagentTask, report: Callable[[Report], None]) -> ToolResult:
        """Raises: ToolError for what cannot be spawned."""
        chat = self._chats.live(parent)
        if chat is None or chat.parent:
            raise ToolError("A subagent cannot spawn others.", "Do it yourself.")
        names = self._current.resolved.list_spawnable(chat.state.setup.agent)
        details = await self.details(parent, call, task)
        if details is None:
            raise ToolError(
                f"There is no agent {task.agent!r} to spawn.", f"Name one of: {', '.join(names) or 'none'}."
            )
        id = self._claimed.pop((parent, call))
        subagent = Subagent(id, parent, call, task, details)
        async with self._place(parent, report):
            self._running[id], self._parents[id] = subagent, parent
            try:
                return await self._run(chat, subagent)
            finally:
                del self._running[id]

    async def _run(self, parent: LiveChat, subagent: Subagent) -> ToolResult:
        details = subagent.details
        await self._store.do(lambda tables: tables.adopt(subagent.id, subagent.parent, now()))
        chat = await self._chats.load(subagent.id)
        chat.state = replace(chat.state, remembered=parent.state.remembered)
        choice = Choice(details.model or "", details.agent_name, details.variant or "", parent.state.trust)
        looks_only = parent.bounds.looks_only or self._current.resolved.agent(parent.state.setup.agent).looks_only
        bounds = replace(parent.bounds, looks_only=looks_only)
        try:
            self._hooks.note_subagent(subagent.id, subagent.parent)
            await self.turns.prompt(Prompt(subagent.id, subagent.task.task, choice, bounds=bounds), parent.kernel)
            await subagent.done.wait()
        except asyncio.CancelledError:
            await run_to_end(self._wind_down(chat, subagent))
            raise
        except LocalError as error:
            raise ToolError(f"The agent {details.agent_name!r} could not be started: {error}") from error
        text, error = subagent.heard.as_result(details.agent_name)
        return ToolResult(text, error, subagent.details)

    async def _wind_down(self, chat: LiveChat, subagent: Subagent) -> None:
        """Its own calls may take a while to end; the call that spawned it ends after them."""
        self.turns.stop(subagent.id)
        if chat.state.status is not TurnStatus.IDLE:
            await subagent.done.wait()

    @asynccontextmanager
    async def _place(self, parent: str, report: Callable[[Report], None]) -> AsyncGenerator[None]:
        """So many of a chat work at once; the others wait until one ends."""
        most = self._current.config.subagents.max_parallel
        async with self._free:
            if len(self.of(parent)) >= most:
                report(Report(f"Waits: {most} other agents are at work."))
                await self._free.wait_for(lambda: len(self.of(parent)) < most)
                report(Report())
        # The place is taken as soon as this is entered: nothing waits between here and there.
        try:
            yield
        finally:
            await run_to_end(self._leave())

    async def _leave(self) -> None:
        async with self._free:
            self._free.notify_all()

    def _model(self, chat: LiveChat, who: Agent, task: SubagentTask) -> tuple[str, str]:
        """The asked one, the agent's own, or the parent's; an agent's that nobody offers is passed over.

        Raises: ToolError for one that was asked for and is not there.
        """
        setup = chat.state.setup
        if task.model:
            try:
                self._catalog.choose(task.model)
            except ProviderError as error:
                raise ToolError(str(error), "Leave `model` out.") from error
            return task.model, task.variant
        own = who.default_model if who.default_model and self._catalog.has(who.default_model) else ""
        inherited = setup.variant if not own or own == setup.model else ""
        return own or setup.model, task.variant or who.variant or inherited

    async def _claim(self, parent: str, call: str) -> str:
        """ECA's id, made another one when a call of another chat has it: vendors repeat the ids of their calls."""
        if (parent, call) in self._claimed:
            return self._claimed[parent, call]
        plain = "".join("-" if one.isspace() else one for one in call)[:_ID_LENGTH]
        id, number = f"{SUBAGENT}{plain}", 2
        while id in self._claimed.values() or id in self._parents or await self._chats.read_row(id):
            id, number = f"{SUBAGENT}{plain}-{number}", number + 1
        self._claimed[parent, call] = id
        return id

    # -- while they work

    def hear(self, chat: LiveChat, events: Iterable[Event]) -> None:
        """What happened in a subagent's chat."""
        subagent = self._running.get(chat.state.id)
        if subagent is None:
            return
        for event in events:
            subagent.heard.add(event)
            if isinstance(usage := event.content, UsageContent):
                cost = None if usage.last_message_cost is None else float(usage.last_message_cost)
                spent = inputs.CostAdded(now(), usage.message_input_tokens, usage.message_output_tokens, cost)
                self._tell(subagent, spent)
        if chat.state.steps > subagent.details.step:
            subagent.details = subagent.details.model_copy(update={"step": chat.state.steps})
            self._tell(subagent, inputs.CallProgressed(now(), subagent.call, subagent.details))
        if subagent.heard.outcome is not None:
            subagent.done.set()

    def _tell(self, subagent: Subagent, told: inputs.Input) -> None:
        """The parent, whose call may be over already."""
        self._chats.feed_late(subagent.parent, told)

    def trust(self, parent: str, *, trust: bool) -> None:
        """From their next calls on (ECA 6.1, class 25)."""
        for subagent in self.of(parent):
            if live := self._chats.live(subagent.id):
                self._chats.feed(live, inputs.TrustChanged(now(), trust))

    def share(self, chat: str) -> None:
        """What was approved for the session holds for the chat and all its subagents."""
        parent = self.parent(chat) or chat
        ids = [parent, *(one.id for one in self.of(parent))]
        family = [live for id in ids if (live := self._chats.live(id)) is not None]
        remembered = frozenset(scope for live in family for scope in live.state.remembered)
        for live in family:
            live.state = replace(live.state, remembered=remembered)

    # -- with their parent

    def forget(self, rows: Iterable[ChatRow]) -> None:
        """Their chats are gone, and whoever shows the parent's hears of that."""
        for row in rows:
            self._chats.forget(row.id)
            self._parents.pop(row.id, None)
