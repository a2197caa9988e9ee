"""The REST front: the MCP chat contract as REST and server-sent events, in an ASGI application.

`projection` turns the events of a turn into the contract's, `readers` brings the events here, `front` has the
operations of a client, `app` serves them over HTTP. The front must not know the server that runs it.
"""

from __future__ import annotations

import asyncio
import importlib
import os
import secrets
import sys
from contextlib import asynccontextmanager, closing
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Callable
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from starlette.types import ASGIApp

    from jupyter_eca.host.host import Host


TOKEN_VARIABLE: Final = "JUPYTER_ECA_REST_TOKEN"  # noqa: S105  # its name, and not the token
"""The variable with the token that clients must send. Without it, each start makes a new token: other users of this
machine can reach a loopback address, too."""


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

        chosen = _find_token(options)
        gate = Gate(options.host, normalize_origins(options.cors_origin), chosen)
        if not (chosen or options.no_token):
            gate = replace(gate, token=secrets.token_urlsafe(32))
        approve = Approve(options.approve)

        def print_address(address: str) -> None:
            print(f"The MCP chat API is at {address} (described at {address}/docs).", flush=True)  # noqa: T201
            print(f"Tool calls, with --approve {approve}: {approve.describe()}", flush=True)  # noqa: T201
            print(_describe_access(gate.token, chosen), flush=True)  # noqa: T201

        with await listen(gate, options.port) as listening:
            async with start_host() as host:
                with closing(RestFront(host, approve)) as front:
                    await serve(application(front), gate, listening, print_address)


def _find_token(options: argparse.Namespace) -> str:
    """Return the token of the command or of the environment, or ""."""
    if options.token:
        sys.stderr.write(
            "Other users of this machine can read a token that stands in the command, for example with `ps`. "
            f"Set {TOKEN_VARIABLE} in the environment instead.\n"
        )
        sys.stderr.flush()
    return "" if options.no_token else options.token or os.environ.get(TOKEN_VARIABLE, "")


def _describe_access(token: str, chosen: str) -> str:
    """Return how clients come in. A token that the user chose is not printed."""
    if not token:
        return "No token is needed: every user and program of this machine can chat and run tools as you."
    return f"Clients send `Authorization: Bearer TOKEN`. Token: {'the one that you set' if chosen else token}"


FRONT = RestPlug()
