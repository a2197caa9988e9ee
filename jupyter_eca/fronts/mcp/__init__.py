"""Owns the MCP front: it serves the assistant, or another program, as a server of the Model Context Protocol (MCP).

- `offers_base.py` has the interface `Backend` of the program that does the work, and the offers. An offer is a tool, a
  resource or a prompt that clients can use;
- `assistant.py` is the backend of our assistant, with its offers in `offers/`;
- `opencode/` is the backend of a server of OpenCode, which is another coding agent;
- `server.py` has the methods of the protocol;
- `http.py` and `stdio.py` are the transports, and `serve.py` runs one of them as a program.

The front must not know the Jupyter server that runs it.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager, closing
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from starlette.types import ASGIApp

    from jupyter_eca.host.host import Host


class McpPlug:
    """The plug, a `base.Front` and a `base.ProgramFront`. It imports the other modules only when the first client
    comes, because the import of the SDK takes half a second."""

    checks_access = True  # the front itself refuses what a client may not do, see `base.Front`

    @asynccontextmanager
    async def application(self, host: Host) -> AsyncGenerator[ASGIApp]:
        """Open the application that serves the assistant of a Jupyter server over streamable HTTP."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.http")
        from jupyter_eca.fronts.mcp.assistant import Assistant
        from jupyter_eca.fronts.mcp.http import open_application, skip_shutdown_watcher

        skip_shutdown_watcher()
        with closing(Assistant(host, panel=True)) as assistant:
            async with open_application(assistant) as application:
                yield application

    async def run(
        self, options: argparse.Namespace, folder: Path, start_host: Callable[[], AbstractAsyncContextManager[Host]]
    ) -> None:
        """Serve over stdin and stdout, or on a loopback port, until the client leaves or the process gets a signal.
        `start_host` returns a context manager that yields the host of our assistant for this folder."""
        from jupyter_eca.fronts.mcp.assistant import Assistant
        from jupyter_eca.fronts.mcp.serve import serve

        if options.backend == "opencode":
            from jupyter_eca.fronts.mcp.opencode import open_backend

            async with open_backend(folder) as opencode:
                await serve(opencode)
            return
        async with start_host() as host:
            with closing(Assistant(host, panel=False)) as assistant:
                await serve(assistant)


FRONT = McpPlug()
