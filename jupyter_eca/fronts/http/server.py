"""Serves a front as a server of its own: uvicorn on one port, behind the gate, until a signal comes."""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import uvicorn

from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.http.gate import add_gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from jupyter_eca.fronts.http.gate import Gate

# Connections that wait to be accepted: hundreds of pages may open at once.
BACKLOG: Final = 2048
# Seconds in which running answers must end when the server is stopped.
GRACE: Final = 3


async def listen(gate: Gate, port: int) -> socket.socket:
    """Return a listening socket for `serve`. Listen before anything else is started: then a port that is in use is one
    error, and nothing has to be ended.

    Raises: ConfigError when the port cannot be had.
    """
    return await asyncio.to_thread(_bind, gate.host, port)


async def serve(app: ASGIApp, gate: Gate, listening: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve an application, and close the socket. `ready` is called with the address."""
    # After uvicorn ends, it sends itself the same signal again. Ignore it: the host has to close properly.
    with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, lambda: None)
    settings = uvicorn.Config(
        add_gate(app, gate),
        log_config=None,
        access_log=False,
        lifespan="off",
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
    )
    try:
        host = f"[{gate.host}]" if ":" in gate.host else gate.host
        ready(f"http://{host}:{listening.getsockname()[1]}")
        await uvicorn.Server(settings).serve([listening])
    finally:
        listening.close()


def _bind(host: str, port: int) -> socket.socket:
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"{host}:{port} cannot be used: {error.strerror}. Choose another port.") from error
