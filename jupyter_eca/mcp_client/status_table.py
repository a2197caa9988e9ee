"""The lifecycle of one server as a table: status and signal to status. Pure. `server` gives the signals."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from jupyter_eca.errors import IllegalSignal
from jupyter_eca.protocol.mcp import ServerStatus as S


class Signal(StrEnum):
    START = "start"
    UP = "up"
    STOP = "stop"
    ENDED = "ended"
    FAILED = "failed"
    REFUSED = "refused"
    DISABLE = "disable"
    ENABLE = "enable"


# starting       connecting, shaking hands and listing its tools; bounded by a timeout
# running        its tools are offered
# stopping       asked to end; whatever happens now ends in stopped
# stopped        ended because somebody wanted it to
# failed         ended by itself, or never came up; the reason is told. Between two attempts to reconnect, too
# requires-auth  it wants credentials that we do not have
# disabled       by configuration; a client may start it nevertheless, for this session
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
    """Return the status after a signal. Raises: IllegalSignal."""
    try:
        return TABLE[status, signal]
    except KeyError:
        raise IllegalSignal(f"a server that is {status} cannot be told {signal}") from None
