"""The one host of a Jupyter server, made when the first client comes, and the sessions that talk to it."""

from __future__ import annotations

import asyncio
import importlib
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from starlette.types import ASGIApp

    from jupyter_eca.apps.server.notebook_chats import KernelChats
    from jupyter_eca.fronts.ahp.front import Front as AhpFront
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Arrivals, Landing
    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.transport.link import Link
    from jupyter_eca.workspace.kernels.jupyter_server import ServerKernels
    from jupyter_eca.workspace.ports import Files, Notebooks

# Below `<base_url>`: where browsers come back to from a sign-in.
CALLBACK = "eca/oauth/callback"


class Rooms:
    def __init__(self, serverapp: Any) -> None:
        self._serverapp = serverapp
        self._host: Host | None = None
        self._making = asyncio.Lock()
        self._kernels: ServerKernels | None = None
        self._running: asyncio.Task[None] | None = None
        self._rest: ASGIApp | None = None
        self._fronts: ASGIApp | None = None
        self._mcp: ASGIApp | None = None
        self._mcp_making = asyncio.Lock()
        self._sessions: set[asyncio.Task[None]] = set()
        self._arrivals: Arrivals | None = None
        self._ahp: AhpFront | None = None
        self._ahp_running: asyncio.Task[None] | None = None
        self._ahp_making = asyncio.Lock()

    async def host(self) -> Host:
        """Raises: ConfigError; the next client tries again, with what the file says then."""
        async with self._making:
            if self._host is None:
                # A second of imports (pydantic and what builds on it): not on the server's loop.
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
        from jupyter_eca.host.host import Host
        from jupyter_eca.workspace.kernels.jupyter_server import ServerKernel, ServerKernels
        from jupyter_eca.workspace.paths import database
        from jupyter_eca.workspace.ports import Files, Workspace

        folder = Path(self._serverapp.root_dir)
        read = partial(config.read, (folder,))
        settings = await asyncio.to_thread(read)
        app, files = self._serverapp, Files((folder,))
        kernels = self._kernels = ServerKernels(app.kernel_manager, app.session_manager, self._asking)
        workspace = Workspace(files, ServerKernel(kernels), self._notebooks(files), kernels)
        host = Host(settings, workspace, database(), read)
        running = self._running = asyncio.get_running_loop().create_task(host.run())
        await _ready(host.ready, running)
        from jupyter_eca.apps.server.file_events import Touched

        Touched(app.event_logger).follow(host)
        return host

    def _notebooks(self, files: Files) -> Notebooks:
        """Shared documents, where collaboration is loaded; for all others the file."""
        from jupyter_eca.workspace.notebooks.file import NotebookFiles

        notebooks = NotebookFiles(files, self._kernels)
        for sharing in self._serverapp.extension_manager.extension_apps.get("jupyter_server_ydoc", ()):
            from jupyter_eca.workspace.notebooks.shared_document import SharedNotebooks

            return SharedNotebooks(sharing, notebooks, self._kernels)
        return notebooks

    def _asking(self, chat: str) -> str | None:
        """The kernel whose cell waits for the answer of a chat."""
        live = self._host.live(chat) if self._host is not None else None
        return live.kernel.id if live is not None and live.kernel is not None else None

    async def rest(self) -> ASGIApp:
        """The MCP chat front: one for all its clients, as its contract wants. Raises: ConfigError."""
        host = await self.host()
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.rest.app")
        from jupyter_eca.fronts.rest.app import application
        from jupyter_eca.fronts.rest.front import Front

        if self._rest is None:
            self._rest = application(Front(host))
        return self._rest

    async def fronts(self) -> ASGIApp:
        """Those of other packages. Raises: ConfigError."""
        host = await self.host()
        if self._fronts is None:
            await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mount")
            from jupyter_eca.fronts.mount import Plugged

            made = await asyncio.to_thread(Plugged, host)
            self._fronts = self._fronts or made
        return self._fronts

    async def mcp(self) -> ASGIApp:
        """The assistant as an MCP server, for as long as this server runs. Raises: ConfigError."""
        async with self._mcp_making:
            if self._mcp is None:
                host = await self.host()
                await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.http")
                made: asyncio.Future[ASGIApp] = asyncio.get_running_loop().create_future()
                serving = self.child(self._serve_mcp(host, made))
                await asyncio.wait((serving, made), return_when=asyncio.FIRST_COMPLETED)
                if serving.done():
                    serving.result()
                self._mcp = await made
            return self._mcp

    async def _serve_mcp(self, host: Host, made: asyncio.Future[ASGIApp]) -> None:
        from jupyter_eca.fronts.mcp.assistant import Assistant
        from jupyter_eca.fronts.mcp.http import application, end_of_streams_is_ours

        end_of_streams_is_ours()
        with closing(Assistant(host, panel=True)) as assistant:
            async with application(assistant) as mcp:
                made.set_result(mcp)
                await asyncio.Event().wait()

    async def ahp(self) -> AhpFront:
        """The Agent Host Protocol's front: one for all its clients. Raises: ConfigError."""
        host = await self.host()
        async with self._ahp_making:
            if self._ahp is None:
                await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.front")
                from jupyter_eca.apps.server.terminals import ServerShells
                from jupyter_eca.fronts.ahp.front import Front

                manager = self._serverapp.web_app.settings.get("terminal_manager")
                front = Front(host, ServerShells(manager) if manager is not None else None)
                running = self._ahp_running = asyncio.get_running_loop().create_task(front.run())
                await _ready(front.ready, running)
                self._ahp = front
            return self._ahp

    async def _serve_ahp(self, link: Link) -> None:
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.connection")
        from jupyter_eca.fronts.ahp.connection import Connection

        await Connection(link, self.ahp).run()

    def start_ahp(self, link: Link) -> None:
        """A client of the Agent Host Protocol; `close` ends it."""
        self.child(self._serve_ahp(link))

    async def serve(
        self,
        link: Link,
        interrupt: Callable[[], Awaitable[None]] | None = None,
        kernel: str | None = None,
        origin: str | None = None,
        owned: Callable[[], Awaitable[KernelChats]] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        """A session over a link, until it ends. `interrupt` and the id are given for a kernel's: it sees its own chats
        only, which `owned` gives: the cells and the panels of a notebook share them. `origin` is where the client's
        user has this server, as far as one can tell. `quiet`: see `EcaSession`."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.eca.session")
        from jupyter_eca.fronts.eca.session import EcaSession

        base = origin + self._serverapp.base_url if origin else self._serverapp.connection_url
        own = await owned() if owned is not None else None
        await EcaSession(link, ServerDoor(self, interrupt, kernel, base + CALLBACK), own, quiet=quiet).run()

    def start(
        self,
        link: Link,
        interrupt: Callable[[], Awaitable[None]] | None = None,
        kernel: str | None = None,
        origin: str | None = None,
        owned: Callable[[], Awaitable[KernelChats]] | None = None,
        *,
        quiet: bool = False,
    ) -> None:
        """`serve` as a child of the server itself; `close` ends it."""
        self.child(self.serve(link, interrupt, kernel, origin, owned, quiet=quiet))

    def child(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Ends with the server."""
        task = asyncio.get_running_loop().create_task(work)
        self._sessions.add(task)
        task.add_done_callback(self._sessions.discard)
        return task

    async def arrivals(self) -> Arrivals:
        """Who is waited for to come back from a sign-in."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.sign_in")
        from jupyter_eca.mcp_client.sign_in import Arrivals

        self._arrivals = self._arrivals or Arrivals()
        return self._arrivals

    async def close(self) -> None:
        """Sessions first, then the host, which stores what was under way."""
        for task in self._sessions:
            task.cancel()
        await asyncio.gather(*self._sessions, return_exceptions=True)
        if self._ahp is not None and self._ahp_running is not None:
            self._ahp.close()
            await self._ahp_running
        if self._host is not None and self._running is not None:
            self._host.close()
            await self._running
        if self._kernels is not None:
            self._kernels.close()


async def _ready(ready: asyncio.Event, running: asyncio.Task[None]) -> None:
    """Raises what ended the task before it was ready."""
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait((running, waiting), return_when=asyncio.FIRST_COMPLETED)
    if running.done():
        waiting.cancel()
        running.result()


class ServerBrowser:
    """A `callback.Browser` that comes back to Jupyter's own door, which works wherever Jupyter does: behind a proxy, on
    a Hub. Nothing is opened from here: the user sits elsewhere."""

    def __init__(self, rooms: Rooms, address: str) -> None:
        self._rooms = rooms
        self._address = address

    async def land(self, port: int | None, used: Sequence[str]) -> Landing:  # noqa: ARG002  # it is where it is
        from jupyter_eca.mcp_client.sign_in import Landing

        return Landing(self._address, await self._rooms.arrivals())


class ServerDoor:
    """What a session asks of the server it is in."""

    def __init__(
        self, rooms: Rooms, interrupt: Callable[[], Awaitable[None]] | None, kernel: str | None, address: str
    ) -> None:
        self._rooms = rooms
        self._interrupt = interrupt
        self.browser = ServerBrowser(rooms, address)
        self.kernel = kernel
        self.sees_all = interrupt is None
        self.follows = False

    async def host(self, params: InitializeParams) -> Host:  # noqa: ARG002  # one host: no client reconfigures the others'
        return await self._rooms.host()

    async def doctor(self, host: Host) -> str:
        from jupyter_eca.host.doctor import report

        return await report(host, "in the Jupyter server")

    async def interrupt(self) -> None:
        if self._interrupt is not None:
            await self._interrupt()
