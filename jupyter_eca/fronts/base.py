"""What a front plug is: one more way in to the chats of a Jupyter server, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from jupyter_eca.host.host import Host


class Front(Protocol):
    """A plug: a module exports one as `FRONT`. It is at `<base_url>eca/NAME/`, behind Jupyter's own door: whoever gets
    there may run code. NAME is that of its entry point."""

    def application(self, host: Host) -> ASGIApp:
        """Made at the first request, once for a server. Its `root_path` is where it is; it gets no `lifespan`."""
        ...
