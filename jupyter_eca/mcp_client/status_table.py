"""Owns the lifecycle of one MCP server, as a table: the status and a signal give the next status.

The module is pure. `server.py` sends the signals.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.mcp import ServerStatus


class Signal(StrEnum):
    """What happens to a server."""

    START = "start"
    """A session begins."""
    UP = "up"
    """The server is connected, and its tools are known."""
    STOP = "stop"
    """Somebody wants the session to end."""
    ENDED = "ended"
    """The session has ended after `STOP`."""
    FAILED = "failed"
    """The session has ended by itself."""
    REFUSED = "refused"
    """The session has ended because the server wants other credentials."""
    DISABLE = "disable"
    """The configuration disables the server."""
    ENABLE = "enable"
    """The configuration no longer disables the server."""


# In this table, a session is the time from an attempt to connect to the end of the connection.
#
# starting       we connect, initialize the session and list the tools; a timeout limits this
# running        the tools of the server are offered
# stopping       the session is ending; whatever happens now, the next status is stopped
# stopped        the session has ended because somebody stopped the server
# failed         the session has ended by itself, or was never ready; clients see the reason. The server also has this
#                status between two attempts to reconnect
# requires-auth  the server wants credentials that we do not have
# disabled       the configuration disables the server; a client can start it nevertheless, until our program ends
TABLE: Final[dict[tuple[ServerStatus, Signal], ServerStatus]] = {
    (ServerStatus.STOPPED, Signal.START): ServerStatus.STARTING,
    (ServerStatus.FAILED, Signal.START): ServerStatus.STARTING,
    (ServerStatus.DISABLED, Signal.START): ServerStatus.STARTING,
    (ServerStatus.REQUIRES_AUTH, Signal.START): ServerStatus.STARTING,
    (ServerStatus.STARTING, Signal.UP): ServerStatus.RUNNING,
    (ServerStatus.STARTING, Signal.STOP): ServerStatus.STOPPING,
    (ServerStatus.STARTING, Signal.FAILED): ServerStatus.FAILED,
    (ServerStatus.STARTING, Signal.REFUSED): ServerStatus.REQUIRES_AUTH,
    (ServerStatus.RUNNING, Signal.STOP): ServerStatus.STOPPING,
    (ServerStatus.RUNNING, Signal.FAILED): ServerStatus.FAILED,
    (ServerStatus.RUNNING, Signal.REFUSED): ServerStatus.REQUIRES_AUTH,
    (ServerStatus.STOPPING, Signal.STOP): ServerStatus.STOPPING,
    (ServerStatus.STOPPING, Signal.UP): ServerStatus.STOPPING,
    (ServerStatus.STOPPING, Signal.ENDED): ServerStatus.STOPPED,
    (ServerStatus.STOPPING, Signal.FAILED): ServerStatus.STOPPED,
    (ServerStatus.STOPPING, Signal.REFUSED): ServerStatus.STOPPED,
    (ServerStatus.FAILED, Signal.STOP): ServerStatus.STOPPED,
    (ServerStatus.REQUIRES_AUTH, Signal.STOP): ServerStatus.STOPPED,
    (ServerStatus.STOPPED, Signal.STOP): ServerStatus.STOPPED,
    (ServerStatus.DISABLED, Signal.STOP): ServerStatus.DISABLED,
    (ServerStatus.STOPPED, Signal.DISABLE): ServerStatus.DISABLED,
    (ServerStatus.DISABLED, Signal.ENABLE): ServerStatus.STOPPED,
}


def next_status(status: ServerStatus, signal: Signal) -> ServerStatus:
    """Return the status after a signal.

    Raises: IllegalSignal when the table has no entry.
    """
    try:
        return TABLE[status, signal]
    except KeyError:
        raise IllegalSignal(f"a server that is {status} cannot be told {signal}") from None
