"""Owns the comms between the server and the kernels that have loaded `jupyter_eca`.

A kernel sends a hello message, and the server opens a comm to it. The server subscribes to two topics of the kernel
only, so that it does not receive the outputs of cells a second time. No token is sent to a kernel, and the
messages of a comm have the rights of that kernel. The kernel's side is in `apps/kernel/engine/`.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import zmq
from jupyter_client.session import Session

from jupyter_eca.apps.server.notebook_chats import NotebookChats
from jupyter_eca.transport.comm import HELLO, TARGET, TOPIC, CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.server.app import EcaServer
    from jupyter_eca.apps.server.notebook_chats import KernelChats

KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"

# Seconds between two streamed messages to a kernel. Each message changes the kernel's status twice, for every page that
# shows the notebook, and each change makes JupyterLab request another tab icon from the server.
PACE: Final = 0.1

# The start of every comm id of ours, so that one subscription gets all answers and nothing else.
PREFIX = "eca-"


class KernelWatch:
    """Opens the comms of each kernel that starts, and closes those of each kernel that ends."""

    def __init__(self, serverapp: Any, eca_server: EcaServer) -> None:
        self._serverapp = serverapp
        self._kernels = serverapp.kernel_manager
        self._eca_server = eca_server
        self._comms: dict[str, KernelComms] = {}
        self._notebook_chats = NotebookChats(eca_server.host, eca_server.start_child)

    def start(self) -> None:
        self._serverapp.event_logger.add_listener(schema_id=KERNEL_ACTIONS, listener=self._on_kernel_action)

    def stop(self) -> None:
        self._serverapp.event_logger.remove_listener(schema_id=KERNEL_ACTIONS, listener=self._on_kernel_action)
        for comms in self._comms.values():
            comms.close()
        self._comms.clear()

    async def _on_kernel_action(self, logger: object, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        kernel = data.get("kernel_id", "")
        if data.get("status") != "success":
            return
        if data["action"] == "start" and kernel in self._kernels:
            self._listen(kernel)
        elif data["action"] in {"restart", "shutdown"} and (comms := self._comms.get(kernel)):
            comms.close_all()
            if data["action"] == "shutdown":
                self._comms.pop(kernel).close()

    def _listen(self, kernel: str) -> None:
        manager = self._kernels.get_kernel(kernel)
        if kernel in self._comms or not hasattr(manager, "connect_iopub"):
            return
        comms = self._comms[kernel] = KernelComms(
            manager, self._eca_server, partial(self._interrupt, kernel), kernel, partial(self._chats_of, kernel)
        )
        # A restart ends the process that holds the other end of the comms.
        for event in ("restart", "dead"):
            self._kernels.add_restart_callback(kernel, comms.close_all, event)

    async def _chats_of(self, kernel: str) -> KernelChats:
        sessions = await self._serverapp.session_manager.list_sessions()
        paths = (session["path"] for session in sessions if session["kernel"]["id"] == kernel)
        return await self._notebook_chats.of_kernel(next(paths, ""), kernel)

    async def _interrupt(self, kernel: str) -> None:
        if kernel in self._kernels:
            await self._kernels.interrupt_kernel(kernel)


@dataclass
class _KernelComm:
    """One comm to a kernel."""

    caller: str
    """The id of the kernel's client that said hello."""
    link: CommLink
    for_panel: bool
    """True for a page with a panel, false for the cells of the kernel."""
    serving: bool = False
    """Whether its session has begun."""


class KernelComms:
    """All comms to one kernel."""

    def __init__(self, manager: Any, eca_server: EcaServer, interrupt: Any, kernel: str, chats: Any) -> None:
        """Subscribe to the kernel. `chats` returns the chats that all sessions of this kernel share."""
        self._eca_server = eca_server
        self._interrupt = interrupt
        self._kernel = kernel
        self._chats_of = chats
        # Use a session of our own: two readers of the same session would take each other's messages for replays.
        self._session: Any = Session(config=manager.session.config, key=manager.session.key)
        self._shell = manager.connect_shell()
        self._iopub = manager.connect_iopub()
        self._iopub.socket.setsockopt(zmq.UNSUBSCRIBE, b"")
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, TOPIC)
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, f"comm-{PREFIX}".encode())
        self._iopub.on_recv(self._take)
        self._comms: dict[str, _KernelComm] = {}

    def _take(self, frames: list[bytes]) -> None:
        _, rest = self._session.feed_identities(frames)
        message: dict[str, Any] = self._session.deserialize(rest)
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == HELLO:
            self._open(content.get("from", ""), for_panel=content.get("beside") is True)
        elif (comm := self._comms.get(content.get("comm_id"))) is not None:
            if kind == "comm_close":
                self._close_comm(content["comm_id"])
            else:
                self._receive(comm, content.get("data"))

    def _open(self, caller: str, *, for_panel: bool) -> None:
        """Open a comm, unless this caller has one.

        The cells of the kernel share one comm, which replaces an earlier one, and each page with a panel has its own.
        A kernel repeats its hello, because the first may come before the server listens.
        """
        if any(comm.caller == caller for comm in self._comms.values()):
            return
        if not for_panel:
            for comm_id in [comm_id for comm_id, comm in self._comms.items() if not comm.for_panel]:
                self._close_comm(comm_id)
        comm_id = PREFIX + uuid.uuid4().hex
        link = CommLink(partial(self._write, comm_id), partial(self._close_comm, comm_id), PACE)
        self._comms[comm_id] = _KernelComm(caller, link, for_panel)
        data = {"for": caller, "folder": str(self._eca_server.folder)}
        self._session.send(self._shell, "comm_open", {"comm_id": comm_id, "target_name": TARGET, "data": data})

    def _receive(self, comm: _KernelComm, data: Any) -> None:
        """Take a message. The first one starts the session, so a kernel that only loads the package costs nothing."""
        comm.link.receive(data)
        if not comm.serving:
            comm.serving = True
            # Cells do not need all messages that a panel needs, and each message keeps the kernel busy for a moment.
            self._eca_server.start(
                comm.link, self._interrupt, self._kernel, chats=self._chats_of, quiet=not comm.for_panel
            )

    def _write(self, comm_id: str, data: dict[str, Any]) -> None:
        if not self._shell.closed():
            self._session.send(self._shell, "comm_msg", {"comm_id": comm_id, "data": data})

    def _close_comm(self, comm_id: str) -> None:
        """Close a comm whose other end, or whose session, has ended."""
        if (comm := self._comms.pop(comm_id, None)) is not None:
            comm.link.end()

    def close_all(self) -> None:
        """Close all comms, because the process of the kernel has ended."""
        for comm_id in list(self._comms):
            self._close_comm(comm_id)

    def close(self) -> None:
        self.close_all()
        for stream in (self._shell, self._iopub):
            if not stream.closed():
                stream.close(linger=0)
