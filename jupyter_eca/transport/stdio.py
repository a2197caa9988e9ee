"""Owns the link over the standard streams of this process, in `Content-Length` frames or in lines.

It must not know what the messages mean. Its neighbours are `link`, which has the inbox, `protocol.jsonrpc`, which has
the frames, and `protocol.acp.json_lines`, which has the lines. While the link is open, nothing else in this process can
write to stdout.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.acp.json_lines import LineReader, encode_line
from jupyter_eca.protocol.jsonrpc import FrameReader, Message, encode_frame
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from io import FileIO
    from typing import BinaryIO

# The capacity of a pipe on Linux. A larger read would find no more data.
READ_BYTES = 64 * 1024


class _Reader(Protocol):
    """Reads messages from a stream of bytes."""

    def feed(self, data: bytes) -> list[Message | FrameError]:
        """Add bytes and return the messages that are now complete."""
        ...


class StdioLink(Inbox):
    """A link over two streams of bytes.

    A daemon thread reads, because no platform can cancel a blocking read of stdin, and another one writes. The threads
    end with the process.
    """

    def __init__(self, stdin: FileIO, stdout: BinaryIO, *, lines: bool = False) -> None:
        """Make a link. With `lines`, each message is one line. Otherwise it is a frame with a header."""
        super().__init__()
        self._reader: _Reader = LineReader() if lines else FrameReader()
        self._encode = encode_line if lines else encode_frame
        self._stdin = stdin
        self._stdout = stdout
        self._loop = asyncio.get_running_loop()
        self.failure = ""
        """Why this end has closed the link, in one sentence. For example, the received bytes are not the protocol, so
        that the start of the next message is unknown. Empty when it has not."""
        self._outgoing: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        """The messages to write, each with the future that is set when the message is written. None ends the thread
        that writes."""
        self.read_ended = threading.Event()
        """Set when the thread that reads has ended, so that stdin can be closed."""
        threading.Thread(target=self._read, name="eca-stdin", daemon=True).start()
        threading.Thread(target=self._write, name="eca-stdout", daemon=True).start()

    def _read(self) -> None:
        """Read stdin until its end. Runs in the daemon thread."""
        try:
            self._read_messages()
        finally:
            self.read_ended.set()
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self.end)

    def _read_messages(self) -> None:
        """Push each message, until stdin ends or its bytes are not the protocol."""
        while data := os.read(self._stdin.fileno(), READ_BYTES):
            for message in self._reader.feed(data):
                if isinstance(message, FrameError) and message.fatal:
                    self.failure = f"The client does not speak the protocol: {message}."
                self._loop.call_soon_threadsafe(self.push, message)
                if self.failure:
                    return

    async def send(self, message: Message) -> None:
        """Give a message to the thread that writes, and return when it is written."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._outgoing.put((self._encode(message), written))
        await written

    def _write(self) -> None:
        """Write the queued messages. Runs in a daemon thread: nothing can cancel a write to a peer that does not read,
        and the process must be able to end nevertheless."""
        has_reader = True
        while (item := self._outgoing.get()) is not None:
            data, written = item
            view = memoryview(data)
            while view and has_reader:
                try:
                    # Not by `self._stdout.write`: its lock would be held when the process ends, which Python calls a
                    # fatal error.
                    view = view[os.write(self._stdout.fileno(), view) :]
                except (OSError, ValueError):
                    # The reader of stdout has left. Its end of stdin closes too, and that ends the session.
                    has_reader = False
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(_mark_written, written)

    async def close(self, reason: str = "") -> None:
        """End the link. The messages that wait are written first, if the peer still reads. The reason is kept as
        `failure`, because stdout may be full."""
        self.failure = self.failure or reason
        self.end()
        self._outgoing.put(None)


def _mark_written(written: asyncio.Future[None]) -> None:
    """Set a future, unless nobody waits for it any more."""
    if not written.done():
        written.set_result(None)


def claim_streams() -> tuple[FileIO, BinaryIO]:
    """Take the real stdin and stdout away from the rest of the process, and return them.

    From now on, everything that a library prints goes to stderr, and stdin is empty for libraries and child processes.
    So they can neither read a byte of the protocol nor add one.
    """
    stdout = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    stdin = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, sys.stdin.fileno())
    os.close(empty)
    return stdin, stdout


def open_stdio(*, lines: bool = False) -> StdioLink:
    """Open a link over the standard streams of this process. See `StdioLink` for `lines`."""
    return StdioLink(*claim_streams(), lines=lines)
