"""The two channels over which the comms of a kernel go, when the kernel runs on this machine: the server writes to the
shell channel of the kernel, and reads its iopub channel. A comm is Jupyter's name for a two-way connection to a kernel.

Kernels behind a gateway have a WebSocket instead: `gateway/kernel.py`. This module must not know comms:
`kernel_comms.py` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zmq
from jupyter_client.session import Session

from jupyter_eca.transport.comm import HELLO_TOPIC

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ZmqChannels:
    """The channels of one kernel. On iopub it subscribes only to our comms and to hello messages, with which a kernel
    asks the server to open a comm. Otherwise it would receive all outputs of cells a second time."""

    def __init__(self, manager: Any, comm_prefix: str, receive: Callable[[dict[str, Any]], None]) -> None:
        """Subscribe to the kernel of a manager, and call `receive` with each message. The ids of our comms begin with
        `comm_prefix`, so that one subscription receives the messages of all of them."""
        # This session of the Jupyter protocol is our own. With a shared session, two readers would mistake each other's
        # messages for replayed ones.
        self._session: Any = Session(config=manager.session.config, key=manager.session.key)
        self._receive = receive
        self._shell = manager.connect_shell()
        self._iopub = manager.connect_iopub()
        self._iopub.socket.setsockopt(zmq.UNSUBSCRIBE, b"")
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, HELLO_TOPIC)
        self._iopub.socket.setsockopt(zmq.SUBSCRIBE, f"comm-{comm_prefix}".encode())
        self._iopub.on_recv(self._receive_frames)

    def _receive_frames(self, frames: list[bytes]) -> None:
        """Receive a message of the iopub channel."""
        _, rest = self._session.feed_identities(frames)
        self._receive(self._session.deserialize(rest))

    def send(self, kind: str, content: Mapping[str, Any]) -> None:
        """Send a message to the kernel. `kind` is its type, such as `comm_open`."""
        if not self._shell.closed():
            self._session.send(self._shell, kind, dict(content))

    def close(self) -> None:
        """Close both channels."""
        for stream in (self._shell, self._iopub):
            if not stream.closed():
                stream.close(linger=0)
