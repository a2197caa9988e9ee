"""Runs our agent as a program for a client of the Agent Client Protocol (ACP), over stdin and stdout.

It must not know what the client asks: `connection.py` does.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from jupyter_eca.fronts.acp.connection import AcpConnection
from jupyter_eca.fronts.acp.hosts import FolderHosts
from jupyter_eca.transport.stdio import open_stdio

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from jupyter_eca.host.host import Host


async def serve_stdio(folder: Path, start_host: Callable[[Path], AbstractAsyncContextManager[Host]]) -> None:
    """Serve until stdin ends or the process gets a signal. `folder` is that of the process. `start_host` returns a
    context manager that runs a host for the working directory of a session."""
    hosts = FolderHosts(folder, start_host)
    link = open_stdio(lines=True)  # each message is one line
    serving = asyncio.ensure_future(AcpConnection(link, hosts).run())
    with suppress(NotImplementedError):  # Windows has no signal handlers on the loop
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
    try:
        with suppress(asyncio.CancelledError):
            await serving
        if link.failure:
            sys.stderr.write(f"jupyter-eca: {link.failure}\n")
    finally:
        await hosts.close()
