"""Owns the comms between the server and the kernels that have loaded `jupyter_eca`.

A comm is Jupyter's name for a two-way connection to a kernel. When a kernel loads us, it sends a hello message. The
server answers by opening a comm, and runs a session over it as soon as the kernel sends a message. No token is sent to
a kernel: a session over its comm has the rights of that kernel, and sees only the chats of its notebook.

It must not know the messages that a comm carries: `eca_server.py` serves the sessions. The kernel's side is in
`apps/kernel/engine/`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_eca.apps.server.kernel_channels import ZmqChannels
from jupyter_eca.apps.server.notebook_chats import NotebookChats
from jupyter_eca.transport.comm import HELLO, TARGET, CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.server.eca_server import EcaServer
    from jupyter_eca.apps.server.gateway.kernels import GatewayKernels
    from jupyter_eca.apps.server.notebook_chats import KernelChats

# The event that Jupyter emits when a kernel has started, was restarted, or was shut down.
KERNEL_ACTIONS_EVENT = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"

# Seconds between two streamed messages to a kernel. Each message changes the kernel's status twice (busy, idle), and
# each change makes every page that shows the notebook request another tab icon from the server.
MESSAGE_PAUSE_SECONDS: Final = 0.1

# All ids of our comms begin with this, so that one ZeroMQ subscription receives the messages of all of them.
COMM_PREFIX = "eca-"


class KernelWatch:
    """Follows the kernels of the server. It makes the `KernelComms` of each kernel that starts, and closes those of
    each kernel that ends."""

    def __init__(self, serverapp: Any, eca_server: EcaServer, remote: GatewayKernels | None = None) -> None:
        """`serverapp` is Jupyter's object for the server. `remote` finds the kernels behind a gateway; None where all
        kernels run on this machine."""
        self._serverapp = serverapp
        self._remote = remote
        self._kernels = serverapp.kernel_manager
        self._eca_server = eca_server
        self._comms: dict[str, KernelComms] = {}  # by the id of the kernel
        self._notebook_chats = NotebookChats(eca_server.get_host, eca_server.start_child)

    def start(self) -> None:
        """Begin to follow kernels. Call this when the server starts, before any kernel."""
        self._serverapp.event_logger.add_listener(schema_id=KERNEL_ACTIONS_EVENT, listener=self._on_kernel_action)

    def stop(self) -> None:
        """Stop following kernels, and close all comms."""
        self._serverapp.event_logger.remove_listener(schema_id=KERNEL_ACTIONS_EVENT, listener=self._on_kernel_action)
        for comms in self._comms.values():
            comms.close()
        self._comms.clear()

    async def _on_kernel_action(self, logger: object, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        """Follow a kernel that has started. Close the comms of a kernel that was restarted or shut down. `data` is the
        content of Jupyter's event."""
        kernel = data.get("kernel_id", "")
        if data.get("status") != "success":
            return
        if data["action"] == "start" and kernel in self._kernels:
            self._follow_kernel(kernel)
        elif data["action"] in {"restart", "shutdown"} and (comms := self._comms.get(kernel)):
            comms.close_all()
            remote = self._remote.find(kernel) if self._remote is not None else None
            if remote is not None and data["action"] == "restart":
                remote.note_restart()
            if data["action"] == "shutdown":
                self._comms.pop(kernel).close()
                if self._remote is not None:
                    self._remote.forget(kernel)

    def _follow_kernel(self, kernel: str) -> None:
        """Wait for hello messages of a kernel, unless that is done already or its manager has no iopub channel."""
        manager = self._kernels.get_kernel(kernel)
        remote = self._remote.find(kernel) if self._remote is not None else None
        if kernel in self._comms or (remote is None and not hasattr(manager, "connect_iopub")):
            return
        comms = self._comms[kernel] = KernelComms(
            self._eca_server, partial(self._interrupt, kernel), kernel, partial(self._find_chats, kernel)
        )
        if remote is not None:
            remote.listener = comms
            comms.channels = remote
            return
        comms.channels = ZmqChannels(manager, COMM_PREFIX, comms.receive)
        # A restart ends the process that holds the other end of the comms.
        for event in ("restart", "dead"):
            self._kernels.add_restart_callback(kernel, comms.close_all, event)

    async def _find_chats(self, kernel: str) -> KernelChats:
        """Return the chats of the notebook that a kernel runs."""
        sessions = await self._serverapp.session_manager.list_sessions()
        paths = (session["path"] for session in sessions if session["kernel"]["id"] == kernel)
        return await self._notebook_chats.find_chats(next(paths, ""), kernel)

    async def _interrupt(self, kernel: str) -> None:
        """Interrupt a kernel, if it still runs."""
        if kernel in self._kernels:
            await self._kernels.interrupt_kernel(kernel)


@dataclass
class _Comm:
    """One comm to a kernel."""

    caller: str
    """The id that the kernel sent in its hello message. The cells have one id, and each page with a panel has
    another."""
    link: CommLink
    """The server's end of it."""
    for_panel: bool
    """True for a page with a panel, false for the cells of the kernel."""
    has_session: bool = False
    """Whether a session runs over it."""


class Channels(Protocol):
    """The connection to one kernel: `ZmqChannels` or `GatewayKernel`."""

    def send(self, kind: str, content: dict[str, Any]) -> object:
        """Send a message on the shell channel. `kind` is its type, such as `comm_open`."""
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class KernelComms:
    """All comms to one kernel. `receive` is called with the messages that the kernel publishes on its iopub channel."""

    channels: Channels
    """The connection to the kernel."""

    def __init__(self, eca_server: EcaServer, interrupt: Any, kernel: str, find_chats: Any) -> None:
        """Set `channels` before the first message.

        `kernel` is the id of the kernel. `interrupt()` interrupts it. `find_chats()` returns the chats of its notebook,
        which all sessions of the kernel share.
        """
        self._eca_server = eca_server
        self._interrupt = interrupt
        self._kernel = kernel
        self._find_chats = find_chats
        self._comms: dict[str, _Comm] = {}  # by the id of the comm
        self._lost: list[str] = []  # the ids of comms that the kernel still has, and that a lost connection has ended

    def receive(self, message: dict[str, Any]) -> None:
        """Receive a message of the iopub channel: a hello, a message of a comm, or the end of a comm."""
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == HELLO:
            self._open(content.get("from", ""), for_panel=content.get("beside") is True)
        elif (comm := self._comms.get(content.get("comm_id"))) is not None:
            if kind == "comm_close":
                self._close_comm(content["comm_id"])
            else:
                self._receive_data(comm, content.get("data"))

    def _open(self, caller: str, *, for_panel: bool) -> None:
        """Open a comm, unless this caller has one: a kernel repeats its hello, because the server may have missed the
        first.

        The cells of the kernel share one comm. When a comm for cells is opened, it replaces the earlier one. Each page
        with a panel has a comm of its own (`for_panel`).
        """
        if any(comm.caller == caller for comm in self._comms.values()):
            return
        if not for_panel:
            for comm_id in [comm_id for comm_id, comm in self._comms.items() if not comm.for_panel]:
                self._close_comm(comm_id)
        comm_id = COMM_PREFIX + uuid.uuid4().hex
        link = CommLink(partial(self._write, comm_id), partial(self._close_comm, comm_id), MESSAGE_PAUSE_SECONDS)
        self._comms[comm_id] = _Comm(caller, link, for_panel)
        data = {"for": caller, "folder": str(self._eca_server.folder)}
        self.channels.send("comm_open", {"comm_id": comm_id, "target_name": TARGET, "data": data})

    def _receive_data(self, comm: _Comm, data: Any) -> None:
        """Pass a message to the comm's session. The first message starts the session, so that a kernel which only loads
        the package costs nothing."""
        comm.link.receive(data)
        if not comm.has_session:
            comm.has_session = True
            # `quiet`: cells need fewer messages than a panel, and each message keeps the kernel busy for a moment.
            self._eca_server.start_child(
                self._eca_server.serve(
                    comm.link, self._interrupt, self._kernel, find_chats=self._find_chats, quiet=not comm.for_panel
                )
            )

    def _write(self, comm_id: str, data: dict[str, Any]) -> None:
        """Send a message on a comm to the kernel."""
        self.channels.send("comm_msg", {"comm_id": comm_id, "data": data})

    def _close_comm(self, comm_id: str) -> None:
        """Close a comm whose other end, or whose session, has ended."""
        if (comm := self._comms.pop(comm_id, None)) is not None:
            comm.link.end()

    def close_all(self) -> None:
        """Close all comms, because the process of the kernel has ended."""
        self._lost.clear()
        for comm_id in list(self._comms):
            self._close_comm(comm_id)

    def lose(self) -> None:
        """Close all comms, because the connection to the gateway was lost and messages may be missing. The kernel still
        has them: `reconnect` closes them there."""
        lost = [*self._lost, *self._comms]
        self.close_all()
        self._lost = lost

    def reconnect(self) -> None:
        """Close in the kernel what was lost, so that its cells ask for another comm."""
        for comm_id in self._lost:
            self.channels.send("comm_close", {"comm_id": comm_id, "data": {}})
        self._lost.clear()

    def hang_up(self) -> None:
        """Close all comms here and in the kernel, because the connection is closed until somebody uses the kernel."""
        for comm_id in list(self._comms):
            self.channels.send("comm_close", {"comm_id": comm_id, "data": {}})
        self.close_all()

    def close(self) -> None:
        """Close all comms and the connection to the kernel."""
        self.close_all()
        self.channels.close()
