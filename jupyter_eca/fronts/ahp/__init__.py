"""Owns the front for the Agent Host Protocol (AHP), in which an editor shows and steers the agents of another program.
The plug `FRONT` serves it to any number of clients.

In this protocol, host and clients share states: one for the whole host (the root), one for each session, one for each
terminal. A state is a JSON object. A client subscribes to a state by its URI. A state changes only by actions, which
are small JSON objects such as `{"type": "session/titleChanged", "session": "eca:/ID", "title": "Merge"}`. A reducer is
the function that returns the state after an action. Every client applies the same actions in the same order with the
same reducers, so that all have the same state. To dispatch an action means to apply it and to send it to the clients.

- `connection.py` owns the connection to one client, and `commands.py` the requests that the client can send;
- `hub.py` holds the states. It numbers each action, applies it, and sends it to the subscribers;
- `reducers/` has the pure functions that apply an action to a state;
- `session/` shows one chat as one session: events become actions, and actions of clients become calls of the host;
- `front.py` holds the sessions, and is the subscriber of the host;
- `dialect.py` and `protocol/ahp/` have everything that belongs to the wire format of version 0.1.0.

The front must not know the server that runs it.
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
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.transport.link import Link


class AhpPlug:
    """The plug, a `base.LinkFront`. It imports the other modules only when the first client comes, in a thread, so that
    the server starts fast."""

    @asynccontextmanager
    async def open(self, host: Host, shells: Shells | None) -> AsyncGenerator[AhpFront]:
        """Open the front that all clients share, and close it when the context ends."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.front")
        from jupyter_eca.fronts.ahp.front import AhpFront

        front = AhpFront(host, shells)
        async with front.run():
            yield front

    async def serve(self, link: Link, shared: Callable[[], Awaitable[AhpFront]], *, access: ClientAccess) -> None:
        """Serve one client until it leaves. `shared` returns the front that `open` yielded. `access` says what the
        client may do."""
        await asyncio.to_thread(importlib.import_module, "jupyter_eca.fronts.ahp.connection")
        from jupyter_eca.fronts.ahp.connection import AhpConnection

        await AhpConnection(link, shared, access=access).run()


FRONT = AhpPlug()
