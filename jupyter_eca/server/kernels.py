"""Kernels that have loaded `jupyter_eca`: the server hears their hello and opens a comm to each.

A subscription of two topics per kernel: what a kernel prints and shows does not pass through here a second time. No
token goes into a kernel; what comes over its comm can speak only as that kernel.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import TYPE_CHECKING, Any

import zmq
from jupyter_client.session import Session

from jupyter_eca.links.comm import HELLO, TARGET, TOPIC, CommLink

if TYPE_CHECKING:
    from jupyter_eca.server.rooms import Rooms

KERNEL_ACTIONS = "https://events.jupyter.org/jupyter_server/kernel_actions/v1"

# Begins every comm id of ours, so that one subscription hears all answers and nothing else.
PREFIX = "eca-"


class KernelWatch:
    def __init__(self, serverapp: Any, rooms: Rooms) -> None:
        self._serverapp = serverapp
        self._kernels = serverapp.kernel_manager
        self._rooms = rooms
        self._ears: dict[str, KernelEar] = {}

    def start(self) -> None:
        self._serverapp.event_logger.add_listener(schema_id=KERNEL_ACTIONS, listener=self._heard)

    def stop(self) -> None:
        for ear in self._ears.values():
            ear.close()
        self._ears.clear()

    async def _heard(self, logger: object, schema_id: str, data: dict[str, Any]) -> None:  # noqa: ARG002
        kernel = data.get("kernel_id", "")
        if data.get("status") != "success":
            return
        if data["action"] == "start" and kernel in self._kernels:
            self._listen(kernel)
        elif data["action"] in {"restart", "shutdown"} and (ear := self._ears.get(kernel)):
            ear.lost()
            if data["action"] == "shutdown":
                self._ears.pop(kernel).close()

    def _listen(self, kernel: str) -> None:
        manager = self._kernels.get_kernel(kernel)
        if kernel in self._ears or not hasattr(manager, "connect_iopub"):
            return
        ear = self._ears[kernel] = KernelEar(manager, self._rooms, partial(self._interrupt, kernel), kernel)
        # A kernel that dies and comes back is another kernel.
        for event in ("restart", "dead"):
            self._kernels.add_restart_callback(kernel, ear.lost, event)

    async def _interrupt(self, kernel: str) -> None:
        if kernel in self._kernels:
            await self._kernels.interrupt_kernel(kernel)


class KernelEar:
    """One kernel's hello, and the link to it."""

    def __init__(self, manager: Any, rooms: Rooms, interrupt: Any, kernel: str) -> None:
        self._rooms = rooms
        self._interrupt = interrupt
        self._kernel = kernel
        # A session of our own: two readers of one session take each other's messages for replays.
        self._session: Any = Session(config=manager.session.config, key=manager.session.key)
        self._shell = manager.connect_shell()
        self._iopub = manager.connect_iopub()
        self._iopub.socket.setsockopt(zmq.UNSUBSCRIBE, b"")
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, TOPIC)
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, f"comm-{PREFIX}".encode())
        self._iopub.on_recv(self._take)
        self._comm = self._caller = ""
        self._link: CommLink | None = None

    def _take(self, frames: list[bytes]) -> None:
        _, rest = self._session.feed_identities(frames)
        message: dict[str, Any] = self._session.deserialize(rest)
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == HELLO:
            self._open(content.get("from", ""))
        elif content.get("comm_id") == self._comm and self._link is not None:
            if kind == "comm_close":
                self.lost()
            else:
                self._hear(content.get("data"))

    def _open(self, caller: str) -> None:
        """A kernel says hello again when it has waited: its cells may have run before the comm reached it."""
        if self._link is not None and caller == self._caller:
            return
        self.lost()
        self._caller = caller
        self._comm = PREFIX + uuid.uuid4().hex
        self._link = CommLink(self._write, self.lost)
        self._serving = False
        self._session.send(self._shell, "comm_open", {"comm_id": self._comm, "target_name": TARGET, "data": {}})

    def _hear(self, data: Any) -> None:
        """The session begins with the first message, so that a kernel that only loads us costs nothing."""
        if self._link is None:
            return
        self._link.received(data)
        if not self._serving:
            self._serving = True
            self._rooms.start(self._link, self._interrupt, self._kernel)

    def _write(self, data: dict[str, Any]) -> None:
        if not self._shell.closed():
            self._session.send(self._shell, "comm_msg", {"comm_id": self._comm, "data": data})

    def lost(self) -> None:
        """The kernel, or its side of the comm, is gone."""
        if self._link is not None:
            self._link.end()
            self._link = None

    def close(self) -> None:
        self.lost()
        for stream in (self._shell, self._iopub):
            if not stream.closed():
                stream.close(linger=0)
