"""Owns a connection of uvicorn (an HTTP server) that ends when a request does not arrive in time.

Without this, uvicorn would wait for ever for the rest of a request. It counts the time by the state of h11, the library
with which uvicorn parses HTTP. This module must not know what is asked: `server.py` serves the front.
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
    """The state of the client in h11 when it was last seen; None before that."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._time_part()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._time_part()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._time_part()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._timer is not None:
            self._timer.cancel()

    def _time_part(self) -> None:
        """Start the timer of the part that is read now, if another part was read before."""
        part = self.conn.their_state
        if part is self._part:
            return
        self._part = part
        if self._timer is not None:
            self._timer.cancel()
        seconds = HEADER_SECONDS if part is h11.IDLE else BODY_SECONDS if part is h11.SEND_BODY else None
        self._timer = self.loop.call_later(seconds, self._give_up) if seconds is not None else None

    def _give_up(self) -> None:
        """Close the connection. If no response was begun, send the status 408 before."""
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
