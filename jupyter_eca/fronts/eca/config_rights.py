"""Owns which clients may approve, which may change the files of the configuration, and which files these are.

It must not change them: the methods do, with `config/`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.mcp_servers import ConfigSources
from jupyter_eca.errors import RemoteError
from jupyter_eca.fronts.base import MAY_NOT_APPROVE
from jupyter_eca.protocol.jsonrpc import ErrorCode

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.host import Host

_NOT_HERE: Final = "only a client of the user's may change the configuration"


def check_may_approve(session: EcaSession) -> None:
    """Refuse a client that may ask, but not approve. Raises: RemoteError."""
    if not session.door.approves:
        raise RemoteError(MAY_NOT_APPROVE, ErrorCode.REFUSED)


def find_sources(host: Host) -> ConfigSources:
    """Return the files that the configuration is read from."""
    return ConfigSources.of(host.config, host.workspace.files.roots)


def check_may_change_config(session: EcaSession) -> None:
    """Refuse a client that may not change the configuration. Raises: RemoteError.

    Code in a cell can send requests over its kernel's link, or with a token that it finds in its kernel. If a model
    wrote that code, it must not be able to approve itself.
    """
    if not session.door.sees_all or not session.door.approves or session.can.unattended:
        raise RemoteError(_NOT_HERE, ErrorCode.REFUSED)
