"""Owns the server extension. Every Jupyter server loads it, so it does almost nothing until a client comes.

It must not import hosts or fronts: `eca_server.py` imports them when they are needed.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_server.extension.application import ExtensionApp
from traitlets import Bool, Unicode

from jupyter_eca.apps.server.agent_access import AgentAccessHandler
from jupyter_eca.apps.server.asgi import AsgiHandler
from jupyter_eca.apps.server.callback import SignInCallback
from jupyter_eca.apps.server.eca_server import AGENT_PATH, CALLBACK, EcaServer
from jupyter_eca.apps.server.file_events import declare_event
from jupyter_eca.apps.server.kernel_comms import KernelWatch
from jupyter_eca.apps.server.kernel_provisioner import choose_provisioner
from jupyter_eca.apps.server.renamed_notebooks import RenamedNotebooks
from jupyter_eca.apps.server.server_log import ServerLogHandler
from jupyter_eca.apps.server.websockets import EcaWebSocket, FrontWebSocket

if TYPE_CHECKING:
    from jupyter_eca.apps.server.gateway.kernels import GatewayKernels

# The same as `config.policy.sources.SERVER_VARIABLE`, whose import would take long.
SERVER_POLICY_VARIABLE: Final = "JUPYTER_ECA_SERVER_POLICY"


class EcaApp(ExtensionApp):
    """The extension. All of its addresses are below `<base_url>eca/`, on Jupyter's own port."""

    name = "jupyter_eca"

    approve_with_token = Bool(
        False,
        config=True,
        help="Whether a program that sends the server's own token may approve tool calls. Code in a kernel can find "
        "this token, so with True it could approve its own calls. With False, only browsers and programs with another "
        "token can approve.",
    )

    policy = Unicode(
        "",
        config=True,
        help="The policy of the administrator: the path of a JSON file, or the JSON itself. It restricts the assistant "
        "in this server and in its kernels, and no user can loosen it here. See the documentation, For administrators.",
    )

    def initialize_handlers(self) -> None:
        """Add the handlers of our addresses. Called by Jupyter when the server starts."""
        if self.policy:
            # The kernels inherit it, and have other working directories.
            is_document = self.policy.lstrip().startswith("{")
            os.environ[SERVER_POLICY_VARIABLE] = self.policy if is_document else str(Path(self.policy).absolute())
        self.log_handler = ServerLogHandler(self.serverapp)
        self.log_handler.attach()
        declare_event(self.serverapp)
        self.eca_server = EcaServer(self.serverapp)
        self.remote = self._find_remote_kernels()
        self.watch = KernelWatch(self.serverapp, self.eca_server, self.remote)
        self.watch.start()
        if self.remote is None:
            choose_provisioner(self.serverapp)
        self.renamed = RenamedNotebooks(self.serverapp, self.eca_server)
        self.renamed.start()
        routes: list[tuple[str, type, dict[str, Any]]] = [
            (r"/eca/ws", EcaWebSocket, {"eca_server": self.eca_server}),
            # Tornado chooses a handler by the path, so the paths of fronts with WebSockets are listed here.
            (r"/eca/(ahp|acp)", FrontWebSocket, {"eca_server": self.eca_server}),
            (rf"/{CALLBACK}", SignInCallback, {"eca_server": self.eca_server}),
            (rf"/{AGENT_PATH}", AgentAccessHandler, {"eca_server": self.eca_server}),
            # This handler is the last, so that a front cannot take an address of ours.
            (r"/eca/([\w-]+)(?:/.*)?", AsgiHandler, {"fronts": self.eca_server.fronts}),
        ]
        self.handlers.extend(routes)  # pyright: ignore[reportUnknownMemberType]

    def _find_remote_kernels(self) -> GatewayKernels | None:
        """Return the object that finds the kernels of a gateway; None when the server uses no gateway."""
        if self.serverapp is None or not self.serverapp.gateway_config.gateway_enabled:
            return None
        from jupyter_eca.apps.server.gateway.kernels import GatewayKernels

        remote = self.eca_server.remote = GatewayKernels(self.serverapp, self.eca_server.start_child)
        remote.start()
        return remote

    async def stop_extension(self) -> None:
        """End everything that was started. Called by Jupyter when the server ends."""
        self.watch.stop()
        self.renamed.stop()
        try:
            await self.eca_server.close()
        except Exception:  # Jupyter does not end when an extension fails
            self.log.exception("the assistant could not be ended")
        if self.remote is not None:
            await self.remote.release()
        self.log_handler.detach()
