"""Owns the rights of clients: which may approve tool calls, and which may change the files of the configuration and
handle the tool servers, which all clients share.

It must not change the configuration: the methods in `methods/` call these checks, and then `config/` writes the files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.mcp_servers import ConfigSources
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.host import Host

# The error for any other client.
_NOT_ALLOWED: Final = "only a client of the user's may change the configuration"
_MAY_NOT_HANDLE_SERVERS: Final = "only a client of the user's may start, stop, sign in to or sign out of tool servers"


def check_may_approve(session: EcaSession) -> None:
    """Raise RemoteError if the client may not approve tool calls."""
    if not session.door.access.may_approve:
        raise RemoteError(session.door.access.reason, ErrorCode.REFUSED)


def find_config_sources(host: Host) -> ConfigSources:
    """Return the files that the configuration of a host is read from."""
    return ConfigSources.from_config(host.config, host.workspace.files.roots)


def check_may_change_config(session: EcaSession) -> None:
    """Raise RemoteError if the client may not change the configuration.

    Code in a cell can send requests over the link of its kernel, or with a token that it finds in the kernel. A model
    may have written this code. So a kernel must not be able to change the approval rules, which apply to the model.
    """
    if not _is_client_of_user(session):
        raise RemoteError(_NOT_ALLOWED, ErrorCode.REFUSED)


def check_may_handle_servers(session: EcaSession) -> None:
    """Raise RemoteError if the client may not start, stop, sign in to or sign out of tool servers.

    All chats of all users share them. Whoever signs in to a server decides on whose account all of them work, and
    whoever stops it takes its tools away from all. So it is as if the client changed the configuration.
    """
    if not _is_client_of_user(session):
        raise RemoteError(session.door.access.reason or _MAY_NOT_HANDLE_SERVERS, ErrorCode.REFUSED)


def _is_client_of_user(session: EcaSession) -> bool:
    """Return whether the client is one by which the user decides: no kernel, no client that only has the server's token
    or may not approve, and no program without a user."""
    access = session.door.access
    return session.door.sees_all_chats and access.may_approve and not session.capabilities.unattended
