"""The imperative core: feeds the engine, has its effects run as tasks in one group, stores and fans out events.

One per process. Everything here runs on one event loop; `feed` is synchronous, so a chat's steps never interleave.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from jupyter_eca import redaction
from jupyter_eca.config import agent, credentials, make_known, watch
from jupyter_eca.engine import inputs
from jupyter_eca.engine.chat.recovery import restore
from jupyter_eca.engine.draft import drafted
from jupyter_eca.engine.model.task_plan import restored as plan_of
from jupyter_eca.engine.step import step
from jupyter_eca.engine.text.slash_commands import shown
from jupyter_eca.engine.turn import TurnStatus
from jupyter_eca.errors import BusyError, IllegalSignal, LocalError, UnknownChat
from jupyter_eca.host import commands, notifications
from jupyter_eca.host.chat.live_chat import BUSY, Begun, Choice, LiveChat, Prompt, chosen, now
from jupyter_eca.host.checkpoints.checkpoints import Checkpoints
from jupyter_eca.host.costs.budgets import Budgets
from jupyter_eca.host.costs.ledger import Ledger
from jupyter_eca.host.hooks.runner import Hooks
from jupyter_eca.host.operations.changes import Changes
from jupyter_eca.host.operations.chats import Archive
from jupyter_eca.host.operations.estimates import Estimates
from jupyter_eca.host.store import Store, alive
from jupyter_eca.host.subscribers import Audiences, Notice
from jupyter_eca.host.tools.outputs import Outputs
from jupyter_eca.host.tools.registry import Toolbox
from jupyter_eca.host.turn import plan_mode, tool_context
from jupyter_eca.host.turn import setup as setups
from jupyter_eca.host.turn.effect_runner import Work
from jupyter_eca.host.turn.locked_answers import Locks
from jupyter_eca.host.turn.sampling import People
from jupyter_eca.host.turn.subagents import Subagents
from jupyter_eca.host.turn.warmup import Warming
from jupyter_eca.instructions import Interpreters
from jupyter_eca.mcp_client import Manager
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.contexts.reading.recent_look import Glances
from jupyter_eca.plugins.providers.catalog import Catalog
from jupyter_eca.plugins.providers.sign_in import Logins
from jupyter_eca.protocol.chat import SUBAGENT
from jupyter_eca.protocol.chats import ChatOpenedParams, ChatStatus, ChatStatusChangedParams
from jupyter_eca.protocol.content import RejectReason
from jupyter_eca.protocol.job import JobsListResult
from jupyter_eca.protocol.lifecycle import MessageType
from jupyter_eca.protocol.mcp import ToolServerRemovedParams
from jupyter_eca.workspace.files.index import Index
from jupyter_eca.workspace.jobs.background import BackgroundJobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from jupyter_eca.config import Config
    from jupyter_eca.engine.model.request import DocumentPart, ImagePart, ModelRequest
    from jupyter_eca.host.chat.dialogue import Dialogue
    from jupyter_eca.host.store import ChatRow
    from jupyter_eca.host.subscribers import Audience
    from jupyter_eca.protocol.content import FlagContent, MetadataContent, TextContent
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.workspace.ports import Files, Kernel, Workspace

# Seconds that a call waits for somebody to approve it after the last client who could has gone: a page is reloaded, a
# laptop sleeps, a connection breaks, and the question is still there afterwards.
GRACE_SECONDS = 60.0

# In milliseconds.
DAY = 24 * 60 * 60 * 1000


class Host:
    def __init__(
        self, config: Config, workspace: Workspace, database: Path, read: Callable[[], Config] | None = None
    ) -> None:
        """With `read`, which blocks, the configuration is read again whenever its files change."""
        self._read = read
        self.config = config
        make_known(config)
        self.workspace = workspace
        keys = credentials.beside(database)
        self.catalog = Catalog(loader.find("providers", "PROVIDER"), config, keys)
        self.logins = Logins(self.catalog, keys, partial(notifications.signed, self))
        self.outputs = Outputs(database.with_name("outputs"))
        self.locks = Locks(database.with_name("locks"))
        self.audiences = Audiences()
        self.ready = asyncio.Event()
        self.started = now()
        # Editors name the same folders in another order: the chats must not vanish for it (ECA 6.1, class 42).
        self.store = Store(database, str(min(workspace.files.roots)), self._publish)
        self.ledger = Ledger(self)
        self.budgets = Budgets(self)
        self.estimates = Estimates(self)
        self.archive = Archive(self)
        self.changes = Changes(self)
        self.index = Index(workspace.files)
        self.glances = Glances()
        self.checkpoints = Checkpoints(self.store)
        self.jobs = BackgroundJobs(
            lambda jobs: self.audiences.tell(Notice("jobs/updated", JobsListResult(jobs=jobs))),
            ended=partial(notifications.job_ended, self),
        )
        self.mcp = Manager(
            config,
            workspace.files.roots,
            lambda server: self.audiences.tell(Notice("tool/serverUpdated", server)),
            lambda name: self.audiences.tell(Notice("tool/serverRemoved", ToolServerRemovedParams(name=name))),
            keys,
            People(self),
        )
        self.toolbox = Toolbox(self.mcp)
        self.toolbox.configure(config)
        self.hooks = Hooks(self, database)
        self.subagents = Subagents(self)
        self.warming = Warming(self)
        self.interpreters = Interpreters()
        self.grace = GRACE_SECONDS
        self._chats: dict[str, LiveChat] = {}
        self._loading = asyncio.Lock()
        self._ended = asyncio.Event()

    async def run(self) -> None:
        """Serve until `close`; every turn that is under way then is stopped and stored."""
        redaction.veil()
        await self.store.open()
        await self._expire()
        async with asyncio.TaskGroup() as tasks:
            self._work = Work(self, tasks)
            works = [self.store.run(), self.index.run(), self.mcp.run(), self.hooks.run()]
            if self._read is not None:
                works.append(
                    watch(self.config, self._read, self.configure, partial(self.audiences.message, MessageType.ERROR))
                )
            serving = [tasks.create_task(work) for work in works]
            self.ready.set()
            await self._ended.wait()
            for chat in self._chats:
                self.stop(chat)
            await self._work.ended(self._chats.values())
            await self.jobs.close()
            await self.hooks.end()
            for task in serving:
                task.cancel()
        await self.store.close()

    async def _expire(self) -> None:
        """Chats that nobody used for long go, when the user wants that."""
        if days := self.config.chat_retention_days:
            before = now() - days * DAY
            await self.outputs.forget(await self.store.do(lambda tables: tables.expire(before, alive)))
        await self.outputs.sweep(await self.store.do(lambda tables: tables.known()))

    def close(self) -> None:
        self._ended.set()

    async def configure(self, config: Config) -> None:
        """From the next turn on; the rules of approval at once."""
        self.config = config
        make_known(config)
        setups.rule(self, self._chats.values())
        self.catalog.configure(config)
        self.toolbox.configure(config)
        await self.mcp.apply(config)
        await notifications.reconfigured(self)

    async def reload(self) -> None:
        """The files at once, for whoever has written to one. Raises: ConfigError."""
        if self._read is not None:
            await self.configure(await asyncio.to_thread(self._read))

    def move(self, files: Files) -> None:
        """Other folders, from the next look at them on."""
        self.workspace = replace(self.workspace, files=files)
        self.index.move(files)
        self.mcp.move(files.roots)

    def join(self, audience: Audience) -> None:
        self.audiences.join(audience)

    def leave(self, audience: Audience) -> None:
        """Calls that only this audience could have approved are denied after a while: nobody is there to answer."""
        self.audiences.leave(audience)
        for chat in self._chats.values():
            if chat.kernel is not None and chat.kernel is audience.kernel:
                chat.kernel = None
            self.unattended(chat.state.id)

    def unattended(self, chat: str) -> None:
        """Somebody who could have approved calls of a chat has gone; perhaps nobody is left."""
        live = self._chats.get(chat)
        if live and any(not call.terminal for call in live.state.calls) and not self.audiences.attended(chat):
            self._work.deny_unattended(live, self.grace)

    # -- what happens to a chat

    async def prompt(self, prompt: Prompt, kernel: Kernel | None = None) -> Begun:
        """Start a turn. Returns before the answer begins.

        Raises: BusyError when the chat is still answering, here or in another process.
        """
        if prompt.chat.startswith(SUBAGENT) and not self.subagents.expects(prompt.chat):
            raise LocalError("This chat is a subagent's. Ask in the chat that it belongs to.")
        chat = await self.load(prompt.chat)
        choice = prompt.choice.over(chat.choice)
        prompt, choice = plan_mode.understood(self, chat, prompt, choice)
        choice = replace(choice, model=await self._model(choice))
        plain = prompt.follow_up > 0 or bool(chat.parent)
        dialogue = chat.dialogue if chat.dialogue and not plain and chat.dialogue.takes(prompt.message) else None
        plain = plain or bool(prompt.means)
        local = dialogue is not None or (not plain and await commands.answered_here(self, prompt.message))
        has = tool_context.tools(self, prompt.chat, kernel)
        setup = await setups.setup(self, choice, has, prompt.bounds, pin=not local)
        # Meanwhile somebody may have begun a turn, or cut the chat back: then this is no longer what it is like.
        if chat.busy or self._chats.get(prompt.chat) is not chat:
            raise BusyError(BUSY)
        chat.choice, chat.kernel, chat.prompt, chat.outside = choice, kernel, prompt, None
        if not chat.last and not chat.parent:
            opened = ChatOpenedParams(chat_id=prompt.chat)
            self.audiences.tell(Notice("chat/opened", opened, prompt.chat))
        message = dialogue.shown(prompt.message) if dialogue else shown(prompt.message)
        chat.dialogue, chat.locking = dialogue, None
        self.feed(chat, inputs.Prompted(now(), prompt.turn or fresh_id(), message, fresh_id(), setup, local))
        self.store.select(prompt.chat, choice.selection)
        return Begun(choice.model, login=dialogue is not None)

    async def converse(self, chat: str, dialogue: Dialogue) -> str:
        """Have the next messages in a chat go to a dialogue; gives its first question."""
        live = await self.load(chat)
        live.dialogue = dialogue
        return await dialogue.begin()

    def stop(self, chat: str) -> None:
        self._tell(chat, inputs.Stopped(now()))
        live = self._chats.get(chat)
        if live is not None:
            live.dialogue = None
        if live is not None and live.state.status is TurnStatus.STOPPING:
            stopping = ChatStatusChangedParams(chat_id=chat, status=ChatStatus.STOPPING)
            self.audiences.tell(Notice("chat/statusChanged", stopping, chat))

    def approve(self, chat: str, call: str, *, remember: bool) -> None:
        """A second answer, or one that comes after a stop, changes nothing."""
        self._tell(chat, inputs.Approved(now(), call, remember))
        if remember:
            self.subagents.share(chat)

    def reject(self, chat: str, call: str, words: str) -> None:
        self._tell(chat, inputs.Rejected(now(), call, RejectReason.USER, words))

    def unanswered(self, chat: str, call: str) -> None:
        """Somebody was asked to approve it, and nobody is left who could."""
        self._tell(chat, inputs.Rejected(now(), call, RejectReason.NOBODY))

    def steer(self, chat: str, message: str) -> None:
        """Words for the model's next step; none take back those that it was not told yet."""
        self._tell(chat, inputs.Steered(now(), message, fresh_id()))

    def choose(self, chat: str, choice: Choice) -> None:
        """For the turns to come; trust holds from the next tool call on."""
        if live := self._chats.get(chat):
            live.choice = choice.over(live.choice)
            self.store.select(chat, live.choice.selection)
            if choice.trust is not None:
                self.feed(live, inputs.Trusted(now(), choice.trust))
                self.subagents.trust(chat, trust=choice.trust)

    def mark(self, chat: LiveChat, content: FlagContent | MetadataContent | TextContent) -> None:
        self.feed(chat, inputs.Marked(now(), content))

    def note(self, chat: str, text: str, words: str) -> None:
        """Something that no turn waited for, and that the model is to know."""
        self._work.note(chat, inputs.Noted(now(), text, words))

    def _tell(self, chat: str, what: inputs.Input) -> None:
        if live := self._chats.get(chat):
            self.feed(live, what, late=True)

    def feed(self, chat: LiveChat, what: inputs.Input, *, late: bool = False) -> None:
        """`late` inputs may come after what they are about has ended: then they mean nothing."""
        if self._chats.get(chat.state.id) is not chat:
            return  # Deleted while something still ended: stored now, it would be there again (ECA 6.1, class 43).
        try:
            chat.state, events, effects = step(chat.state, what)
        except IllegalSignal:
            if not late:
                raise
            return
        if chat.locking is not None:
            chat.locking.taken += (event for event in events if event.turn)
        self.store.append(events)
        if chat.parent:
            self.subagents.hear(chat, events)
        for effect in effects:
            self._work.run(chat, effect)
        self.hooks.changed(chat)

    def _publish(self, events: list[Event]) -> None:
        for event in events:
            if live := self._chats.get(event.chat):
                live.last = max(live.last, event.seq)
        self.audiences.show(events)

    # -- chats

    async def load(self, id: str, *, must_exist: bool = False) -> LiveChat:
        """A turn cut short by a crash is closed first.

        Raises: UnknownChat; BusyError while another process answers in it.
        """
        async with self._loading:
            await self.store.settled()
            live = self._chats.get(id)
            row = await self.store.chat(id) if live is None or live.state.status is TurnStatus.IDLE else None
            if live is not None and (row is None or row.last <= live.last):
                return live
            # A chat of another workspace is opened by nobody but who asks in it.
            foreign = row is not None and row.workspace != self.store.workspace and live is None
            if must_exist and (row is None or foreign):
                raise UnknownChat(f"There is no chat {id!r}. `%eca new` starts one.")
            if row and self.answered_elsewhere(row):
                raise BusyError("This chat is being answered by another program. Wait for it, or start a new chat.")
            events = await self.store.events(id) if row else []
            restored = restore(id, events, now())
            remembered = live.state.remembered if live else frozenset[str]()
            state = replace(restored.state, remembered=remembered)
            plan = plan_of(event.content for event in events)
            parent = (row and row.parent) or ""
            chat = self._chats[id] = LiveChat(state, row.last if row else 0, chosen(row), parent, plan=plan)
            if restored.missing:
                self.store.append(restored.missing)
                await self.store.settled()
            return chat

    def answered_elsewhere(self, row: ChatRow) -> bool:
        """Whether another process answers in a chat now."""
        return row.owner not in {None, self.store.owner} and alive(row.owner)

    def forget(self, id: str) -> LiveChat | None:
        """The chat is loaded anew when it is next needed."""
        return self._chats.pop(id, None)

    def live(self, id: str) -> LiveChat | None:
        return self._chats.get(id)

    async def stored(self, chat: str) -> list[Event]:
        """Everything said in a chat so far; of an unknown one nothing."""
        await self.store.settled()
        return await self.store.events(chat)

    async def draft(self, chat: str, message: str = "", kernel: Kernel | None = None) -> ModelRequest:
        """What the model would be sent now. Nothing is sent or stored."""
        return await self.drafted(Prompt(chat, message), kernel)

    async def drafted(
        self,
        prompt: Prompt,
        kernel: Kernel | None = None,
        context: str = "",
        images: tuple[ImagePart, ...] = (),
        documents: tuple[DocumentPart, ...] = (),
    ) -> ModelRequest:
        """As `draft`, with what was read of what the prompt points at."""
        live = await self.load(prompt.chat)
        choice = prompt.choice.over(live.choice)
        choice = replace(choice, model=await self._model(choice))
        setup = await setups.setup(self, choice, tool_context.tools(self, prompt.chat, kernel), prompt.bounds)
        return drafted(live.state, setup, prompt.message, context, images, documents)

    async def chats(self) -> list[ChatRow]:
        return await self.store.chats()

    async def chat(self, chat: str) -> ChatRow | None:
        return await self.store.chat(chat)

    def status(self, chat: str) -> ChatStatus:
        live = self._chats.get(chat)
        if live is None or live.state.status is TurnStatus.IDLE:
            waits = live is not None and live.dialogue is not None and not live.dialogue.over
            return ChatStatus.LOGIN if waits else ChatStatus.IDLE
        return ChatStatus.STOPPING if live.state.status is TurnStatus.STOPPING else ChatStatus.RUNNING

    # -- what a turn is run with

    async def model(self, chat: str) -> str:
        """The full name of the model that answers in a chat; empty when there is none."""
        return await self._model((await self.load(chat)).choice)

    async def _model(self, choice: Choice) -> str:
        own = agent(self.config, choice.agent).default_model
        return choice.model or (own if own and self.catalog.has(own) else "") or await self.catalog.default()


def fresh_id() -> str:
    return uuid.uuid4().hex
