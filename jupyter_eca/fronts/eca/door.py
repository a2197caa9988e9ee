"""What a transport decides for the sessions that come through it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.protocol.lifecycle import InitializeParams


class Door(Protocol):
    async def host(self, params: InitializeParams) -> Host:
        """The host that answers. Raises: ConfigError."""
        ...

    @property
    def sees_all(self) -> bool:
        """Whether the peer is shown all chats, or only those it asked in (a kernel: cell code speaks on its link)."""
        ...

    @property
    def follows(self) -> bool:
        """Whether the folders of the client are the workspace; elsewhere they are the server's to choose."""
        ...

    @property
    def kernel(self) -> str | None:
        """Jupyter's id of the kernel that the client is, where it is known."""
        ...

    @property
    def browser(self) -> Browser:
        """Where the browser of the client's user comes back to from a sign-in."""
        ...

    async def doctor(self, host: Host) -> str: ...

    async def interrupt(self) -> None:
        """End what the client's kernel runs: somebody stopped the turn that sent it there."""
        ...
