"""Owns the one host of a Jupyter server, and the sessions and fronts that use it. The host is the object that runs all
chats. A session is the connection of one client that speaks ECA, such as a panel. A front serves another protocol. The
first client starts the host.

It must not know HTTP: `websockets.py` and `asgi.py` connect the clients, and `kernel_comms.py` connects the kernels.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections import Counter
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.fronts.client_access import FULL_ACCESS
from jupyter_eca.fronts.mcp.agent_endpoint import AgentEndpoint
from jupyter_eca.fronts.mount import FrontMount

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Sequence

    from jupyter_eca.apps.server.kernel_rules import KernelRules
    from jupyter_eca.apps.server.notebook_chats import KernelChats
    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Landing, WaitingSignIns
    from jupyter_eca.protocol.lifecycle import InitializeParams
    from jupyter_eca.transport.link import Link
    from jupyter_eca.workspace.kernels.jupyter_server import ServerKernels
    from jupyter_eca.workspace.kernels.remote import RemoteKernels
    from jupyter_eca.workspace.ports import Files, Notebooks

# The path below `<base_url>` to which a sign-in page redirects the browser.
CALLBACK = "eca/oauth/callback"
# The path below `<base_url>` at which outside agents reach our tools.
AGENT_PATH = "eca/agent"


class EcaServer:
    """The host, the sessions and the fronts of one Jupyter server."""

    def __init__(self, serverapp: Any) -> None:
        """`serverapp` is Jupyter's object for the server."""
        self._serverapp = serverapp
        self._host: Host | None = None  # None until the first client comes
        self._creation_lock = asyncio.Lock()  # so that two first clients do not both start a host
        self.remote: RemoteKernels | None = None
        """Finds the kernels behind a gateway; None when all kernels are local. Set it before the first client."""
        # The kernels of the server for the tools, and the task that runs the host; both None before there is a host.
        self._kernels: ServerKernels | None = None
        self._host_task: asyncio.Task[None] | None = None
        self._tasks: set[asyncio.Task[None]] = set()  # the sessions, and other work that ends with the server
        self._waiting_sign_ins: WaitingSignIns | None = None
        self._session_counts: Counter[str | None] = Counter()  # the number of sessions of each user, by the username
        self.fronts = FrontMount(self.get_host, self._find_shells)
        self.agents: AgentEndpoint | None = None
        """The access of outside agents to our tools; None before the host has started."""
        self.on_host: Callable[[Host], Awaitable[None]] | None = None
        """Called with the host when it has started, before any client uses it."""

    @property
    def folder(self) -> Path:
        """The folder that Jupyter shows, which is the root of the workspace."""
        return Path(self._serverapp.root_dir)

    async def get_host(self) -> Host:
        """Return the host, and start it first if needed.

        Raises: ConfigError. The host is then not started, and the next client tries again with the configuration of
        that time.
        """
        async with self._creation_lock:
            if self._host is None:
                # These imports take a second (pydantic and what depends on it), so they are not done on the server's
                # loop.
                for module in (
                    "jupyter_eca.host.host",
                    "jupyter_eca.config",
                    "jupyter_eca.workspace.kernels.jupyter_server",
                ):
                    await asyncio.to_thread(importlib.import_module, module)
                self._host = await self._create_host()
            return self._host

    @property
    def has_host(self) -> bool:
        """Whether a client has come, so that the host runs."""
        return self._host is not None

    async def find_kernel_rules(self) -> KernelRules:
        """Return what the kernels of this server get. A kernel does not start the host: where no client has come yet,
        the configuration is read for the kernel alone. Raises: ConfigError."""
        rules = await asyncio.to_thread(importlib.import_module, "jupyter_eca.apps.server.kernel_rules")
        if self._host is None:
            return await asyncio.to_thread(rules.read_kernel_rules, self.folder)
        return rules.KernelRules(self._host.config, self._host.catalog, self.folder)

    async def _create_host(self) -> Host:
        """Create the host for the folder of the server, and start it. Raises: ConfigError."""
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
        kernels = self._kernels = ServerKernels(
            app.kernel_manager, app.session_manager, self._find_prompting_kernel, self.remote
        )
        workspace = Workspace(files, ServerKernel(kernels), self._create_notebooks(files), kernels)
        host = Host(settings, workspace, find_database(), read, trusted)
        running = self._host_task = asyncio.get_running_loop().create_task(host.run())
        await _wait_until_ready(host.ready, running)
        from jupyter_eca.apps.server.activity import report_activity
        from jupyter_eca.apps.server.file_events import FileEventEmitter
        from jupyter_eca.apps.server.metrics import MetricsCounter

        FileEventEmitter(app.event_logger).follow(host)
        MetricsCounter().follow(host)
        self._record_traces(host)
        self.start_child(report_activity(host, app.web_app.settings["last_activity_times"]))
        self.agents = host.outside_agents.endpoint = AgentEndpoint(host, self._find_agent_address, self.start_child)
        if self.on_host is not None:
            await self.on_host(host)
        return host

    @staticmethod
    def _record_traces(host: Host) -> None:
        """Report what happens to OpenTelemetry, if the administrator has set it up."""
        # Without its SDK nothing is reported, and importing our module is not worth its time.
        if "opentelemetry.sdk.trace" not in sys.modules:
            return
        from jupyter_eca.apps.server.traces import TraceRecorder, is_recording

        if is_recording():
            TraceRecorder().follow(host)

    def _create_notebooks(self, files: Files) -> Notebooks:
        """Return the notebooks of the workspace: shared documents if jupyter-collaboration is loaded, otherwise
        files."""
        from jupyter_eca.workspace.notebooks.file import NotebookFiles

        notebooks = NotebookFiles(files, self._kernels)
        # `jupyter_server_ydoc` is the server part of jupyter-collaboration. It has one app, or none.
        for sharing in self._serverapp.extension_manager.extension_apps.get("jupyter_server_ydoc", ()):
            from jupyter_eca.workspace.notebooks.shared_document import SharedNotebooks

            return SharedNotebooks(sharing, notebooks, self._kernels)
        return notebooks

    def _find_prompting_kernel(self, chat: str) -> str | None:
        """Return the id of the kernel whose cell waits for the answer of a chat; None if no cell waits."""
        live = self._host.chats.get_live(chat) if self._host is not None else None
        return live.kernel.id if live is not None and live.kernel is not None else None

    def _find_agent_address(self) -> str:
        """Return the address at which programs on this machine reach our tools. It is never the public address of a
        hub or a proxy. If the server has a certificate of its own or listens on a Unix socket, programs cannot simply
        connect to it, and "" is returned."""
        app = self._serverapp
        if app.sock or app.certfile:
            return ""
        here = app.ip if app.ip not in {"", "*", "0.0.0.0", "::", "localhost"} else "127.0.0.1"  # noqa: S104  # compared, not used
        return f"http://{f'[{here}]' if ':' in here else here}:{app.port}{app.base_url}{AGENT_PATH}"

    def _find_shells(self) -> Shells | None:
        """Return the object that starts terminals; None if terminals are disabled in Jupyter."""
        from jupyter_eca.apps.server.terminals import ServerShells

        manager = self._serverapp.web_app.settings.get("terminal_manager")
        return ServerShells(manager) if manager is not None else None

    async def serve(
        self,
        link: Link,
        interrupt: Callable[[], Awaitable[None]] | None = None,
        kernel_id: str | None = None,
        origin: str | None = None,
        find_chats: Callable[[], Awaitable[KernelChats]] | None = None,
        *,
        quiet: bool = False,
        access: ClientAccess = FULL_ACCESS,
    ) -> None:
        """Serve the session of one client over a link, until the session ends. `start_child` runs this as a task that
        also ends with the server.

        Three arguments are for a client that is a kernel, and None for others: `interrupt()` interrupts the kernel,
        `kernel_id` is Jupyter's id of it, and `find_chats()` returns the chats of its notebook, which are all that the
        session sees. `origin` is the scheme, host and port by which the user's browser reaches this server, or None if
        they are not known. `quiet`: the client gets fewer messages, because it shows no panel. `access`: what the
        client may do.
        """
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.eca.session")
        from jupyter_eca.fronts.eca.session import EcaSession

        base = origin + self._serverapp.base_url if origin else self._serverapp.connection_url
        notebook_chats = await find_chats() if find_chats is not None else None
        door = ServerDoor(self, interrupt, kernel_id, base + CALLBACK, access=access)
        user = access.user.username if access.user else None
        self._session_counts[user] += 1
        try:
            await EcaSession(link, door, notebook_chats, quiet=quiet).run()
        finally:
            self._session_counts[user] -= 1

    @property
    def has_several_people(self) -> bool:
        """Whether pages of more than one known user are connected."""
        return sum(count > 0 for user, count in self._session_counts.items() if user is not None) > 1

    def start_child(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run the coroutine `work` as a task, which is cancelled when the server ends."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def get_waiting_sign_ins(self) -> WaitingSignIns:
        """Return the sign-ins to other services that still wait for the user's browser."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.mcp_client.sign_in")
        from jupyter_eca.mcp_client.sign_in import WaitingSignIns

        self._waiting_sign_ins = self._waiting_sign_ins or WaitingSignIns()
        return self._waiting_sign_ins

    async def close(self) -> None:
        """End the sessions, then the fronts, and then the host, which stores its running turns."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.fronts.close()
        if self._host is not None and self._host_task is not None:
            self._host.close()
            # `wait` does not raise the host's error, because Jupyter must end in any case. asyncio logs that error.
            await asyncio.wait((self._host_task,))
        if self._kernels is not None:
            self._kernels.close()


async def _wait_until_ready(ready: asyncio.Event, task: asyncio.Task[None]) -> None:
    """Wait until the task sets the event. Raises: the error of the task, if it ends before that."""
    waiting = asyncio.ensure_future(ready.wait())
    await asyncio.wait((task, waiting), return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        waiting.cancel()
        task.result()


class ServerBrowser:
    """Implements `Browser` for a session in this server. After a sign-in, the user's browser comes back to a URL of
    this Jupyter server, which works behind a proxy and on a hub, too.

    This class does not open a page in a browser, because the user may be on another machine.
    """

    def __init__(self, eca_server: EcaServer, address: str) -> None:
        """`address` is the URL to which the browser comes back."""
        self._eca_server = eca_server
        self._address = address

    async def prepare_landing(self, port: int | None, used: Sequence[str]) -> Landing:  # noqa: ARG002  # see below
        """Return the URL that the browser comes back to, and the sign-ins that wait there. `port` and `used` are not
        needed, because a Jupyter server has one fixed URL."""
        from jupyter_eca.mcp_client.sign_in import Landing

        return Landing(self._address, await self._eca_server.get_waiting_sign_ins())


class ServerDoor:
    """Implements `Door` for a session in this server: it gives the host to the session, and decides what its client may
    do."""

    def __init__(
        self,
        eca_server: EcaServer,
        interrupt: Callable[[], Awaitable[None]] | None,
        kernel_id: str | None,
        address: str,
        *,
        access: ClientAccess,
    ) -> None:
        """`interrupt` interrupts the kernel of the client, and `kernel_id` is Jupyter's id of it. Both are None for a
        client that is no kernel. `address` is the URL to which a browser comes back after a sign-in. `access` says what
        the client may do."""
        self._eca_server = eca_server
        self._interrupt = interrupt
        # Leads the user's browser through a sign-in to another service.
        self.browser = ServerBrowser(eca_server, address)
        self.kernel_id = kernel_id
        # A client that is a kernel sees only the chats of its notebook.
        self.sees_all_chats = interrupt is None
        self.access = access
        # A session of a kernel must not trust a folder: code in the kernel could answer for the user.
        self.may_trust_folders = access.may_approve and interrupt is None
        # The workspace is always the folder of the Jupyter server.
        self.client_chooses_folders = False

    @property
    def sends_user_names(self) -> bool:
        """Whether new events that this client gets contain the names of the users who caused them. A kernel gets names
        only while several people use the server."""
        return self.sees_all_chats or self._eca_server.has_several_people

    async def get_host(self, params: InitializeParams) -> Host:  # noqa: ARG002  # all clients share one host, so none may configure it
        """Return the host of this server, and start it first if needed. Raises: ConfigError."""
        return await self._eca_server.get_host()

    async def describe_setup(self, host: Host) -> str:
        """Return the report on what is set up and what is missing."""
        from jupyter_eca.host.doctor import report

        return await report(host.services, "in the Jupyter server")

    async def interrupt_kernel(self) -> None:
        """Interrupt the kernel of the session; do nothing if its client is no kernel."""
        if self._interrupt is not None:
            await self._interrupt()
