"""Owns the host of one process: builds its parts, runs them, configures them and closes them. All run on one event
loop.

It must not do the work of a part: each part is in its own file. No part may know the host; only commands, fronts and
apps do. `host.services` lists the parts that others share, and `host.chat.registry` calls the engine.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca import redaction
from jupyter_eca.config import credentials, watch
from jupyter_eca.config.disk.whole_file import delete_unfinished
from jupyter_eca.config.folders import get_user_folder
from jupyter_eca.errors import LocalError, NotSaved
from jupyter_eca.host import notices
from jupyter_eca.host.chat.choice_memory import ChoiceMemory
from jupyter_eca.host.chat.live_chat import now
from jupyter_eca.host.chat.notebook_ids import NotebookIds
from jupyter_eca.host.chat.notebook_rules import NotebookRules
from jupyter_eca.host.chat.registry import Chats
from jupyter_eca.host.chat.tasks import ChatTasks
from jupyter_eca.host.checkpoints.checkpoints import Checkpoints
from jupyter_eca.host.costs.budgets import Budgets
from jupyter_eca.host.costs.ledger import Ledger
from jupyter_eca.host.costs.model_caller import ModelCaller
from jupyter_eca.host.data_folder import DataFolder
from jupyter_eca.host.hooks.runner import Hooks
from jupyter_eca.host.hooks.turn_hooks import TurnHooks
from jupyter_eca.host.operations.changes import Changes
from jupyter_eca.host.operations.chats import ChatOperations
from jupyter_eca.host.operations.deletions import Deletions
from jupyter_eca.host.operations.estimates import Estimates
from jupyter_eca.host.operations.folder_trust import FolderTrust
from jupyter_eca.host.operations.key_trials import KeyTrials
from jupyter_eca.host.operations.rule_trials import RuleTrials
from jupyter_eca.host.outside.known_agents import find_outside_agents
from jupyter_eca.host.outside.outside_agents import OutsideAgents
from jupyter_eca.host.services import Current, Services
from jupyter_eca.host.store import Store, is_alive
from jupyter_eca.host.subscribers import Notice, Subscribers
from jupyter_eca.host.tools.kept_outputs import ToolOutputs
from jupyter_eca.host.tools.registry import ToolRegistry
from jupyter_eca.host.turn.chat_titles import ChatTitles
from jupyter_eca.host.turn.direct_calls import DirectCalls
from jupyter_eca.host.turn.effect_runner import EffectRunner
from jupyter_eca.host.turn.job_endings import JobEndings
from jupyter_eca.host.turn.locked_answers import LockedAnswers, LockState
from jupyter_eca.host.turn.prompt_contexts import PromptContexts
from jupyter_eca.host.turn.sampling import ChatClientFeatures
from jupyter_eca.host.turn.setup import Setups
from jupyter_eca.host.turn.steering import Steering
from jupyter_eca.host.turn.subagents import Subagents
from jupyter_eca.host.turn.system_prompt import SystemPrompts
from jupyter_eca.host.turn.tool_context import ToolContexts
from jupyter_eca.host.turn.turns import Turns
from jupyter_eca.host.turn.unattended_calls import UnattendedCalls
from jupyter_eca.host.turn.warmup import Warmup
from jupyter_eca.instructions import Interpreters
from jupyter_eca.log_fields import LOG_FIELDS, LogFields
from jupyter_eca.mcp_client import McpManager
from jupyter_eca.plugins import loader
from jupyter_eca.plugins.contexts.reading.recent_look import RecentLooks
from jupyter_eca.plugins.providers.catalog import Catalog, find_plugs
from jupyter_eca.plugins.providers.credentials.sign_in import Logins
from jupyter_eca.protocol.job import JobsListResult
from jupyter_eca.protocol.lifecycle import MessageType
from jupyter_eca.protocol.mcp import ToolServerRemovedParams
from jupyter_eca.workspace.files.index import FileIndex
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.jobs.background import BackgroundJobs
from jupyter_eca.workspace.jobs.process_records import end_orphans

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping
    from pathlib import Path

    from jupyter_eca.config import Config, McpServerConfig, ProviderConfig
    from jupyter_eca.config.trust import TrustedFolders
    from jupyter_eca.host.chat.ports import CommandRunner
    from jupyter_eca.host.subscribers import Subscriber
    from jupyter_eca.protocol.event import Event
    from jupyter_eca.protocol.mcp import ToolServerUpdatedParams
    from jupyter_eca.workspace.ports import Files, Workspace

_log = logging.getLogger(__name__)

# The seconds after which a part of the host that has failed is started again.
_RESTART_SECONDS: Final = 1.0

# The milliseconds of a day.
DAY_MS: Final = 24 * 60 * 60 * 1000


class Host:
    """The parts of one assistant: its chats, turns, tools, models, store and clients."""

    def __init__(
        self,
        config: Config,
        workspace: Workspace,
        database: Path,
        read_config: Callable[[], Config] | None = None,
        trusted_folders: TrustedFolders | None = None,
        *,
        watches_config: bool = True,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        """`database` is the file of the chats, unless the configuration stores them elsewhere. `read_config` reads the
        configuration again, and blocks. It is called whenever the configuration files change, if the host
        `watches_config`. Without `trusted_folders` no folder can be trusted. `clock` returns seconds. It measures how
        long a call has waited for running code."""
        self._read = read_config
        self._watches = watches_config
        # Set by `close`. Then `run` ends.
        self._ended = asyncio.Event()
        # All tasks of the host, and those of the chats.
        self._group = asyncio.TaskGroup()
        self.ready = asyncio.Event()
        """Set when `run` has begun to serve."""
        self.started_at = now()
        """The time in milliseconds since the epoch."""
        self.store_warnings: list[str] = []
        """What was wrong with the file of the chats at the start, for the first client."""
        self.orphan_warnings: list[str] = []
        """Warnings about processes that an earlier server left running and that were ended at the start. They are for
        the first client that sees all chats."""
        current = self.current = Current(config, workspace, find_outside_agents)

        # The parts that know nothing of chats. The chats are stored under the folder that is first in alphabetical
        # order. An editor may list the same folders in another order later, and the chats must not vanish
        # then.
        data_folder = DataFolder(database)
        # The folders in which this program replaces files as a whole.
        roots = workspace.files.roots
        self._written_folders = (database.parent, get_user_folder(), *(root / ".eca" for root in roots))
        keys = credentials.open_key_store(database)
        self.folder_trust = FolderTrust(current, trusted_folders, read_config, self.reload)
        subscribers = self.subscribers = Subscribers()
        catalog = self.catalog = Catalog(find_plugs(), config, keys)
        self.logins = Logins(catalog, keys, partial(notices.announce_sign_in, subscribers, catalog))
        catalog.key_outcomes.on_change = self._announce_key
        store = self.store = Store(database, str(min(workspace.files.roots)), self._publish, config.store)
        store.on_unsaved = partial(notices.announce_unsaved, subscribers)
        store.on_saved = partial(notices.announce_saved, subscribers)
        store.on_warning = partial(subscribers.message, MessageType.WARNING)
        store.on_refused = lambda chat, reason: self.turns.break_off(chat, f"Something could not be stored: {reason}.")
        self.checkpoints = Checkpoints(store)
        self.notebook_ids = NotebookIds(store, lambda: current.workspace.files)
        self.outputs = ToolOutputs(data_folder.outputs)
        self.index = FileIndex(workspace.files)
        self.jobs = BackgroundJobs(
            lambda jobs: subscribers.tell(Notice("jobs/updated", JobsListResult(jobs=jobs))),
            on_end=lambda job, note: self.job_endings.announce(job, note, self.jobs.read(job.id).lines),
            get_environment=catalog.build_environment,
        )

        # The chats and their costs.
        chats = self.chats = Chats(store, subscribers)
        self.ledger = Ledger(current, store, chats)
        model_caller = self.model_caller = ModelCaller(
            current, self.ledger, Budgets(current, catalog, self.ledger, subscribers)
        )
        self._make_mcp_manager = partial(
            McpManager,
            store=keys,
            client_features=ChatClientFeatures(current, subscribers, catalog, chats, model_caller),
            lists_folder=data_folder.mcp_lists,
            get_environment=catalog.build_environment,
        )
        self.mcp = self._make_mcp_manager(
            config,
            workspace.files.roots,
            lambda server: subscribers.tell(Notice("tool/serverUpdated", server)),
            lambda name: subscribers.tell(Notice("tool/serverRemoved", ToolServerRemovedParams(name=name))),
            keep_trust=self.folder_trust.keep_trust_during,
        )
        self.toolbox = ToolRegistry(self.mcp)
        self.toolbox.configure(config)
        services = self.services = Services(
            current=current,
            subscribers=subscribers,
            store=store,
            catalog=catalog,
            mcp=self.mcp,
            toolbox=self.toolbox,
            outputs=self.outputs,
            checkpoints=self.checkpoints,
            jobs=self.jobs,
            index=self.index,
            notebook_ids=self.notebook_ids,
            notebook_rules=NotebookRules(store),
            recent_looks=RecentLooks(),
            interpreters=Interpreters(),
            clock=clock,
        )

        # The turns: their hooks, tools, system prompts and setups, and the runner of their effects.
        commands: CommandRunner = loader.find("commands", "RUNNER")["dispatch"](self)
        tasks = self._tasks = ChatTasks(self._group)
        self.hooks = Hooks(current, subscribers, store, chats, database, catalog.build_environment)
        turn_hooks = self.turn_hooks = TurnHooks(self.hooks, chats, store)
        self.subagents = Subagents(current, store, catalog, chats, turn_hooks)
        contexts = self.tool_contexts = ToolContexts(services, chats, self.subagents)
        self.system_prompts = SystemPrompts(store, chats, self.hooks)
        setups = self.setups = Setups(services, chats, contexts, self.system_prompts)
        self.choice_memory = ChoiceMemory(services)
        prompt_contexts = PromptContexts(services, contexts)
        steering = Steering(chats, tasks, prompt_contexts)
        turns = self.turns = Turns(
            services, chats, tasks, setups, self.subagents, commands, self.choice_memory, steering
        )
        self.subagents.turns = turns
        self.job_endings = JobEndings(services, chats, tasks, turns)
        tasks.on_failure = turns.break_off
        self.unattended_calls = UnattendedCalls(subscribers, chats, tasks)
        locked_answers = LockedAnswers(services, LockState(data_folder.locks))
        chats.on_subagent_events.append(self.subagents.note_events)
        chats.on_change.append(self.hooks.notify_status)
        self.outside_agents = OutsideAgents(services, chats, tasks, contexts, turn_hooks)
        chats.on_forget.append(self.outside_agents.forget)
        # An agent may still say something, and the end of a job may begin a turn with the limits of the last one.
        chats.needs += (self.outside_agents.is_running, self.jobs.is_running_for)
        chats.effects = EffectRunner(
            services,
            chats,
            tasks,
            contexts,
            prompt_contexts,
            setups,
            turn_hooks,
            self.ledger,
            model_caller,
            locked_answers,
            commands,
            turns,
            self.outside_agents,
            ChatTitles(catalog, chats, tasks, model_caller),
        )

        # The operations on chats besides turns.
        self.direct_calls = DirectCalls(services.current, subscribers, store, chats, contexts, setups, turn_hooks)
        self.chat_operations = ChatOperations(services, chats, turns, self.subagents, self.hooks)
        self.deletions = Deletions(store, subscribers, self.chat_operations)
        self.changes = Changes(services, chats, turns)
        self.estimates = Estimates(catalog, self.ledger, chats, contexts, prompt_contexts, turns, commands)
        self.key_trials = KeyTrials(catalog, model_caller)
        self.rule_trials = RuleTrials(services, contexts)
        self.notices = notices.Notices(services, contexts, setups)
        self.warmup = Warmup(chats, catalog)

    def _publish(self, events: list[Event]) -> None:
        """Show events that are stored. The store gets this method, because it is made before the chats."""
        self.chats.publish(events)

    @property
    def config(self) -> Config:
        """The configuration that is in effect now."""
        return self.current.config

    @property
    def workspace(self) -> Workspace:
        """The workspace as it is now."""
        return self.current.workspace

    async def run(self) -> None:
        """Serve until `close` is called. Then stop all turns under way, and store them."""
        redaction.install_log_filter()
        # The request that has started the host says nothing about what its tasks log later.
        LOG_FIELDS.set(LogFields())
        await self.store.open()
        await self.notebook_ids.load()
        await self._delete_old_chats()
        self.store_warnings = list(self.store.warnings)
        orphans = await asyncio.to_thread(end_orphans)
        await asyncio.to_thread(delete_unfinished, self._written_folders)
        async with self._group as tasks:
            works: list[Callable[[], Coroutine[Any, Any, None]]] = [
                self.store.run,
                self.index.run,
                self.mcp.run,
                self.hooks.run,
                self.deletions.run,
            ]
            if (read := self._read) is not None and self._watches:
                show_error = partial(self.subscribers.message, MessageType.ERROR)
                works.append(lambda: watch(self.config, read, self.configure, show_error, run_read=run_read))
            serving = [tasks.create_task(_keep_running(work)) for work in works]
            self.orphan_warnings = [notices.announce_orphan(self.turns, orphan) for orphan in orphans]
            self.ready.set()
            await self._ended.wait()
            self.job_endings.close()
            for chat in self.chats.list_live():
                self.turns.stop(chat.state.id)
            await self._tasks.finish(self.chats.list_live())
            self.outside_agents.close()
            await self.jobs.close()
            with suppress(NotSaved):
                await self.deletions.finish()
            await self.hooks.end()
            for task in serving:
                task.cancel()
        await self.store.close()

    def _announce_key(self, settings: ProviderConfig) -> None:
        """Tell all clients what a request has shown about the key of these settings."""
        if self._ended.is_set():
            return  # the group of tasks may be closed already
        for name, entry in self.catalog.entries().items():
            if (entry.settings.url, entry.settings.read_key()) == (settings.url, settings.read_key()):
                self._group.create_task(self._announce_provider(name))

    async def _announce_provider(self, name: str) -> None:
        """Tell all clients the status of a provider. An error here must not end the host."""
        with suppress(LocalError, OSError):  # the provider or its stored key is gone by now
            self.subscribers.tell(Notice("providers/updated", await self.logins.status(name)))

    async def _delete_old_chats(self) -> None:
        """Delete the chats that are older than `chatRetentionDays`, if it is set, and the outputs of deleted chats."""
        outputs, store = self.outputs, self.store
        try:
            if days := self.config.chat_retention_days:
                before = now() - days * DAY_MS
                await outputs.forget(await store.do(lambda tables: tables.delete_unused(before, is_alive)))
            await outputs.sweep(await store.do(lambda tables: tables.list_chat_ids()))
        except NotSaved as error:
            _log.warning("old chats are not deleted this time: %s", error)

    def close(self) -> None:
        """End `run`."""
        self._ended.set()

    async def configure(self, config: Config) -> None:
        """Apply a configuration. Turns under way get only its rules of approval; the rest counts from the next turn."""
        self.current.configure(config)
        self.setups.apply_rules()
        self.catalog.configure(config)
        self.toolbox.configure(config)
        await self.mcp.apply(config)
        await self.notices.announce_configuration()

    def make_mcp_manager(
        self,
        servers: Mapping[str, McpServerConfig],
        folder: Path,
        on_change: Callable[[ToolServerUpdatedParams], None],
    ) -> McpManager:
        """Return a manager of more MCP servers, which a client adds for its own chats. The caller runs it, and
        offers the tools to these chats. `folder` is their working directory. `on_change` is called with each server
        that changed."""
        config = self.config.model_copy(update={"mcp_servers": dict(servers)})
        return self._make_mcp_manager(config, (folder,), on_change, lambda _: None)

    async def reload(self) -> None:
        """Read the configuration and apply it. Called after one of its files was written. Raises: ConfigError."""
        if self._read is not None:
            await self.configure(await asyncio.to_thread(self._read))

    def change_folders(self, files: Files) -> None:
        """Change the folders of the workspace."""
        self.current.workspace = replace(self.workspace, files=files)
        self.index.change_folders(files)
        self.mcp.change_folders(files.roots)

    def connect(self, subscriber: Subscriber) -> None:
        """Connect a client."""
        self.subscribers.add(subscriber)

    def disconnect(self, subscriber: Subscriber) -> None:
        """Disconnect a client."""
        self.unattended_calls.disconnect(subscriber)


async def _keep_running(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a part of the host until it is cancelled. If it fails, start it again, because no input may end the host."""
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001  # the boundary of the host: all chats depend on it
            _log.exception("a part of the host failed, and begins again")
            await asyncio.sleep(_RESTART_SECONDS)
        else:
            return
