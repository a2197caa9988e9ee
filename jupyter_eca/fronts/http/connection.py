"""Owns a connection of uvicorn (an HTTP server) that ends when a request does not arrive in time.

Without this limit, uvicorn would wait for ever for the rest of a request. uvicorn parses HTTP with the library h11. The
state of h11 says which part of a request is read now, so each change of this state starts a timer. This module must not
know what a request is for: `server.py` serves the front.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

if TYPE_CHECKING:
    import asyncio

    from h11._util import Sentinel

# Seconds until the headers of a request must be complete, from the moment when the connection is open. Web servers
# allow 10 to 60.
HEADER_SECONDS: Final = 20.0
# Seconds until the body must be complete, from the end of the headers. A body of 4 MiB takes as long at 35 KiB/s.
BODY_SECONDS: Final = 120.0


class TimedConnection(H11Protocol):
    """A connection with a time limit for each part of a request. A part that arrives in many small pieces has the same
    limit. The methods without an underscore replace those of uvicorn, which calls them."""

    _part: type[Sentinel] | None = None
    """The part of the request that the timer is for, as h11's state of the client; None for a new connection."""

    _timer: asyncio.TimerHandle | None = None
    """Closes the connection when the time for the part is over. None if the part has no time limit."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the headers of the first request."""
        super().connection_made(transport)
        self._time_part()

    def data_received(self, data: bytes) -> None:
        """Parse the data, and start another timer if the next part of the request begins with it."""
        super().data_received(data)
        self._time_part()

    def on_response_complete(self) -> None:
        """Start the timer for the headers of the next request."""
        super().on_response_complete()
        self._time_part()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the timer."""
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _time_part(self) -> None:
        """Start the timer of the part that is read now, if it is another part than before."""
        part = self.conn.their_state
        if part is self._part:
            return
        self._part = part
        if self._timer is not None:
            self._timer.cancel()
        seconds = HEADER_SECONDS if part is h11.IDLE else BODY_SECONDS if part is h11.SEND_BODY else None
        self._timer = self.loop.call_later(seconds, self._give_up) if seconds is not None else None

    def _give_up(self) -> None:
        """Close the connection, because a part did not arrive in time. If no response was begun, first send the status
        408."""
        if self.transport.is_closing():
            return
        if self.conn.our_state in {h11.IDLE, h11.SEND_RESPONSE}:
            body = json.dumps({"detail": "The request did not arrive in time."}).encode()
            headers = [
                ("content-type", "application/json"),
                ("content-length", str(len(body))),
                ("connection", "close"),
            ]
            for event in (h11.Response(status_code=408, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
