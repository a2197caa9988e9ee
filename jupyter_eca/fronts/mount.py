"""The front plugs of a server as one ASGI application: the first part of a path is a plug's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import JSONResponse

from jupyter_eca.plugins import loader

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from jupyter_eca.fronts.base import Front
    from jupyter_eca.host.host import Host


class Plugged:
    def __init__(self, host: Host) -> None:
        """Blocks: it imports all of them."""
        self._host = host
        self._plugs: dict[str, Front] = loader.find("fronts", "FRONT")
        self._made: dict[str, ASGIApp] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        root = scope["root_path"]
        name = scope["path"].removeprefix(root).lstrip("/").partition("/")[0]
        if (plug := self._plugs.get(name)) is None:
            await JSONResponse({"detail": f"There is no front {name!r}."}, 404)(scope, receive, send)
            return
        if name not in self._made:
            self._made[name] = plug.application(self._host)
        await self._made[name]({**scope, "root_path": f"{root}/{name}"}, receive, send)
