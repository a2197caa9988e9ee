"""Serves the access of outside agents on a port of this machine, where there is no Jupyter server: in the processes
that editors start, for example. The port is opened with the first session of an agent.

It must not check tokens: `agent_endpoint.py` does.
"""

from __future__ import annotations

import asyncio
import importlib
import socket
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Final

from jupyter_eca.fronts.mcp.agent_endpoint import AgentEndpoint

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from jupyter_eca.host.host import Host

PATH: Final = "/mcp"


@asynccontextmanager
async def serve_agents(host: Host, tasks: asyncio.TaskGroup) -> AsyncGenerator[AgentEndpoint]:
    """Give the outside agents of a host access to its tools, as long as this context lasts. `tasks` serves them."""
    port = _Port()
    endpoint = AgentEndpoint(host, lambda: port.open(endpoint, tasks), tasks.create_task)
    host.outside_agents.endpoint = endpoint
    try:
        yield endpoint
    finally:
        host.outside_agents.endpoint = None
        endpoint.close_all()
        await port.close()


class _Port:
    """A port of this machine that is opened when it is needed."""

    def __init__(self) -> None:
        self._listening: socket.socket | None = None
        self._serving: asyncio.Task[None] | None = None

    def open(self, endpoint: AgentEndpoint, tasks: asyncio.TaskGroup) -> str:
        """Return the address of the port. Open it if it is not open."""
        if self._listening is None:
            self._listening = socket.create_server(("127.0.0.1", 0))
            self._serving = tasks.create_task(self._serve(endpoint, self._listening))
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}{PATH}"

    async def _serve(self, endpoint: AgentEndpoint, listening: socket.socket) -> None:
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.http.server")
        from jupyter_eca.fronts.http.gate import Gate
        from jupyter_eca.fronts.http.server import serve_beside

        # The gate refuses pages of other origins. It checks no token, because each session has one of its own.
        await serve_beside(endpoint, Gate(), listening)

    async def close(self) -> None:
        """Close the port."""
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait((self._serving,))
        elif self._listening is not None:
            self._listening.close()
