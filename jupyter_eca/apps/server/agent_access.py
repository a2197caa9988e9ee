"""Owns the address at which outside agents reach our tools in a Jupyter server. It is on Jupyter's own port, and takes
no token of Jupyter: each session of an agent has a token of its own, which opens the tools of its chat only.

It must not know the tools or the tokens: `fronts/mcp/agent_endpoint.py` does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_server.auth.decorator import allow_unauthenticated
from tornado.web import HTTPError

from jupyter_eca.apps.server.asgi import AsgiHandler
from jupyter_eca.fronts.client_access import AccessLevel, ClientAccess

if TYPE_CHECKING:
    from jupyter_eca.apps.server.eca_server import EcaServer

# An agent never approves its own calls.
_ACCESS: Final = ClientAccess(AccessLevel.ASK, "An agent does not approve its own calls.")


class AgentAccessHandler(AsgiHandler):
    """One request of an outside agent. The endpoint checks its token."""

    def initialize(self, eca_server: EcaServer) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # Tornado passes the arguments of the route
        """Called by Tornado with the arguments of the route."""
        super().initialize(eca_server.fronts)
        self._eca_server = eca_server
        self._access = _ACCESS

    def check_xsrf_cookie(self) -> None:
        """Check nothing, because a browser never adds the header with the token to a request of a foreign page."""

    async def prepare(self) -> None:
        """Check the name of the host, as Jupyter does, and no user."""
        self.current_user = None
        if not self.check_host():
            raise HTTPError(403)
        if self.request.headers.get("Origin"):
            raise HTTPError(403, "Pages may not come here.")

    @allow_unauthenticated
    async def get(self, *_args: str, **_kwargs: str) -> None:
        """Pass the request to the endpoint."""
        endpoint = self._eca_server.agents
        if endpoint is None:
            raise HTTPError(401)  # no agent has begun a session
        await endpoint(self._build_scope("agent"), self._receive, self._send)

    head = post = put = patch = delete = get  # all methods are passed on in the same way

    @property
    def _user_name(self) -> str:
        """Empty, because the endpoint finds out by the token whose session it is."""
        return ""
