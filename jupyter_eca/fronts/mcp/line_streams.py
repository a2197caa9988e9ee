"""Serves MCP (Model Context Protocol) over a connection whose lines are the messages. `stdio.py` does the same over the
standard streams.

It must not check who is at the other end: `agent_endpoint.py` has done this.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio
from mcp.shared.message import SessionMessage

from jupyter_eca.fronts.mcp.server import McpFront
from jupyter_eca.fronts.mcp.stdio import Incoming, Refusal, encode_message, parse_line

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    from jupyter_eca.fronts.mcp.offers_base import Backend
    from jupyter_eca.fronts.mcp.stdio import Streams


_log = logging.getLogger(__name__)


async def serve_lines(
    backend: Backend, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, closed: asyncio.Event
) -> None:
    """Serve a backend to one client, until the client closes the connection or `closed` is set. A line that is longer
    than the limit of the reader ends the connection, too."""
    front = McpFront(backend)

    async def run() -> None:
        """Serve the client until the connection ends."""
        try:
            async with front.running(), _open_streams(reader, writer) as (received, sent):
                await front.server.run(received, sent, front.server.create_initialization_options())
        except* (ConnectionError, ValueError) as errors:
            _log.info("The connection of a client has ended: %s", errors.exceptions)

    serving, ending = asyncio.create_task(run()), asyncio.create_task(closed.wait())
    try:
        await asyncio.wait((serving, ending), return_when=asyncio.FIRST_COMPLETED)
    finally:
        serving.cancel()
        ending.cancel()
        await asyncio.wait((serving, ending))
    if not serving.cancelled():
        serving.result()


@asynccontextmanager
async def _open_streams(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> AsyncGenerator[Streams]:
    """Yield the stream of incoming messages and the stream for outgoing messages. The first one ends when the
    connection ends."""
    # Each memory stream has two ends: what is put into `incoming` comes out of `received`.
    incoming, received = anyio.create_memory_object_stream[Incoming](0)
    outgoing, sent = anyio.create_memory_object_stream[SessionMessage](0)

    async with asyncio.TaskGroup() as tasks:
        reading = tasks.create_task(_read(reader, incoming, outgoing.clone()))
        writing = tasks.create_task(_write(writer, sent))
        try:
            with received, outgoing:
                yield received, outgoing
        finally:
            reading.cancel()
            writing.cancel()


async def _read(
    reader: asyncio.StreamReader,
    incoming: MemoryObjectSendStream[Incoming],
    refusals: MemoryObjectSendStream[SessionMessage],
) -> None:
    """Pass the incoming messages on. Answer each line that is not a message with an error."""
    with incoming, refusals:
        while line := await reader.readline():
            if not line.strip():
                continue
            match parse_line(line):
                case Refusal(error=error):
                    await refusals.send(SessionMessage(error))
                case message:
                    await incoming.send(SessionMessage(message))


async def _write(writer: asyncio.StreamWriter, sent: MemoryObjectReceiveStream[SessionMessage]) -> None:
    """Write the outgoing messages, one in each line."""
    with sent:
        async for message in sent:
            writer.write(encode_message(message))
            await writer.drain()
