"""The Agent Host Protocol front.

`reducers` are the protocol's own, pure; `hub` holds the shared state, numbers every action and keeps the last ones for
clients that come back; `session` joins one chat of ours to one session of theirs; `connection` is one client,
`commands` what it can ask for; `front` owns them all. Everything that only version 0.1.0 has on the wire is in
`protocol.ahp` and `dialect`. The front must not know the server that runs it.
"""

from __future__ import annotations

import asyncio
import importlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from jupyter_eca.fronts.ahp.front import AhpFront
    from jupyter_eca.fronts.base import Shells
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link


class AhpPlug:
    """The plug, a `base.LinkFront`. Its imports wait for the first client."""

    @asynccontextmanager
    async def open(self, host: Host, shells: Shells | None) -> AsyncGenerator[AhpFront]:
        """Open one front for all clients: they share its state."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.front")
        from jupyter_eca.fronts.ahp.front import AhpFront

        front = AhpFront(host, shells)
        async with front.running():
            yield front

    async def serve(self, link: Link, shared: Callable[[], Awaitable[AhpFront]], *, approves: bool) -> None:
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.connection")
        from jupyter_eca.fronts.ahp.connection import AhpConnection

        await AhpConnection(link, shared, approves=approves).run()


FRONT = AhpPlug()
