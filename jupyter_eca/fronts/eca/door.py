"""Owns what an application decides for the sessions that come through it: their host, what they see, their browser.

It must not know the session. `apps/server/app.py`, `apps/process.py` and `apps/kernel/` have a door each.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.protocol.lifecycle import InitializeParams


class Door(Protocol):
    """Describes where a session comes from."""

    async def host(self, params: InitializeParams) -> Host:
        """Return the host that answers. Raises: ConfigError."""
        ...

    @property
    def sees_all(self) -> bool:
        """Whether the client sees all chats, or only those it prompted in. A kernel sees only its own, because code in
        its cells can use the link."""
        ...

    @property
    def approves(self) -> bool:
        """Whether the client may approve what the assistant does. A program that only shows a token which kernels can
        find may ask, but not approve: it may be code of the model's."""
        ...

    @property
    def may_trust(self) -> bool:
        """Whether the client's user may trust the settings of a folder."""
        ...

    @property
    def follows(self) -> bool:
        """Whether the client's folders are the workspace. Elsewhere the server chooses them."""
        ...

    @property
    def kernel(self) -> str | None:
        """Jupyter's id of the kernel that the client is; None if the client is no kernel, or the id is not known."""
        ...

    @property
    def browser(self) -> Browser:
        """The browser of the client's user, which comes back to this server after a sign-in."""
        ...

        """Return the report on what is set up and what is missing."""

    async def doctor(self, host: Host) -> str: ...

    async def interrupt(self) -> None:
        """Interrupt the client's kernel: somebody stopped the turn that runs code in it."""
        ...
