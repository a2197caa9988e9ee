"""Owns the engine that runs inside a kernel. It is used if there is no Jupyter server, or if the server does not have
our extension. It has the rights of the kernel.

It must not know the cells, or the links over which sessions exchange their messages: `connection` starts the engine and
connects to it.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from jupyter_eca import config
from jupyter_eca.apps.kernel.engine.executed_notebook import ExecutedNotebooks
from jupyter_eca.config.trust import open_trusted_folders
from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.host.doctor import report
from jupyter_eca.host.host import Host
from jupyter_eca.mcp_client.loopback_browser import Loopback
from jupyter_eca.workspace.paths import find_database
from jupyter_eca.workspace.ports import Files, Workspace

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from jupyter_eca.protocol.base import ChatId
    from jupyter_eca.protocol.lifecycle import InitializeParams


class EmbeddedDoor:
    """Implements `Door` for the sessions of this kernel: it gives the host to each session, and decides what the client
    of the session may do. It also runs the host."""

    # The cells see only the chats in which they have asked.
    sees_all_chats = False
    # Events do not say who caused them, because only one person uses this host.
    sends_user_names = False
    # A client of this kernel may do everything, because the kernel is its user's own.
    access = FULL_ACCESS
    # The host has the rights of this kernel, so the user of the kernel may trust folders.
    may_trust_folders = True
    # The workspace is the folder in which the kernel runs.
    client_chooses_folders = False
    # Opens pages for a sign-in in the user's browser, which is on this machine.
    browser = Loopback()
    # The id by which a Jupyter server knows this kernel is not known here.
    kernel_id = None

    def __init__(self, folder: Path, shell: Any) -> None:
        """`folder` becomes the workspace of the host. `shell` is IPython's shell, which runs the cells. Raises:
        ConfigError."""
        files = Files((folder,))
        workspace = Workspace(files, notebooks=ExecutedNotebooks(files, shell))
        self.wire_ids: dict[str, ChatId] = {}
        """The chats in which the cells and panels of this kernel have asked: by the host's id of a chat, the id that
        the cells and panels use. All sessions of this kernel share it, see `EcaSession`."""
        trusted = open_trusted_folders(find_database())
        read = partial(config.read_config, (folder,), trust=trusted)
        # `watches_config=False`: a watch on the configuration files would wake the kernel every few seconds.
        self._host = Host(
            read(skip_broken_projects=True), workspace, find_database(), read, trusted, watches_config=False
        )
        # This completes a sentence after a sign-in: until when a key is remembered that is only in memory.
        self._host.logins.until = "this kernel ends"

    def copy_for_panel(self) -> EmbeddedDoor:
        """Return a copy of this door for a panel. A panel sees all chats of this folder, as the panel in JupyterLab
        does."""
        door = copy(self)
        door.sees_all_chats = True
        return door

    async def run(self) -> None:
        """Run the host until it is cancelled."""
        await self._host.run()

    async def wait_until_ready(self) -> None:
        """Wait until the host is ready."""
        await self._host.ready.wait()

    async def get_host(self, params: InitializeParams) -> Host:  # noqa: ARG002  # the kernel is configured by files only
        """Return the host for a client."""
        return self._host

    async def interrupt_kernel(self) -> None:
        """Do nothing. The user stops a turn in this process by interrupting the kernel, and this also stops the code
        that the turn runs."""

    async def describe_setup(self, host: Host) -> str:
        """Return the report on what is set up and what is missing."""
        return await report(host.services, "in this kernel (no Jupyter server with jupyter_eca was found)")
