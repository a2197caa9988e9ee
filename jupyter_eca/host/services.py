"""What the parts of a host share and none of them owns: leaves, which know nothing of chats.

Must not know the chats, the turns or the host: those are built from these. `host.host` builds them all.
A part that needs a few of them takes those few; one that needs many takes `Services`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from jupyter_eca.config import register_secrets, resolve

if TYPE_CHECKING:
    from jupyter_eca.config import Config, Resolved
    from jupyter_eca.host.checkpoints.checkpoints import Checkpoints
    from jupyter_eca.host.store import Store
    from jupyter_eca.host.subscribers import Subscribers
    from jupyter_eca.host.tools.outputs import ToolOutputs
    from jupyter_eca.host.tools.registry import ToolRegistry
    from jupyter_eca.instructions import Interpreters
    from jupyter_eca.mcp_client import McpManager
    from jupyter_eca.plugins.contexts.reading.recent_look import Glances
    from jupyter_eca.plugins.providers.catalog import Catalog
    from jupyter_eca.workspace.files.index import FileIndex
    from jupyter_eca.workspace.jobs.background import BackgroundJobs
    from jupyter_eca.workspace.ports import Workspace


class Current:
    """What holds now. Each part is replaced as a whole, so read it again after every wait."""

    workspace: Workspace
    """The folders, notebooks and kernels. The host replaces it when it moves."""
    resolved: Resolved
    """The configuration and what follows from it. `configure` replaces it."""

    def __init__(self, config: Config, workspace: Workspace) -> None:
        self.workspace = workspace
        self.configure(config)

    def configure(self, config: Config) -> None:
        """Have a configuration hold. Its secrets are made known before anything can quote them."""
        register_secrets(config)
        self.resolved = resolve(config)

    @property
    def config(self) -> Config:
        return self.resolved.config


@dataclass(frozen=True, slots=True)
class Services:
    """The leaves of one host."""

    current: Current
    """The configuration and the workspace that hold now."""
    subscribers: Subscribers
    """The clients that are connected."""
    store: Store
    """The database of chats."""
    catalog: Catalog
    """The providers and their models."""
    mcp: McpManager
    """The MCP servers."""
    toolbox: ToolRegistry
    """All tools there are."""
    outputs: ToolOutputs
    """The tool outputs that are too long for a model."""
    checkpoints: Checkpoints
    """The files and cells as they were before each turn."""
    jobs: BackgroundJobs
    """The shell commands that run in the background."""
    index: FileIndex
    """The names of the files of the workspace, for searching."""
    glances: Glances
    """The notebooks that contexts have read within the last seconds."""
    interpreters: Interpreters
    """What is known of the Python interpreters of kernels."""

    @property
    def config(self) -> Config:
        return self.current.config

    @property
    def workspace(self) -> Workspace:
        return self.current.workspace
