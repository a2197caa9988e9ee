"""Owns the front for the Agent Client Protocol (ACP), in which an editor or another client uses our assistant as its
agent. The plug `FRONT` serves it to a program that starts us, and over the WebSockets of a Jupyter server.

A client starts a session, which is one chat of the host, and prompts in it. It gets the events of the chat as updates,
and is asked for permission before a tool call runs.

- `connection.py` owns the connection to one client, and `sessions.py` answers its requests;
- `session.py` owns one session: its prompts, and the questions about its tool calls;
- `projection.py` and `tool_calls.py` make updates of events, and `outbox.py` holds what waits to be sent;
- `prompt_blocks.py` makes a message of a prompt, `settings.py` has what the user can choose, and `permission.py` has
  the question about a call;
- `client_servers.py` runs the MCP servers that a client brings (Model Context Protocol);
- `hosts.py` finds the host of a session, and `subscriber.py` gets the events of one host;
- `program.py` runs all this over stdin and stdout.

We have our own models of the protocol (`protocol/acp/`) and do not use its SDK. The SDK handles each notification in a
task of its own, so that the pieces of a text may arrive in another order. It is also pinned to different versions by
other packages of notebook users.

The front must not know the Jupyter server that runs it.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncGenerator, Awaitable, Callable
    from pathlib import Path

    from jupyter_eca.fronts.base import Shells, StartHost
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link


class AcpPlug:
    """The plug, a `base.LinkFront` and a `base.ProgramFront`. It imports the other modules only when the first client
    comes, so that a server starts fast."""

    @asynccontextmanager
    async def open(self, host: Host, shells: Shells | None) -> AsyncGenerator[Host]:  # noqa: ARG002  # agents bring no terminals
        """Yield what all clients of a Jupyter server share: the host."""
        yield host

    async def serve(self, link: Link, shared: Callable[[], Awaitable[Host]], *, access: ClientAccess) -> None:
        """Serve one client of a Jupyter server until it leaves. `shared` returns the host. `access` says what the
        client may do."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.acp.connection")
        from jupyter_eca.fronts.acp.connection import AcpConnection
        from jupyter_eca.fronts.acp.hosts import SharedHost

        await AcpConnection(link, SharedHost(shared), access=access).run()

    async def run(self, options: argparse.Namespace, folder: Path, start_host: StartHost) -> None:  # noqa: ARG002  # this program has no options
        """Serve the program that has started us over stdin and stdout, until it leaves or the process gets a signal."""
        from jupyter_eca.fronts.acp.program import serve_stdio

        await serve_stdio(folder, start_host)


FRONT = AcpPlug()
