"""Owns the lifecycle of one MCP server, as a table: the status and a signal give the next status.

The module is pure. `server.py` sends the signals.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.mcp import ServerStatus as S


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
TABLE: Final[dict[tuple[S, Signal], S]] = {
    (S.STOPPED, Signal.START): S.STARTING,
    (S.FAILED, Signal.START): S.STARTING,
    (S.DISABLED, Signal.START): S.STARTING,
    (S.REQUIRES_AUTH, Signal.START): S.STARTING,
    (S.STARTING, Signal.UP): S.RUNNING,
    (S.STARTING, Signal.STOP): S.STOPPING,
    (S.STARTING, Signal.FAILED): S.FAILED,
    (S.STARTING, Signal.REFUSED): S.REQUIRES_AUTH,
    (S.RUNNING, Signal.STOP): S.STOPPING,
    (S.RUNNING, Signal.FAILED): S.FAILED,
    (S.RUNNING, Signal.REFUSED): S.REQUIRES_AUTH,
    (S.STOPPING, Signal.STOP): S.STOPPING,
    (S.STOPPING, Signal.UP): S.STOPPING,
    (S.STOPPING, Signal.ENDED): S.STOPPED,
    (S.STOPPING, Signal.FAILED): S.STOPPED,
    (S.STOPPING, Signal.REFUSED): S.STOPPED,
    (S.FAILED, Signal.STOP): S.STOPPED,
    (S.REQUIRES_AUTH, Signal.STOP): S.STOPPED,
    (S.STOPPED, Signal.STOP): S.STOPPED,
    (S.DISABLED, Signal.STOP): S.DISABLED,
    (S.STOPPED, Signal.DISABLE): S.DISABLED,
    (S.DISABLED, Signal.ENABLE): S.STOPPED,
}


def next_status(status: S, signal: Signal) -> S:
    """Return the status after a signal.

    Raises: IllegalSignal when the table has no entry.
    """
    try:
        return TABLE[status, signal]
    except KeyError:
        raise IllegalSignal(f"a server that is {status} cannot be told {signal}") from None
