"""Who may have the configuration's files changed, and which these are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from jupyter_eca.config.mcp_servers import Sources
from jupyter_eca.errors import RemoteError
from jupyter_eca.protocol.jsonrpc import Code

if TYPE_CHECKING:
    from jupyter_eca.fronts.eca.session import EcaSession
    from jupyter_eca.host.host import Host

_NOT_HERE: Final = "only a client of the user's may change the configuration"


def find_sources(host: Host) -> Sources:
    return Sources.of(host.config, host.workspace.files.roots)


def check_may_change_config(session: EcaSession) -> None:
    """Code of a cell speaks on its kernel's link, as what a model had it run does: it is not to approve itself.
    Raises: RemoteError."""
    if not session.door.sees_all or session.can.unattended:
        raise RemoteError(_NOT_HERE, Code.REFUSED)
