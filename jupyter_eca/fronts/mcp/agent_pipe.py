"""The program that an outside agent starts as its MCP server. It passes bytes between its standard streams and a socket
of the process that has started the agent. See `agent_socket.py`.

It must load nothing that takes long, because the agent waits for it.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
from contextlib import suppress
from typing import Final

# The environment variables that this program reads: the path of the socket, and the token of the session.
SOCKET_VARIABLE: Final = "JUPYTER_ECA_AGENT_SOCKET"
TOKEN_VARIABLE: Final = "JUPYTER_ECA_AGENT_TOKEN"  # noqa: S105  # the name of a variable

# The largest number of bytes that are read at once.
_READ_BYTES: Final = 64 * 1024


def main() -> int:
    """Run until one end closes. Return the exit status."""
    path, token = os.environ.get(SOCKET_VARIABLE), os.environ.get(TOKEN_VARIABLE)
    if not path or not token:
        sys.stderr.write("This program is started by agents that jupyter-eca runs. It is of no use by itself.\n")
        return 2
    with socket.socket(socket.AF_UNIX) as connection:
        try:
            connection.connect(path)
            connection.sendall(token.encode() + b"\n")
        except OSError as error:
            sys.stderr.write(f"The program that has started the agent cannot be reached: {error.strerror}.\n")
            return 1
        # A blocking read cannot be cancelled. So this is a daemon thread, which ends with the process.
        threading.Thread(target=_send_stdin, args=(connection,), daemon=True).start()
        with suppress(OSError):  # the agent has closed stdout
            while data := connection.recv(_READ_BYTES):
                _write_all(data)
    return 0


def _send_stdin(connection: socket.socket) -> None:
    """Send what comes in on stdin, until it ends."""
    with suppress(OSError):  # the other end has closed the connection, and the main thread ends the process
        while data := os.read(0, _READ_BYTES):
            connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)


def _write_all(data: bytes) -> None:
    """Write data to stdout. Raises: OSError."""
    while data:
        data = data[os.write(1, data) :]


if __name__ == "__main__":
    sys.exit(main())
