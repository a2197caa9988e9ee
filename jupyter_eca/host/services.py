"""Owns `Services`, the parts of a host that its other parts share: the store, the models, the tools and others.

None of them may know the chats, the turns or the host, which are built from them in `host.host`. A part that needs a
few of these services takes just those, and a part that needs many takes `Services`.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from jupyter_eca.config import register_secrets, resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from jupyter_eca.config import Config, ResolvedConfig
    from jupyter_eca.config.outside.outside_agents import OutsideAgent
    from jupyter_eca.host.chat.notebook_ids import NotebookIds
    from jupyter_eca.host.chat.notebook_rules import NotebookRules
    from jupyter_eca.host.checkpoints.checkpoints import Checkpoints
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.host.tools.kept_outputs import ToolOutputs
    from jupyter_eca.host.tools.registry import ToolRegistry
    from jupyter_eca.instructions import Interpreters
    from jupyter_eca.mcp_client import McpManager
    from jupyter_eca.plugins.contexts.reading.recent_look import RecentLooks
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.workspace.files.index import FileIndex
    from jupyter_eca.workspace.jobs.background import BackgroundJobs
    from jupyter_eca.workspace.ports import Workspace


class Current:
    """The workspace and the configuration that are in effect now. Each is replaced as a whole, so read it again after
    every `await`."""

    workspace: Workspace
    """The folders, notebooks and kernels. `Host.change_folders` replaces it."""
    resolved: ResolvedConfig
    """The configuration, with the agents and secrets that follow from it. `configure` replaces it."""

    def __init__(
        self, config: Config, workspace: Workspace, find_outside_agents: Callable[[], Mapping[str, OutsideAgent]]
    ) -> None:
        """`find_outside_agents` returns the outside agents that plugs know."""
        self.workspace = workspace
        self._find_outside_agents = find_outside_agents
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Apply a configuration. Its secrets are registered first, so that they are redacted in every text."""
        register_secrets(config)
        self.resolved = resolve(config, self._find_outside_agents())

    @property
    def config(self) -> Config:
        """The configuration that is in effect now."""
        return self.resolved.config


@dataclass(frozen=True, slots=True)
class Services:
    """The shared parts of one host."""

    current: Current
    """The configuration and the workspace that are in effect now."""
    subscribers: Subscribers
    """The clients that are connected."""
    store: Store
    """The database of chats."""
    catalog: Catalog
    """The providers and their models."""
    mcp: McpManager
    """The MCP servers."""
    toolbox: ToolRegistry
    """All tools."""
    outputs: ToolOutputs
    """The tool outputs that are too long for a model."""
    checkpoints: Checkpoints
    """The files and cells as they were before each turn, for undo."""
    jobs: BackgroundJobs
    """The shell commands that run in the background."""
    index: FileIndex
    """The names of the files of the workspace, for searching."""
    notebook_ids: NotebookIds
    """The ids of the notebooks in which chats began."""
    notebook_rules: NotebookRules
    """The approval rules of notebooks."""
    recent_looks: RecentLooks
    """The notebooks that contexts have read within the last seconds."""
    interpreters: Interpreters
    """The versions and packages of the Python interpreters of kernels."""
    clock: Callable[[], float] = monotonic
    """Returns the time in seconds. It measures how long calls wait for running code."""

    @property
    def config(self) -> Config:
        """The configuration that is in effect now."""
        return self.current.config

    @property
    def workspace(self) -> Workspace:
        """The workspace as it is now."""
        return self.current.workspace
