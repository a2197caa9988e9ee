"""Where a browser comes back to from the authorization server of an MCP server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, authenticated

from jupyter_eca.server.handlers import may_execute

if TYPE_CHECKING:
    from jupyter_eca.server.rooms import Rooms


class SignedIn(JupyterHandler):
    """`<base_url>eca/oauth/callback`. Whoever has no session here is sent to Jupyter's login, and from there back."""

    auth_resource = "eca"

    def initialize(self, rooms: Rooms) -> None:
        self._rooms = rooms

    @authenticated
    async def get(self) -> None:
        if not await may_execute(self):
            raise HTTPError(403)
        from jupyter_eca.workspace.mcp.callback import FIELDS

        given = {name: self.get_query_argument(name, None) for name in FIELDS}
        page = await self._rooms.arrive({name: value for name, value in given.items() if value is not None})
        self.set_status(page.status)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        await self.finish(page.html)  # pyright: ignore[reportUnknownMemberType]
