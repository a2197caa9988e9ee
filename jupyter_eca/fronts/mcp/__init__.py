"""Owns the MCP front: the assistant, or another program behind the same port, as a server of the Model Context
Protocol.

`server` has the methods, `offers_base` is the port, `assistant` and `opencode` stand behind it; `http` and `stdio` are
the transports. The front must not know the server that runs it.
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
    """The plug, a `base.Front` and a `base.ProgramFront`. Its imports wait for the first client, because the SDK takes
    half a second."""

    @asynccontextmanager
    async def application(self, host: Host) -> AsyncGenerator[ASGIApp]:
        """Return the assistant of a Jupyter server, over streamable HTTP."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.mcp.http")
        from jupyter_eca.fronts.mcp.assistant import Assistant
        from jupyter_eca.fronts.mcp.http import application, skip_shutdown_watcher

        skip_shutdown_watcher()
        with closing(Assistant(host, panel=True)) as assistant:
            async with application(assistant) as served:
                yield served

    async def run(
        self, options: argparse.Namespace, folder: Path, start_host: Callable[[], AbstractAsyncContextManager[Host]]
    ) -> None:
        """Serve on this process' own streams, or on a loopback port, until the client leaves or a signal."""
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
