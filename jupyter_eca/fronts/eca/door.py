"""Owns `Door`, the interface to the application that serves ECA, such as a Jupyter server. The application decides
which host a session uses, what the session may see, and what it may do. A session is the connection of one client. The
host is the object that runs all chats.

It must not know the session. `apps/server/eca_server.py`, `apps/process.py` and `apps/kernel/` each implement a
`Door`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from jupyter_eca.fronts.client_access import ClientAccess
    from jupyter_eca.host.host import Host
    from jupyter_eca.mcp_client.sign_in import Browser
    from jupyter_eca.protocol.lifecycle import InitializeParams


class Door(Protocol):
    """What the application knows and decides about a session. Some applications make a door for each session, and
    others use the same door for several sessions."""

    async def get_host(self, params: InitializeParams) -> Host:
        """Return the host that the session uses. It is made first if needed. `params` are those of the request
        `initialize`. Raises: ConfigError."""
        ...

    @property
    def sees_all_chats(self) -> bool:
        """Whether the client sees all chats of the host. Otherwise it sees only the chats in which it has prompted. A
        client that is a kernel does not see all chats, because any code in its cells can send requests over the link,
        and could read them."""
        ...

    @property
    def access(self) -> ClientAccess:
        """The rights of the client: for example whether it may approve tool calls."""
        ...

    @property
    def sends_user_names(self) -> bool:
        """Whether new events that the client gets contain the names of the users who prompted or decided. An
        application may leave them out where only one person prompts."""
        ...

    @property
    def may_trust_folders(self) -> bool:
        """Whether the user of this client may trust a folder of the workspace, so that the settings in the folder are
        used."""
        ...

    @property
    def client_chooses_folders(self) -> bool:
        """Whether the client chooses the folders of the workspace, as an editor does. Then the host belongs to this
        client alone. If not, the application chooses the folders."""
        ...

    @property
    def kernel_id(self) -> str | None:
        """Jupyter's id of the kernel that is the client. None if the client is no kernel, or if the id is not known."""
        ...

    @property
    def browser(self) -> Browser:
        """Leads the user of the client through a sign-in to another service: it opens the page of the service if it
        can, and receives the user's browser when the sign-in is done."""
        ...

    async def describe_setup(self, host: Host) -> str:
        """Return the report of `host/doctor.py`: what is wrong or missing in the setup, and what works."""
        ...

    async def interrupt_kernel(self) -> None:
        """Interrupt the client's kernel. Called when a turn that runs code in it is stopped."""
        ...
