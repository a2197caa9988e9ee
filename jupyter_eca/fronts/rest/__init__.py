"""Owns the REST front: it serves the MCP chat contract as an ASGI application. The contract describes an HTTP API for
chats with the tools of one MCP server (Model Context Protocol). The answers are streams of server-sent events. Some
chat frontends were written for this contract.

- `app.py` has the table of operations, and answers the requests;
- `front.py` does what they ask for: it connects tool servers, and sends prompts to the host;
- `readers.py` receives the events of turns from the host, and `projection.py` makes the contract's events of them;
- `stream.py` sends these events piece by piece;
- `document.py` describes the operations for programs and people.

The front must not know the server that runs it.
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
"""The environment variable with the token that clients must send. If it is not set, each start makes a new token,
because other users of this machine can reach a loopback address too."""


class RestPlug:
    """The plug, a `base.Front` and a `base.ProgramFront`. The other modules take a quarter of a second to import. So
    `application` and `run` import them, and not this module."""

    checks_access = True  # the front itself refuses what a client may not do, see `base.Front`

    @asynccontextmanager
    async def application(self, host: Host) -> AsyncGenerator[ASGIApp]:
        """Open the application of one front that all clients share, as the contract requires."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.rest.app")
        from jupyter_eca.fronts.rest.app import make_application
        from jupyter_eca.fronts.rest.front import RestFront

        with closing(RestFront(host)) as front:
            yield make_application(front)

    async def run(
        self, options: argparse.Namespace, folder: Path, start_host: Callable[[], AbstractAsyncContextManager[Host]]
    ) -> None:
        """Serve on a port until the process gets a signal. `start_host` returns a context manager that yields the host,
        the object that runs all chats. Raises: ConfigError."""
        del folder  # the host works in this folder already
        from jupyter_eca.fronts.http.gate import Gate, normalize_origins
        from jupyter_eca.fronts.http.server import listen, serve
        from jupyter_eca.fronts.rest.app import make_application
        from jupyter_eca.fronts.rest.front import RestApproval, RestFront

        user_token = _find_token(options)
        # The gate checks the token and the origin of each request.
        gate = Gate(options.host, normalize_origins(options.cors_origin), user_token)
        if not (user_token or options.no_token):
            gate = replace(gate, token=secrets.token_urlsafe(32))
        approve = RestApproval(options.approve)

        def print_address(address: str) -> None:
            """Tell the user where the server is, what decides about tool calls, and which token clients need."""
            print(f"The MCP chat API is at {address} (described at {address}/docs).", flush=True)  # noqa: T201
            print(f"Tool calls, with --approve {approve}: {approve.describe()}", flush=True)  # noqa: T201
            print(_describe_access(gate.token, user_token), flush=True)  # noqa: T201

        with await listen(gate, options.port) as listening:
            async with start_host() as host:
                with closing(RestFront(host, approve)) as front:
                    await serve(make_application(front), gate, listening, print_address)


def _find_token(options: argparse.Namespace) -> str:
    """Return the token from the command line or the environment; "" if there is none. Warn the user about a token on
    the command line."""
    if options.token:
        sys.stderr.write(
            "Other users of this machine can read a token that stands in the command, for example with `ps`. "
            f"Set {TOKEN_VARIABLE} in the environment instead.\n"
        )
        sys.stderr.flush()
    return "" if options.no_token else options.token or os.environ.get(TOKEN_VARIABLE, "")


def _describe_access(token: str, user_token: str) -> str:
    """Return a sentence about the token that clients must send. `user_token` is the token that the user has set, or "".
    The sentence does not contain this token."""
    if not token:
        return "No token is needed: every user and program of this machine can chat and run tools as you."
    return f"Clients send `Authorization: Bearer TOKEN`. Token: {'the one that you set' if user_token else token}"


FRONT = RestPlug()
