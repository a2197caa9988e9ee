"""Owns all kernels behind the gateway of this server. It follows which of them pages use, and closes the connections to
them when the server ends.

`kernel.py` talks to one of them. A server uses a gateway when it is started with `--gateway-url`. Then all its kernels
are there.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from jupyter_server.gateway.connections import GatewayWebSocketConnection
from jupyter_server.gateway.managers import GatewayKernelManager

from jupyter_eca.apps.server.gateway.failures import explain_errors
from jupyter_eca.apps.server.gateway.kernel import GatewayKernel
from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

_log = logging.getLogger(__name__)

# The setting of the server that holds the class of the connections between pages and kernels.
_CONNECTION_CLASS: Final = "kernel_websocket_connection_class"

# Seconds that a gateway has to answer when the server ends.
RELEASE_SECONDS: Final = 3.0


class GatewayKernels:
    """Implements `RemoteKernels` of `workspace/kernels/remote.py`."""

    def __init__(self, serverapp: Any, start_child: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]) -> None:
        """`serverapp` is Jupyter's object for the server. `start_child` runs a coroutine as a task that is cancelled
        when the server ends."""
        self._serverapp = serverapp
        self._kernels = serverapp.kernel_manager
        self._start_child = start_child
        self._found: dict[str, tuple[Any, GatewayKernel]] = {}  # by id, each with the manager that it was made for

    def start(self) -> None:
        """Begin to follow the pages that show kernels. Call this when the server starts, before any page."""
        settings = self._serverapp.web_app.settings
        base = settings[_CONNECTION_CLASS]
        if issubclass(base, GatewayWebSocketConnection):
            settings[_CONNECTION_CLASS] = self._make_connection_class(base)

    def _make_connection_class(self, base: type[GatewayWebSocketConnection]) -> type[GatewayWebSocketConnection]:
        """Return the class of Jupyter's connections, which in addition reports when a page comes and goes. Jupyter
        has no event for this."""
        find = self.find  # in the methods below, `self` is a connection

        class PageConnection(base):  # pyright: ignore[reportGeneralTypeIssues]  # the class that the server has
            """The connection between a page and a kernel."""

            async def connect(self) -> None:
                """Connect the page to the kernel. It is called again when the connection was lost."""
                if (kernel := find(self.kernel_id)) is not None:
                    kernel.add_page(self)
                await super().connect()

            def disconnect(self) -> None:
                """End the connection, because the page has gone."""
                if (kernel := find(self.kernel_id)) is not None:
                    kernel.remove_page(self)
                super().disconnect()

        return PageConnection

    def find(self, id: str) -> GatewayKernel | None:
        """Return the kernel with this id; None when there is none behind a gateway. It is not connected yet."""
        manager = self._kernels.get_kernel(id) if id in self._kernels else None
        known_manager, kernel = self._found.get(id, (None, None))
        if kernel is not None and known_manager is not manager:
            self.forget(id)
            kernel = None
        if kernel is None and isinstance(manager, GatewayKernelManager):
            kernel = GatewayKernel(self._kernels, id, self._start_child)
            self._found[id] = (manager, kernel)
        return kernel

    def forget(self, id: str) -> None:
        """Close the connection to a kernel that has ended."""
        if id in self._found:
            self._found.pop(id)[1].close()

    async def release(self) -> None:
        """Prepare the end of the server, after all sessions have ended.

        Jupyter ends all kernels then. If the gateway cannot be used, that fails or takes minutes, and the server does
        not end. So kernels that cannot be reached are forgotten. They run on until the gateway ends them.
        """
        for id in list(self._found):
            self.forget(id)
        await asyncio.gather(*(self._release_kernel(id) for id in self._kernels.list_kernel_ids()))

    async def _release_kernel(self, id: str) -> None:
        """Forget a kernel if its gateway cannot be used. A gateway may refuse to list its kernels, so it is asked for
        this one."""
        manager: Any = self._kernels.get_kernel(id)
        if not isinstance(manager, GatewayKernelManager):
            return
        try:
            with explain_errors():
                async with asyncio.timeout(RELEASE_SECONDS):
                    await manager.refresh_model()  # pyright: ignore[reportUnknownMemberType]  # without types
        except ToolError as error:
            _log.warning("%s The kernel %s is not ended.", error, id)
            self._kernels.remove_kernel(id)
