"""A socket between a client and PostgreSQL that loses a COMMIT, or the answer to it, as a broken network does."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

NAME = ".s.PGSQL.5432"


@dataclass
class LossySocket:
    """`loses` is set to what the next COMMIT loses: "request", "answer", or "" for nothing."""

    folder: Path
    target: Path
    loses: str = ""
    refuses: bool = False
    _open: list[socket.socket] = field(default_factory=list[socket.socket])

    def serve(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listening.accept()
                if self.refuses:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self.target / NAME))
                self._open += [client, server]
                for work in (self._pass_requests, self._pass_answers):
                    threading.Thread(target=work, args=(client, server), daemon=True).start()

    def _pass_requests(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                if b"COMMIT" in data and self.loses == "request":
                    break
                server.sendall(data)
        close(client, server)

    def _pass_answers(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                if b"COMMIT" in data and self.loses == "answer":
                    break
                client.sendall(data)
        close(client, server)

    def close(self) -> None:
        close(*self._open)


def close(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()


@contextmanager
def losing(folder: Path, target: Path) -> Generator[LossySocket]:
    """`folder` has the socket, and `target` that of PostgreSQL."""
    between = LossySocket(folder, target)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / NAME))
        listening.listen()
        threading.Thread(target=between.serve, args=(listening,), daemon=True).start()
        try:
            yield between
        finally:
            with suppress(OSError):
                listening.shutdown(socket.SHUT_RDWR)
            between.close()
