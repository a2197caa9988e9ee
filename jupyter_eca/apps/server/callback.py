"""Owns the address to which a sign-in page redirects the browser. The sign-in may be at an MCP server or at a provider
of models.

It must not know the sign-in itself, which waits in `mcp_client/sign_in.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from jupyter_server.auth.decorator import allow_unauthenticated
from jupyter_server.base.handlers import JupyterHandler
from tornado.web import HTTPError, authenticated

from jupyter_eca.apps.server.authorization import RESOURCE, find_access

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.apps.server.eca_server import EcaServer
    from jupyter_eca.mcp_client.sign_in import WaitingSignIns


class SignInCallback(JupyterHandler):
    """Handles `<base_url>eca/oauth/callback`. A browser that is not logged in to Jupyter is redirected to Jupyter's
    login page, which sends it back here."""

    auth_resource = RESOURCE

    def initialize(self, eca_server: EcaServer) -> None:
        """Called by Tornado with the arguments of the route."""
        self._eca_server = eca_server

    @allow_unauthenticated  # Without a login, this method only stores parameters. `_answer` needs them after the login.
    async def get(self) -> None:
        """Answer the browser. The code of the sign-in must not be in the URL of the login page, which is logged. So the
        parameters are stored meanwhile, and the URL has only a `state` that identifies them."""
        waiting_sign_ins = await self._eca_server.get_waiting_sign_ins()
        from jupyter_eca.mcp_client.sign_in import LANDING_PARAMETERS

        parameters = {name: self.get_query_argument(name, None) for name in LANDING_PARAMETERS}
        present = {name: value for name, value in parameters.items() if value is not None}
        if self.current_user is None:
            self.request.uri = f"{self.request.path}?{urlencode({'state': waiting_sign_ins.hold(present)})}"
        if (answering := self._answer(waiting_sign_ins, present)) is not None:
            await answering

    @authenticated  # It redirects a browser without a login, and then returns None.
    async def _answer(self, waiting_sign_ins: WaitingSignIns, parameters: Mapping[str, str]) -> None:
        """Pass the parameters to the sign-in, and show its page."""
        access = await find_access(self)
        if access is None or not access.may_ask:
            raise HTTPError(403, access.reason if access else None)
        page = await waiting_sign_ins.arrive(parameters)
        self.set_status(page.status)
        self.set_header("Cache-Control", "no-store")
        self.set_header("Referrer-Policy", "no-referrer")
        await self.finish(page.html)  # pyright: ignore[reportUnknownMemberType]
