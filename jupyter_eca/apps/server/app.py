"""Owns the one host of a Jupyter server, and the sessions and fronts that use it. The first client starts the host.

It must not know HTTP: `handlers.py` and `asgi.py` connect the clients, and `kernel_comms.py` the kernels.
"""

from __future__ import annotations

import asyncio
import importlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.fronts.mount import FrontMount

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from jupyter_eca.apps.server.notebook_chats import KernelChats
    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Arrivals, Landing
    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.transport.link import Link
    from jupyter_eca.workspace.kernels.jupyter_server import ServerKernels
    from jupyter_eca.workspace.ports import Files, Notebooks

# The path below `<base_url>` to which a sign-in page redirects the browser.
CALLBACK = "eca/oauth/callback"


class EcaServer:
    """The host, the sessions and the fronts of one Jupyter server."""

    def __init__(self, serverapp: Any) -> None:
        self._serverapp = serverapp
        self._host: Host | None = None
        self._making = asyncio.Lock()
        self._kernels: ServerKernels | None = None
        self._running: asyncio.Task[None] | None = None
        self._sessions: set[asyncio.Task[None]] = set()
        self._arrivals: Arrivals | None = None
        self.fronts = FrontMount(self.host, self._shells)

    @property
    def folder(self) -> Path:
        """The folder that Jupyter shows, which is the root of the workspace."""
        return Path(self._serverapp.root_dir)

    async def host(self) -> Host:
        """Return the host. Raises: ConfigError; the next client tries again, with the configuration as it is then."""
        async with self._making:
            if self._host is None:
                # These imports take a second (pydantic and what depends on it), so they are not done on the server's
                # loop.
                for module in (
                    "jupyter_eca.host.host",
                    "jupyter_eca.config",
                    "jupyter_eca.workspace.kernels.jupyter_server",
                ):
                    await asyncio.to_thread(importlib.import_module, module)
                self._host = await self._make()
            return self._host

    async def _make(self) -> Host:
        from jupyter_eca import config
        from jupyter_eca.config.trust import open_trusted_folders
        from jupyter_eca.host.host import Host
        from jupyter_eca.workspace.kernels.jupyter_server import ServerKernel, ServerKernels
        from jupyter_eca.workspace.paths import find_database
        from jupyter_eca.workspace.ports import Files, Workspace

        folder = self.folder
        trusted = open_trusted_folders(find_database())
        read = partial(config.read_config, (folder,), trust=trusted)
        settings = await asyncio.to_thread(read, skip_broken_projects=True)
        app, files = self._serverapp, Files((folder,))
        kernels = self._kernels = ServerKernels(app.kernel_manager, app.session_manager, self._prompting_kernel)
        workspace = Workspace(files, ServerKernel(kernels), self._notebooks(files), kernels)
        host = Host(settings, workspace, find_database(), read, trusted)
        running = self._running = asyncio.get_running_loop().create_task(host.run())
        await _ready(host.ready, running)
        from jupyter_eca.apps.server.file_events import FileEventEmitter

        FileEventEmitter(app.event_logger).follow(host)
        return host

    def _notebooks(self, files: Files) -> Notebooks:
        """Return the notebooks: shared documents if collaboration is loaded, files otherwise."""
        from jupyter_eca.workspace.notebooks.file import NotebookFiles

        notebooks = NotebookFiles(files, self._kernels)
        for sharing in self._serverapp.extension_manager.extension_apps.get("jupyter_server_ydoc", ()):
            from jupyter_eca.workspace.notebooks.shared_document import SharedNotebooks

            return SharedNotebooks(sharing, notebooks, self._kernels)
        return notebooks

    def _prompting_kernel(self, chat: str) -> str | None:
        """Return the id of the kernel whose cell waits for the answer of a chat."""
        live = self._host.chats.live(chat) if self._host is not None else None
        return live.kernel.id if live is not None and live.kernel is not None else None

    def _shells(self) -> Shells | None:
        """Return what starts terminals, if Jupyter has its terminals enabled."""
        from jupyter_eca.apps.server.terminals import ServerShells

        manager = self._serverapp.web_app.settings.get("terminal_manager")
        return ServerShells(manager) if manager is not None else None

    async def serve(
        self,
        link: Link,
        interrupt: Callable[[], Awaitable[None]] | None = None,
        kernel: str | None = None,
        origin: str | None = None,
        chats: Callable[[], Awaitable[KernelChats]] | None = None,
        *,
        quiet: bool = False,
        approves: bool = True,
    ) -> None:
        """Serve a session over a link, until it ends.

        For a session of a kernel, `interrupt` interrupts it, `kernel` is its id, and `chats` returns the chats of its
        notebook, the only ones that it sees. `origin` is the scheme, host and port by which the user's browser reaches
        this server, None where they are unknown. `quiet`: see `EcaSession`. `approves`: see `Door`.
        """
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.eca.session")
        from jupyter_eca.fronts.eca.session import EcaSession

        base = origin + self._serverapp.base_url if origin else self._serverapp.connection_url
        notebook_chats = await chats() if chats is not None else None
        door = ServerDoor(self, interrupt, kernel, base + CALLBACK, approves=approves)
        await EcaSession(link, door, notebook_chats, quiet=quiet).run()

    def start(
        self,
        link: Link,
        interrupt: Callable[[], Awaitable[None]] | None = None,
        kernel: str | None = None,
        origin: str | None = None,
        chats: Callable[[], Awaitable[KernelChats]] | None = None,
        *,
        quiet: bool = False,
        approves: bool = True,
    ) -> None:
        """Serve a session until it or the server ends. See `serve`."""
        self.start_child(self.serve(link, interrupt, kernel, origin, chats, quiet=quiet, approves=approves))

    def start_child(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run work until it or the server ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)
        return task

    async def arrivals(self) -> Arrivals:
        """Return the sign-ins for which a browser has not come back yet."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.sign_in")
        from jupyter_eca.mcp_client.sign_in import Arrivals

        self._arrivals = self._arrivals or Arrivals()
        return self._arrivals

    async def close(self) -> None:
        """End the sessions, then the fronts, then the host, which stores running turns."""
        for task in self._sessions:
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        await self.fronts.close()
        if self._host is not None and self._running is not None:
            self._host.close()
            # Not `await`: whatever ended the host, Jupyter must end, too. asyncio logs an error that nobody has seen.
            await asyncio.wait((self._running,))
        if self._kernels is not None:
            self._kernels.close()


async def _ready(ready: asyncio.Event, running: asyncio.Task[None]) -> None:
    """Wait until the task is ready. Raises: the error that ended it before."""
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        waiting.cancel()
        running.result()


class ServerBrowser:
    """A `Browser` whose sign-ins redirect to a URL of Jupyter, which also works behind a proxy and on a hub.

    It opens no page itself, because the user may be on another machine.
    """

    def __init__(self, eca_server: EcaServer, address: str) -> None:
        self._eca_server = eca_server
        self._address = address

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:  # noqa: ARG002  # the URL is fixed
        from jupyter_eca.mcp_client.sign_in import Landing

        return Landing(self._address, await self._eca_server.arrivals())


class ServerDoor:
    """The `Door` of a session in this server."""

    def __init__(
        self,
        eca_server: EcaServer,
        interrupt: Callable[[], Awaitable[None]] | None,
        kernel: str | None,
        address: str,
        *,
        approves: bool,
    ) -> None:
        self._eca_server = eca_server
        self._interrupt = interrupt
        self.browser = ServerBrowser(eca_server, address)
        self.kernel = kernel
        self.sees_all = interrupt is None
        self.approves = approves
        # Code in a kernel can answer for its user.
        self.may_trust = approves and interrupt is None
        self.follows = False

    async def host(self, params: InitializeParams) -> Host:  # noqa: ARG002  # one host: no client reconfigures the others'
        return await self._eca_server.host()

    async def doctor(self, host: Host) -> str:
        from jupyter_eca.host.doctor import report

        return await report(host.services, "in the Jupyter server")

    async def interrupt(self) -> None:
        if self._interrupt is not None:
            await self._interrupt()
