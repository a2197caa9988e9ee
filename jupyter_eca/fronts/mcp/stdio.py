"""Owns the link over this process' own streams, as the SDK's two streams. A message is a line.

A signal can end these streams, but not the streams that the SDK itself would open.
"""

from __future__ import annotations

import asyncio
import io
import math
import threading
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage

from jupyter_eca.transport.stdio import claim_streams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import BinaryIO

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]

Incoming = SessionMessage | Exception


@asynccontextmanager
async def open_streams() -> AsyncGenerator[Streams]:
    """Yield the two streams. Reading ends with stdin."""
    stdin, stdout = claim_streams()
    incoming, reader = anyio.create_memory_object_stream[Incoming](math.inf)
    outgoing, writer = anyio.create_memory_object_stream[SessionMessage](0)
    loop = asyncio.get_running_loop()

    def read() -> None:
        for line in io.BufferedReader(stdin):
            loop.call_soon_threadsafe(incoming.send_nowait, _parse(line))
        loop.call_soon_threadsafe(incoming.close)

    # No platform can cancel a blocking read; the thread ends with the process.
    threading.Thread(target=read, name="eca-stdin", daemon=True).start()
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_write(writer, stdout))
        try:
            with incoming, reader, outgoing:
                yield reader, outgoing
        finally:
            writing.cancel()


def _parse(line: bytes) -> Incoming:
    try:
        return SessionMessage(types.jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _write(writer: MemoryObjectReceiveStream[SessionMessage], stdout: BinaryIO) -> None:
    with writer:
        async for message in writer:
            line = message.message.model_dump_json(by_alias=True, exclude_unset=True) + "\n"
            try:
                await asyncio.to_thread(_put, stdout, line.encode())
            except BrokenPipeError:
                return  # stdin ends next, and that ends everything


def _put(stdout: BinaryIO, data: bytes) -> None:
    stdout.write(data)
    stdout.flush()
