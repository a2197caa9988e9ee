"""Owns the transport of MCP (Model Context Protocol) over stdin and stdout, in the form of the two streams that the MCP
SDK expects. Each message is one line.

We do not use the SDK's own transport, because a signal cannot end its streams. This module must not know what a
message means: `server.py` does.
"""

from __future__ import annotations

import asyncio
import io
import math
import threading
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import anyio
import mcp_types as types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from jupyter_eca.protocol.base import find_fault
from jupyter_eca.protocol.jsonrpc import parse_json
from jupyter_eca.transport.stdio import claim_streams

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from typing import BinaryIO

    from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

    Streams = tuple[MemoryObjectReceiveStream[SessionMessage | Exception], MemoryObjectSendStream[SessionMessage]]
    """The stream of incoming messages, and the stream for outgoing messages."""

Incoming = SessionMessage | Exception
"""What the SDK reads from the stream of incoming messages. We never send an exception there."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer to a line that is not a message. This class is not the SDK's `JSONRPCError`, because a line can also
    contain a valid `JSONRPCError`: the client's answer to a request of ours that has failed."""

    error: types.JSONRPCError
    """The error as it is sent to the client."""


@asynccontextmanager
async def open_streams() -> AsyncGenerator[Streams]:
    """Yield the stream of incoming messages and the stream for outgoing messages. The first one ends when stdin
    ends."""
    stdin, stdout = claim_streams()
    incoming_sender, incoming = anyio.create_memory_object_stream[Incoming](math.inf)
    outgoing, outgoing_receiver = anyio.create_memory_object_stream[SessionMessage](0)
    refusals = asyncio.Queue[types.JSONRPCError]()
    loop = asyncio.get_running_loop()

    def read() -> None:
        """Read the lines of stdin, and pass on the messages and the answers to all other lines. Runs in a thread."""
        for line in filter(bytes.strip, io.BufferedReader(stdin)):
            match parse_line(line):
                case Refusal(error=error):
                    loop.call_soon_threadsafe(refusals.put_nowait, error)
                case message:
                    loop.call_soon_threadsafe(incoming_sender.send_nowait, SessionMessage(message))
        loop.call_soon_threadsafe(incoming_sender.close)

    async def refuse(sender: MemoryObjectSendStream[SessionMessage]) -> None:
        """Send the answers to lines that are not messages."""
        with sender:
            while True:
                await sender.send(SessionMessage(await refusals.get()))

    # A blocking read cannot be cancelled on any platform. So this is a daemon thread, which ends with the process.
    threading.Thread(target=read, name="eca-stdin", daemon=True).start()
    async with asyncio.TaskGroup() as tasks:
        writing = tasks.create_task(_write(outgoing_receiver, stdout))
        refusing = tasks.create_task(refuse(outgoing.clone()))
        try:
            with incoming_sender, incoming, outgoing:
                yield incoming, outgoing
        finally:
            writing.cancel()
            refusing.cancel()


def parse_line(line: bytes) -> types.JSONRPCMessage | Refusal:
    """Return the message in a line, or the answer to a line that is not a message. The SDK would only drop such a line,
    and the client would wait for ever."""
    try:
        data = parse_json(line)
        if fault := find_fault(data):
            raise ValueError(fault)
    except (ValueError, RecursionError) as error:
        return _refuse(types.PARSE_ERROR, f"not JSON: {error}")
    try:
        # The SDK would treat a request with another kind of id as a notification, and send no answer.
        if isinstance(data, dict) and not isinstance(cast("dict[str, Any]", data).get("id"), str | int | None):
            raise TypeError("the id of a request is a string or an integer")
        return types.jsonrpc_message_adapter.validate_python(data, by_name=False)
    except (ValidationError, TypeError) as error:
        reason = "" if isinstance(error, ValidationError) else f": {error}"
        return _refuse(types.INVALID_REQUEST, f"not a JSON-RPC 2.0 message{reason}")


def _refuse(code: int, message: str) -> Refusal:
    """Make the answer to a line that is not a message. The line has no id that the answer could repeat."""
    return Refusal(types.JSONRPCError(jsonrpc="2.0", id=None, error=types.ErrorData(code=code, message=message)))


def encode_message(message: SessionMessage) -> bytes:
    """Return a message as a line."""
    return message.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"


async def _write(messages: MemoryObjectReceiveStream[SessionMessage], stdout: BinaryIO) -> None:
    """Write the outgoing messages to stdout, one in each line."""
    with messages:
        async for message in messages:
            try:
                await asyncio.to_thread(_write_bytes, stdout, encode_message(message))
            except BrokenPipeError:
                return  # the client has closed both streams: the end of stdin comes next, and ends the server


def _write_bytes(stdout: BinaryIO, data: bytes) -> None:
    """Write data at once. This may block, so it runs in a thread."""
    stdout.write(data)
    stdout.flush()
