"""Owns the running subagents. A subagent works in a chat of its own, for the tool call that spawned it.

The engine runs this chat like any other. The subagent has its own agent, model, steps and rules of approval. It shares
with its parent chat: the trust, the approvals for the session, the checkpoints that undo a turn, the clients that
approve its calls, and the costs. It ends with the call, so stopping the call stops the subagent.

It must not know the tool: `plugins.tools.spawn` is the tool. `engine.chat.subagents` has what the model gets of it.
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
"""A part of a chat: the events after the first sequence number, up to and including the second one. None: to the
end."""

# The characters of a call's id that become a part of the chat's id. Some vendors make longer ids.
_MAX_ID_CHARS = 200


@dataclass
class Subagent:
    """A running subagent."""

    id: str
    """The id of its own chat."""
    parent: str
    """The id of the chat that spawned it."""
    call: str
    """The id of the tool call that spawned it."""
    task: SubagentTask
    """The task that the model gave it."""
    details: SubagentDetails
    """What clients show of it. Replaced at each step."""
    transcript: SubagentTranscript = field(default_factory=SubagentTranscript)
    """Its answer so far."""
    done: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when its turn has ended."""


@dataclass(frozen=True, slots=True)
class ChatSpawner:
    """Starts subagents for the calls of one chat, and describes such a call before it runs."""

    subagents: Subagents
    """The subagents of the host."""
    chat: str
    """The id of the chat that spawns them."""

    async def describe_call(self, call: str, task: SubagentTask) -> SubagentDetails | None:
        """Return what the user sees of a call before it is approved; None if there is no such agent."""
        return await self.subagents.describe_call(self.chat, call, task)

    async def spawn(self, call: str, task: SubagentTask, report: Callable[[Report], None]) -> ToolResult:
        """Run a task in a subagent, and return its result. `report` shows the progress on the card of the call."""
        return await self.subagents.spawn(self.chat, call, task, report)


class Subagents:
    """The subagents of all chats of one host."""

    turns: TurnStarter
    """Starts and stops the turns of subagents. The host sets it before anything is spawned."""

    def __init__(self, current: Current, store: Store, catalog: Catalog, chats: Chats, hooks: TurnHooks) -> None:
        self._current = current
        self._store = store
        self._catalog = catalog
        self._chats = chats
        self._hooks = hooks
        self.parents: dict[str, str] = {}
        """The parent chat, by the id of the subagent's chat."""
        # The id that is reserved for the subagent's chat, by the parent chat and the call that wants to spawn it.
        self._claimed: dict[tuple[str, str], str] = {}
        # The running subagents, by the ids of their chats.
        self._running: dict[str, Subagent] = {}
        # Notified when a subagent has ended, so that the calls that wait for a slot check again.
        self._slot_freed = asyncio.Condition()

    # -- parents and their subagents

    def list_running(self, parent: str) -> list[Subagent]:
        """Return the running subagents of a chat."""
        return [subagent for subagent in self._running.values() if subagent.parent == parent]

    def build_spawner(self, chat: str) -> ChatSpawner:
        """Return the spawner for the tools of a chat."""
        return ChatSpawner(self, chat)

    def is_running(self, chat: str) -> bool:
        """Return whether a subagent runs in this chat. Only then may there be a prompt in the chat of a subagent."""
        return chat in self._running

    async def list_chats(self, parent: str) -> list[ChatRow]:
        """Return the chats of all subagents that a chat has ever had. A subagent that a crash has cut off is closed
        first."""
        if parent.startswith(SUBAGENT):
            return []
        rows = await self._store.do(lambda tables: tables.list_subagents(parent))
        for row in rows:
            self.parents[row.id] = parent
            if row.owner is not None and row.id not in self._running and not self._chats.is_answered_elsewhere(row):
                await self._chats.load(row.id)
        return rows

    async def read_events(self, parent: str, after: int = 0, until: int | None = None) -> list[Event]:
        """Return the events of a chat's subagents in a part of the chat, in their order: those after the sequence
        number `after`, up to and including `until` (None: to the end)."""
        found = [event for row in await self.list_chats(parent) for event in await self._chats.read_events(row.id)]
        between = (event for event in found if event.seq > after and (until is None or event.seq <= until))
        return sorted(between, key=lambda event: event.seq)

    # -- from a call to its result

    async def describe_call(self, parent: str, call: str, task: SubagentTask) -> SubagentDetails | None:
        """Return what the user sees of a call before it is approved; None if there is no such agent. The id of the
        subagent's chat is reserved for the call."""
        chat = self._chats.get_live(parent)
        agent = self._current.resolved.list_spawnable(chat.state.setup.agent).get(task.agent) if chat else None
        if chat is None or agent is None:
            return None
        model, variant = self._choose_model(chat, agent, task)
        return SubagentDetails(
            agent_name=agent.name,
            step=0,
            subagent_chat_id=await self._claim_id(parent, call),
            model=model or None,
            variant=variant or None,
            max_steps=agent.max_steps,
        )

    async def spawn(self, parent: str, call: str, task: SubagentTask, report: Callable[[Report], None]) -> ToolResult:
        """Run a task in a subagent, and return its result. `report` shows the progress on the card of the call. Raises:
        ToolError when the subagent cannot be spawned."""
        chat = self._chats.get_live(parent)
        if chat is None or chat.parent:
            raise ToolError("A subagent cannot spawn others.", "Do it yourself.")
        names = self._current.resolved.list_spawnable(chat.state.setup.agent)
        details = await self.describe_call(parent, call, task)
        if details is None:
            raise ToolError(
                f"There is no agent {task.agent!r} to spawn.", f"Name one of: {', '.join(names) or 'none'}."
            )
        id = self._claimed.pop((parent, call))
        subagent = Subagent(id, parent, call, task, details)
        async with self._take_slot(parent, report):
            self._running[id], self.parents[id] = subagent, parent
            try:
                return await self._run(chat, subagent)
            finally:
                del self._running[id]

    async def _run(self, parent: LiveChat, subagent: Subagent) -> ToolResult:
        """Start the turn of a subagent, wait for its end, and return its answer. If this is cancelled, the subagent is
        stopped first."""
        details = subagent.details
        await self._store.do(lambda tables: tables.add_subagent_chat(subagent.id, subagent.parent, now()))
        chat = await self._chats.load(subagent.id)
        chat.state = replace(chat.state, approved_scopes=parent.state.approved_scopes)
        choice = Choice(details.model or "", details.agent_name, details.variant or "", parent.state.trust)
        looks_only = parent.bounds.looks_only or self._current.resolved.get_agent(parent.state.setup.agent).looks_only
        bounds = replace(parent.bounds, looks_only=looks_only)
        try:
            self._hooks.note_subagent(subagent.id, subagent.parent)
            prompt = Prompt(subagent.id, subagent.task.task, choice, bounds=bounds, notebook=parent.asked_notebook)
            await self.turns.prompt(prompt, parent.kernel)
            await subagent.done.wait()
        except asyncio.CancelledError:
            await run_to_end(self._wind_down(chat, subagent))
            raise
        except LocalError as error:
            raise ToolError(f"The agent {details.agent_name!r} could not be started: {error}") from error
        text, error = subagent.transcript.as_result(details.agent_name)
        pictures = subagent.transcript.name_pictures(details.agent_name)
        return ToolResult(text, error, subagent.details, images=pictures)

    async def _wind_down(self, chat: LiveChat, subagent: Subagent) -> None:
        """Stop a subagent and wait for its end, since its tool calls may take a while to end."""
        self.turns.stop(subagent.id)
        if chat.state.status is not TurnStatus.IDLE:
            await subagent.done.wait()

    @asynccontextmanager
    async def _take_slot(self, parent: str, report: Callable[[Report], None]) -> AsyncGenerator[None]:
        """Wait until fewer subagents of the chat run than `subagents.maxParallel` allows. Within this context the
        caller has a slot: it adds its subagent to `_running` at once."""
        limit = self._current.config.subagents.max_parallel
        async with self._slot_freed:
            if len(self.list_running(parent)) >= limit:
                report(Report(f"Waits: {limit} other agents are at work."))
                await self._slot_freed.wait_for(lambda: len(self.list_running(parent)) < limit)
                report(Report())
        # No other task can take the slot now, because there is no `await` before the caller adds its subagent.
        try:
            yield
        finally:
            await run_to_end(self._release_slot())

    async def _release_slot(self) -> None:
        """Let the calls that wait in `_take_slot` check again whether a slot is free."""
        async with self._slot_freed:
            self._slot_freed.notify_all()

    def _choose_model(self, chat: LiveChat, agent: Agent, task: SubagentTask) -> tuple[str, str]:
        """Return the model and the variant of a subagent: those of the task, else those of its agent, else those of the
        parent chat. An agent's model that no provider has is ignored.

        Raises: ToolError when no provider has the model of the task.
        """
        setup = chat.state.setup
        if task.model:
            try:
                self._catalog.choose(task.model)
            except ProviderError as error:
                raise ToolError(str(error), "Leave `model` out.") from error
            return task.model, task.variant
        own = agent.default_model if agent.default_model and self._catalog.has(agent.default_model) else ""
        inherited = setup.variant if not own or own == setup.model else ""
        return own or setup.model, task.variant or agent.variant or inherited

    async def _claim_id(self, parent: str, call: str) -> str:
        """Return the id for the chat of a subagent, and reserve it. It is the one that ECA makes from the call's id,
        with a number if it is taken: vendors use the same ids of calls in several chats."""
        if (parent, call) in self._claimed:
            return self._claimed[parent, call]
        plain = "".join("-" if character.isspace() else character for character in call)[:_MAX_ID_CHARS]
        id, number = f"{SUBAGENT}{plain}", 2
        while id in self._claimed.values() or id in self.parents or await self._chats.read_row(id):
            id, number = f"{SUBAGENT}{plain}-{number}", number + 1
        self._claimed[parent, call] = id
        return id

    # -- while subagents work

    def note_events(self, chat: LiveChat, events: Iterable[Event]) -> None:
        """Note the events of a subagent's chat: add to its transcript, its costs and its steps. Called after each step
        of such a chat."""
        subagent = self._running.get(chat.state.id)
        if subagent is None:
            return
        for event in events:
            subagent.transcript.add(event, chat.state.setup.tools)
            if isinstance(usage := event.content, UsageContent):
                cost = None if usage.last_message_cost is None else float(usage.last_message_cost)
                spent = inputs.CostAdded(now(), usage.message_input_tokens, usage.message_output_tokens, cost)
                self._feed_parent(subagent, spent)
        if chat.state.steps > subagent.details.step:
            subagent.details = subagent.details.model_copy(update={"step": chat.state.steps})
            self._feed_parent(subagent, inputs.CallProgressed(now(), subagent.call, subagent.details))
        if subagent.transcript.outcome is not None:
            subagent.done.set()

    def _feed_parent(self, subagent: Subagent, input: inputs.Input) -> None:
        """Give the engine an input for the parent chat, whose call may have ended already."""
        self._chats.feed_late(subagent.parent, input)

    def set_trust(self, parent: str, *, trust: bool) -> None:
        """Set whether the calls of a chat's running subagents run without approval (`trust`), from their next calls
        on."""
        for subagent in self.list_running(parent):
            if live := self._chats.get_live(subagent.id):
                self._chats.feed(live, inputs.TrustChanged(now(), trust))

    def share_approvals(self, chat: str) -> None:
        """Share the approvals for the session between a chat, its parent, and all running subagents of the parent."""
        parent = self.parents.get(chat, chat)
        ids = [parent, *(subagent.id for subagent in self.list_running(parent))]
        family = [live for id in ids if (live := self._chats.get_live(id)) is not None]
        remembered = frozenset(scope for live in family for scope in live.state.approved_scopes)
        for live in family:
            live.state = replace(live.state, approved_scopes=remembered)

    # -- when the parent chat is deleted

    def forget(self, rows: Iterable[ChatRow]) -> None:
        """Forget subagents whose chats were deleted together with their parent's."""
        for row in rows:
            self._chats.forget(row.id)
            self.parents.pop(row.id, None)
