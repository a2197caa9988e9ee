"""The REST front: the MCP chat contract as REST and server-sent events, in an ASGI application.

`projection` turns the events of a turn into the contract's, `readers` brings the events here, `front` has the
operations of a client, `app` serves them over HTTP. The front must not know the server that runs it.
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


class RestPlug:
    """The plug, a `base.Front` and a `base.ProgramFront`. Its imports wait for the first client, because they take a
    quarter of a second."""

    @asynccontextmanager
    async def application(self, host: Host) -> AsyncGenerator[ASGIApp]:
        """Return one front for all clients, as the contract requires."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.rest.app")
        from jupyter_eca.fronts.rest.app import application
        from jupyter_eca.fronts.rest.front import RestFront

        with closing(RestFront(host)) as front:
            yield application(front)

    async def run(
        self, options: argparse.Namespace, folder: Path, start_host: Callable[[], AbstractAsyncContextManager[Host]]
    ) -> None:
        """Listen on a port, until a signal. Raises: ConfigError."""
        del folder
        from jupyter_eca.fronts.http.gate import Gate, normalize_origins
        from jupyter_eca.fronts.http.server import listen, serve
        from jupyter_eca.fronts.rest.app import application
        from jupyter_eca.fronts.rest.front import Approve, RestFront

        gate = Gate(options.host, normalize_origins(options.cors_origin), options.token)

        approve = Approve(options.approve)

        def print_address(address: str) -> None:
            print(f"The MCP chat API is at {address} (described at {address}/docs).", flush=True)  # noqa: T201
            print(f"Tool calls, with --approve {approve}: {approve.describe()}", flush=True)  # noqa: T201

        with await listen(gate, options.port) as listening:
            async with start_host() as host:
                with closing(RestFront(host, approve)) as front:
                    await serve(application(front), gate, listening, print_address)


FRONT = RestPlug()
