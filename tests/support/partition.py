"""Owns `Partition`: a proxy on this machine that can stop forwarding without closing a connection, as a network does
that is cut, or a laptop that has moved to another one. Both ends then have a connection that is half open."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator


class Partition:
    """Forwards the connections to a server."""

    def __init__(self, url: str) -> None:
        """`url` is that of the server."""
        self._server = urlsplit(url)
        self._whole = asyncio.Event()
        self._whole.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()
        self.url = ""
        """The address of the proxy."""

    async def start(self) -> None:
        self._listening = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._listening.sockets[0].getsockname()[1]}"

    def cut(self) -> None:
        """Forward nothing any more. No connection is closed, and new ones are accepted."""
        self._whole.clear()

    def heal(self) -> None:
        """Forward again, also what was sent meanwhile."""
        self._whole.set()

    async def close(self) -> None:
        self._listening.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for writer in self._writers:
            writer.transport.abort()
        await asyncio.gather(*(writer.wait_closed() for writer in self._writers), return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection(self._server.hostname, self._server.port)
        self._writers |= {back, writer}
        for source, sink in ((reader, back), (there, writer)):
            task = asyncio.create_task(self._forward(source, sink))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _forward(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await source.read(4096):
                await self._whole.wait()
                sink.write(data)
                await sink.drain()
        sink.close()


@asynccontextmanager
async def cuttable(url: str) -> AsyncGenerator[Partition]:
    """A proxy before the server of a URL. It has the address of the proxy, without the path."""
    network = Partition(url)
    await network.start()
    try:
        yield network
    finally:
        await network.close()
