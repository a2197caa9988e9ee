"""Owns the comms to kernels that have loaded `jupyter_eca`: the server hears their hello and opens a comm to each.

It subscribes to two topics of a kernel, so its outputs do not pass through here a second time. No token goes into a
kernel, and what comes over a comm can speak only as that kernel. The kernel's side is `apps/kernel/engine/`.
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
    """Follows the kernels that start and end."""

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
        # A kernel that is restarted is another kernel.
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
    """One comm to a kernel: that of its cells or, `beside` it, that of a page with a panel."""

    caller: str
    link: CommLink
    beside: bool
    serving: bool = False


class KernelComms:
    """All comms to one kernel."""

    def __init__(self, manager: Any, eca_server: EcaServer, interrupt: Any, kernel: str, chats: Any) -> None:
        """`chats` gives the chats that the sessions of this kernel share."""
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
        self._lines: dict[str, _KernelComm] = {}

    def _take(self, frames: list[bytes]) -> None:
        _, rest = self._session.feed_identities(frames)
        message: dict[str, Any] = self._session.deserialize(rest)
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == HELLO:
            self._open(content.get("from", ""), beside=content.get("beside") is True)
        elif (line := self._lines.get(content.get("comm_id"))) is not None:
            if kind == "comm_close":
                self._close_comm(content["comm_id"])
            else:
                self._receive(line, content.get("data"))

    def _open(self, caller: str, *, beside: bool) -> None:
        """Open a comm. There is one for the kernel's cells, which replaces an earlier one, and one for each page with a
        panel.

        A kernel says hello again after a while: its cells may have run before the comm reached it.
        """
        if any(line.caller == caller for line in self._lines.values()):
            return
        if not beside:
            for comm in [comm for comm, line in self._lines.items() if not line.beside]:
                self._close_comm(comm)
        comm = PREFIX + uuid.uuid4().hex
        link = CommLink(partial(self._write, comm), partial(self._close_comm, comm), PACE)
        self._lines[comm] = _KernelComm(caller, link, beside)
        data = {"for": caller, "folder": str(self._eca_server.folder)}
        self._session.send(self._shell, "comm_open", {"comm_id": comm, "target_name": TARGET, "data": data})

    def _receive(self, line: _KernelComm, data: Any) -> None:
        """Take a message. The first one starts the session, so a kernel that only loads the package costs nothing."""
        line.link.receive(data)
        if not line.serving:
            line.serving = True
            # Cells do not show what panels show, and each message keeps the kernel busy for a moment.
            self._eca_server.start(
                line.link, self._interrupt, self._kernel, chats=self._chats_of, quiet=not line.beside
            )

    def _write(self, comm: str, data: dict[str, Any]) -> None:
        if not self._shell.closed():
            self._session.send(self._shell, "comm_msg", {"comm_id": comm, "data": data})

    def _close_comm(self, comm: str) -> None:
        """Close a comm, because the kernel's side or ours is gone."""
        if (line := self._lines.pop(comm, None)) is not None:
            line.link.end()

    def close_all(self) -> None:
        """Close all comms: the kernel is gone."""
        for comm in list(self._lines):
            self._close_comm(comm)

    def close(self) -> None:
        self.close_all()
        for stream in (self._shell, self._iopub):
            if not stream.closed():
                stream.close(linger=0)
