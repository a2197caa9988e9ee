"""Frames over this process' standard streams. While it is open nothing else can write to stdout."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING

from jupyter_eca.errors import FrameError
from jupyter_eca.protocol.jsonrpc import FrameReader, Message, frame
from jupyter_eca.transport.link import Inbox

if TYPE_CHECKING:
    from io import FileIO
    from typing import BinaryIO

# What a pipe holds on Linux: a larger read would find no more.
READ_BYTES = 64 * 1024


class StdioLink(Inbox):
    """A thread reads, since a blocking read of stdin can be cancelled on no platform; it dies with the process."""

    def __init__(self, stdin: FileIO, stdout: BinaryIO) -> None:
        super().__init__()
        self._stdin = stdin
        self._stdout = stdout
        self._loop = asyncio.get_running_loop()
        self._writing = asyncio.Lock()
        threading.Thread(target=self._read, name="eca-stdin", daemon=True).start()

    def _read(self) -> None:
        reader = FrameReader()
        while data := os.read(self._stdin.fileno(), READ_BYTES):
            for message in reader.feed(data):
                self._loop.call_soon_threadsafe(self.push, message)
                if isinstance(message, FrameError) and message.fatal:
                    self._loop.call_soon_threadsafe(self.end)
                    return
        self._loop.call_soon_threadsafe(self.end)

    async def send(self, message: Message) -> None:
        async with self._writing:
            await asyncio.to_thread(self._put, frame(message))

    def _put(self, data: bytes) -> None:
        try:
            self._stdout.write(data)
            self._stdout.flush()
        except (BrokenPipeError, ValueError):
            # The reader is gone; its end of stdin closes too, and that ends the session.
            pass

    async def close(self) -> None:
        self.end()


def claimed() -> tuple[FileIO, BinaryIO]:
    """The real streams for a protocol; what any library prints from now on goes to stderr, and what it, or a process
    that it starts, reads from stdin is at its end: neither can take a byte of the protocol or add one."""
    out = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    taken = os.fdopen(os.dup(sys.stdin.fileno()), "rb", buffering=0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return taken, out


def take_stdio() -> StdioLink:
    return StdioLink(*claimed())
