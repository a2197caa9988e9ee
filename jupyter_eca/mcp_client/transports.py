"""The SDK's transports, watched: stdio, streamable HTTP and SSE. It knows no session: a `TransportWatch` is told
what passes, in the order of the messages.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import threading
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Self

import anyio
import httpx2
from mcp import StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCNotification, JSONRPCResponse

from jupyter_eca.errors import LocalError
from jupyter_eca.mcp_client.bounded_lines import ENCODING, MAX_BYTES, ON_OVERFLOW
from jupyter_eca.mcp_client.tool_checks import split_tools

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from types import TracebackType

    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage

    from jupyter_eca.config import McpServerConfig

LISTS: Final = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}

# What is kept of a server's last words.
_TAIL: Final = 2_000
# Lines that are heard of 64 KiB: who writes faster than that is not read line by line.
_LINES: Final = 100

# How long an HTTP server may take to accept a connection or a request; for answers the calls have their own timeouts.
_CONNECT: Final = 30.0

# Set around one use of a connection: the HTTP status that refused it, if one did.
REFUSAL: ContextVar[list[int] | None] = ContextVar("REFUSAL", default=None)

# The SDK logs a traceback for each line that is no JSON-RPC; the watch counts them, and the server's end tells.
logging.getLogger("mcp.client.stdio").addFilter(lambda record: "Failed to parse" not in record.getMessage())


@dataclass
class TransportWatch:
    """What is observed of a transport. `stale` are the lists to fetch again; `news` is set when there are some.
    `lived`: it was running. `hear` is called with each line of stderr, in a thread of its own, `updated` with the
    address of a resource that changed."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    news: anyio.Event = field(default_factory=anyio.Event)
    stale: set[str] = field(default_factory=set[str])
    garbage: int = 0
    lived: bool = False
    words: bytearray = field(default_factory=bytearray)
    version: str = ""
    """The version of the protocol, once it is agreed on."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """The tools of the last list that cannot be used, each with the reason."""
    hear: Callable[[str], None] = lambda _: None
    updated: Callable[[str], None] = lambda _: None
    fault: str = ""
    """Why we ended the transport, if we did."""

    def end_for_size(self) -> None:
        """End the transport: the server sends a message that is larger than what we read."""
        self.fault = f"it sent a message of more than {MAX_BYTES >> 20} MiB"
        self.ended.set()

    def mark(self, *lists: str) -> None:
        self.stale.update(lists)
        self.news.set()

    @property
    def last_words(self) -> str:
        """Return the last line of stderr."""
        lines = bytes(self.words).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class _Reading:
    """The SDK's stream, observed."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], watch: TransportWatch) -> None:
        self._stream = stream
        self._watch = watch

    @property
    def last_context(self) -> Any:
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._watch.ended.set()
            raise
        if isinstance(item, Exception):
            self._watch.garbage += 1
        elif isinstance(item.message, JSONRPCNotification):
            self._look(item.message)
        elif isinstance(item.message, JSONRPCResponse) and isinstance(item.message.result.get("tools"), list):
            await self._check_tools(item.message.result)
        return item

    async def _check_tools(self, result: dict[str, Any]) -> None:
        """Leave out malformed tools. A check takes about a millisecond, so it is not done on the loop."""
        usable, left_out = await asyncio.to_thread(split_tools, result, self._watch.version)
        self._watch.left_out.update(left_out)
        result["tools"] = usable

    def _look(self, message: JSONRPCNotification) -> None:
        if name := LISTS.get(message.method):
            self._watch.mark(name)
        elif message.method == "notifications/resources/updated":
            self._watch.updated(str((message.params or {}).get("uri")))

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> ReadStream[SessionMessage | Exception]:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


@contextlib.asynccontextmanager
async def watch_messages(
    transport: AbstractAsyncContextManager[TransportStreams], watch: TransportWatch
) -> AsyncGenerator[TransportStreams]:
    async with transport as (reading, writing):
        yield _Reading(reading, watch), writing


@contextlib.asynccontextmanager
async def stdio(
    settings: McpServerConfig, inherited: Mapping[str, str], folder: Path | None, watch: TransportWatch
) -> AsyncGenerator[TransportStreams]:
    """Start a process and connect to its standard streams. Raises: OSError when it cannot be started."""
    env = {**inherited, **{name: value.get_secret_value() for name, value in settings.env.items()}}
    command = os.path.expanduser(settings.command or "")  # noqa: PTH111, ASYNC240  # a bare name must stay one; it reads no disk
    parameters = StdioServerParameters(
        command=command,
        args=list(settings.args),
        env=env,
        cwd=folder,
        encoding=ENCODING,
        encoding_error_handler="replace",
    )
    ON_OVERFLOW.set(watch.end_for_size)
    reading, writing = os.pipe()
    # A thread, since asyncio reads no pipe of ours on Windows; a daemon, since a grandchild may keep the pipe open.
    threading.Thread(target=_listen, args=(reading, watch), name="mcp stderr", daemon=True).start()
    with os.fdopen(writing, "w") as errlog:
        async with watch_messages(stdio_client(parameters, errlog), watch) as streams:
            yield streams


def _listen(handle: int, watch: TransportWatch) -> None:
    """Read stderr to its end, so that a server that writes much never blocks; keep the tail."""
    begun = b""
    with os.fdopen(handle, "rb", buffering=0) as pipe:
        while piece := pipe.read(65_536):
            watch.words += piece
            del watch.words[:-_TAIL]
            *lines, begun = (begun + piece).split(b"\n")
            for line in lines[-_LINES:]:
                watch.hear(line[:_TAIL].decode("utf-8", "replace").rstrip())
            begun = begun[-_TAIL:]
    if begun:
        watch.hear(begun.decode("utf-8", "replace").rstrip())


@contextlib.asynccontextmanager
async def http(
    settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch
) -> AsyncGenerator[TransportStreams]:
    _check(settings.url)
    async with (
        _client(settings, auth, watch) as client,
        watch_messages(streamable_http_client(settings.url or "", http_client=client), watch) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def sse(
    settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch
) -> AsyncGenerator[TransportStreams]:
    def factory(*_: Any, **__: Any) -> httpx2.AsyncClient:
        return _client(settings, auth, watch)

    async with watch_messages(sse_client(settings.url or "", httpx_client_factory=factory), watch) as streams:
        yield streams


def _check(url: str | None) -> None:
    parsed = httpx2.URL(url or "")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise LocalError(f"{url!r} is no URL of a server: it must start with http:// or https://.")


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an answer. An event of a stream of events, or the body as a whole, must not be too large."""

    def __init__(self, body: httpx2.AsyncByteStream, watch: TransportWatch, *, is_events: bool) -> None:
        self._body = body
        self._watch = watch
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._body:
            end = max(piece.rfind(b"\n\n"), piece.rfind(b"\n\r\n")) if self._is_events else -1
            size = len(piece) - end if end >= 0 else size + len(piece)
            if size > MAX_BYTES:
                self._watch.end_for_size()
                raise httpx2.ReadError(self._watch.fault)
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


def _client(settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch) -> httpx2.AsyncClient:
    async def look(response: httpx2.Response) -> None:
        is_events = response.headers.get("content-type", "").startswith("text/event-stream")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, watch, is_events=is_events)
        refusal = REFUSAL.get()
        if refusal is not None and response.status_code >= 400:
            refusal.append(response.status_code)

    return httpx2.AsyncClient(
        headers={name: value.get_secret_value() for name, value in settings.headers.items()},
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT, read=None),
        event_hooks={"response": [look]},
    )
