"""The server extension: what is loaded with every Jupyter server, so it does next to nothing until it is asked."""

from __future__ import annotations

from typing import Any

from jupyter_server.extension.application import ExtensionApp

from jupyter_eca.apps.server.app import CALLBACK, Rooms
from jupyter_eca.apps.server.asgi import AsgiHandler
from jupyter_eca.apps.server.callback import SignedIn
from jupyter_eca.apps.server.file_events import declare
from jupyter_eca.apps.server.handlers import AhpWebSocket, EcaWebSocket
from jupyter_eca.apps.server.kernel_comms import KernelWatch


class EcaApp(ExtensionApp):
    """Everything of ours is under `<base_url>eca/`, on Jupyter's own port."""

    name = "jupyter_eca"

    def initialize_handlers(self) -> None:
        declare(self.serverapp)
        self.rooms = Rooms(self.serverapp)
        self.watch = KernelWatch(self.serverapp, self.rooms)
        self.watch.start()
        doors: list[tuple[str, type, dict[str, Any]]] = [
            (r"/eca/ws", EcaWebSocket, {"rooms": self.rooms}),
            (r"/eca/ahp", AhpWebSocket, {"rooms": self.rooms}),
            (rf"/{CALLBACK}", SignedIn, {"rooms": self.rooms}),
            (r"/eca/rest(?:/.*)?", AsgiHandler, {"root": "eca/rest", "opened": self.rooms.rest}),
            (r"/eca/mcp/?", AsgiHandler, {"root": "eca/mcp", "opened": self.rooms.mcp}),
            # The last one: a plug takes no place of ours.
            (r"/eca/[\w-]+(?:/.*)?", AsgiHandler, {"root": "eca", "opened": self.rooms.fronts}),
        ]
        self.handlers.extend(doors)  # pyright: ignore[reportUnknownMemberType]

    async def stop_extension(self) -> None:
        self.watch.stop()
        await self.rooms.close()
