"""Serves a front (a protocol in which other programs are served) on a port of its own, with the HTTP server uvicorn and
behind the gate, until the process gets a signal. It must not know the front. `gate.py` checks the requests, and
`connection.py` closes connections whose request does not arrive whole in time.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import uvicorn

from jupyter_eca.errors import ConfigError
from jupyter_eca.fronts.http.connection import TimedConnection
from jupyter_eca.fronts.http.gate import add_gate

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from jupyter_eca.fronts.http.gate import Gate

# How many connections may wait to be accepted. Hundreds of pages may open at the same time.
BACKLOG: Final = 2048
# Seconds that running answers have to end when the server is stopped. After that their connections are closed.
GRACE_SECONDS: Final = 3


async def listen(gate: Gate, port: int) -> socket.socket:
    """Return a listening socket for `serve`. Call this before anything else is started: if the port is in use, nothing
    else has to be ended.

    Raises: ConfigError when the port cannot be used.
    """
    return await asyncio.to_thread(_bind, gate.host, port)


async def serve(app: ASGIApp, gate: Gate, listening: socket.socket, ready: Callable[[str], None]) -> None:
    """Serve an application until the process gets a signal, then close the socket. `ready` is called with the address
    of the server."""
    server = uvicorn.Server(_make_settings(add_gate(app, gate)))

    def stop() -> None:
        """Let uvicorn end the running answers, and then return."""
        server.should_exit = True

    # uvicorn handles signals only while it serves. A signal that comes earlier must end the server, too. After uvicorn
    # has ended, it sends the signal to the process again. Without this handler, that would end the process before the
    # host is closed.
    with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop)
    try:
        host = f"[{gate.host}]" if ":" in gate.host else gate.host
        ready(f"http://{host}:{listening.getsockname()[1]}")
        await server.serve([listening])
    finally:
        listening.close()


def _make_settings(app: ASGIApp) -> uvicorn.Config:
    """Return the settings of uvicorn for an application."""
    return uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        http=TimedConnection,
        ws="none",
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )


def _bind(host: str, port: int) -> socket.socket:
    """Return a socket that listens at this address. Raises: ConfigError."""
    try:
        (family, _, _, _, address), *_ = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        return socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        raise ConfigError(f"{host}:{port} cannot be used: {error.strerror}. Choose another port.") from error
