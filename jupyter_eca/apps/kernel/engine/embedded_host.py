"""Owns the engine inside a kernel. It is used if there is no Jupyter server, or if the server does not have our
extension. It has the rights of the kernel.

It must not know cells or links: `client` starts it and connects to it.
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
    """The `Door` of the sessions of this kernel: it gives each of them the host, and says what its client may do. It
    also runs the host. See `fronts/eca/door.py` for the meaning of the attributes."""

    sees_all = False
    names_people = False
    access = FULL_ACCESS
    # The host has the rights of this kernel, so the user of the kernel may trust folders.
    may_trust = True
    client_chooses_folders = False
    browser = Loopback()
    kernel = None

    def __init__(self, folder: Path, shell: Any) -> None:
        """`folder` becomes the workspace of the host. `shell` is that of IPython. Raises: ConfigError."""
        files = Files((folder,))
        workspace = Workspace(files, notebooks=ExecutedNotebooks(files, shell))
        self.own_chats: dict[str, ChatId] = {}
        """The chats in which the cells and panels of this kernel have asked."""
        trusted = open_trusted_folders(find_database())
        read = partial(config.read_config, (folder,), trust=trusted)
        # `watches=False`: a watch on the configuration files would wake the kernel every few seconds.
        self._host = Host(read(skip_broken_projects=True), workspace, find_database(), read, trusted, watches=False)
        self._host.logins.until = "this kernel ends"

    def copy_for_panel(self) -> EmbeddedDoor:
        """Return the door for a panel. A panel sees all chats of this folder, as the side panel of Lab does."""
        door = copy(self)
        door.sees_all = True
        return door

    async def run(self) -> None:
        """Run the host until it is cancelled."""
        await self._host.run()

    async def ready(self) -> None:
        """Wait until the host is ready."""
        await self._host.ready.wait()

    async def host(self, params: InitializeParams) -> Host:  # noqa: ARG002  # the kernel is configured by files only
        """Return the host for a client."""
        return self._host

    async def interrupt(self) -> None:
        """Do nothing. A turn in this process is stopped by an interrupt of the kernel, which stops its code, too."""

    async def doctor(self, host: Host) -> str:
        """Return the report of what is set up and what is missing."""
        return await report(host.services, "in this kernel (no Jupyter server with jupyter_eca was found)")
