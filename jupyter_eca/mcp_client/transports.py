"""Opens the transports of the SDK (the package `mcp`), which connect to an MCP server: the standard streams of a
program (stdio), streamable HTTP, and the older SSE (server-sent events). It watches the messages that arrive, and notes
what it observes in a `TransportWatch`, in the order of the messages.

It must not know sessions or calls: `connection.py` reads the watch. `bounded_lines.py` beside it limits the size of
messages, and `tool_checks.py` checks lists of tools.
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
from mcp.client.auth import OAuthFlowError
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import JSONRPCNotification, JSONRPCResponse

from jupyter_eca import redaction
from jupyter_eca.errors import LocalError
from jupyter_eca.mcp_client.bounded_lines import ENCODING, MAX_BYTES, ON_OVERFLOW
from jupyter_eca.mcp_client.tool_checks import split_tools
from jupyter_eca.workspace.jobs.process_records import MARK, ProcessRecord

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path
    from types import TracebackType

    from mcp.client._transport import TransportStreams
    from mcp.shared._stream_protocols import ReadStream
    from mcp.shared.message import SessionMessage

    from jupyter_eca.config import McpServerConfig

# The name of the list that has changed, by the method of the notification.
_LIST_CHANGES: Final = {
    "notifications/tools/list_changed": "tools",
    "notifications/prompts/list_changed": "prompts",
    "notifications/resources/list_changed": "resources",
}

# The number of the last bytes of stderr that are kept. Of each line, at most this many bytes are logged.
_MAX_TAIL: Final = 2_000
# Stderr is read in pieces of at most 64 KiB. Of each piece, this many of its last lines are logged.
_MAX_LINES: Final = 100

# Seconds that an HTTP server has to accept a connection or a request. Calls have their own timeouts for the answer.
_CONNECT_SECONDS: Final = 30.0

# The HTTP error statuses of the requests that are sent in this context. `connection.py` and `session_run.py`
# set a list before they use a connection.
ERROR_STATUSES: ContextVar[list[int] | None] = ContextVar("ERROR_STATUSES", default=None)

# The SDK logs a traceback for each line that is not JSON-RPC. Instead, the watch counts these lines, and the error of
# the server mentions them.
logging.getLogger("mcp.client.stdio").addFilter(lambda record: "Failed to parse" not in record.getMessage())


@dataclass
class TransportWatch:
    """What was observed on one transport."""

    ended: anyio.Event = field(default_factory=anyio.Event)
    """Set when the transport has ended."""
    lists_changed: anyio.Event = field(default_factory=anyio.Event)
    """Set when `stale_lists` is not empty."""
    stale_lists: set[str] = field(default_factory=set[str])
    """The names of the lists that must be fetched again."""
    invalid_messages: int = 0
    """The number of messages that were not JSON-RPC."""
    was_ready: bool = False
    """Whether the server was connected and its tools were known."""
    stderr_tail: bytearray = field(default_factory=bytearray)
    """The last bytes of stderr."""
    protocol_version: str = ""
    """The version of MCP that is used; empty until it is agreed on."""
    left_out: dict[str, str] = field(default_factory=dict[str, str])
    """The listed tools that cannot be used, each with the reason. `connection.py` clears it before it fetches the
    list."""
    on_stderr: Callable[[str], None] = lambda _: None
    """Called with each line of stderr, in another thread."""
    on_resource_updated: Callable[[str], None] = lambda _: None
    """Called with the URI of a resource that changed."""
    fault: str = ""
    """Why we ended the transport; empty if we did not."""

    def end_for_size(self) -> None:
        """End the transport, because the server sends a message that is too large."""
        self.fault = f"it sent a message of more than {MAX_BYTES >> 20} MiB"
        self.ended.set()

    def mark_stale(self, *lists: str) -> None:
        """Note that these lists must be fetched again."""
        self.stale_lists.update(lists)
        self.lists_changed.set()

    @property
    def last_stderr_line(self) -> str:
        """The last line of stderr that is not empty."""
        lines = bytes(self.stderr_tail).decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "")


class _WatchedStream:
    """The stream of messages that the SDK reads. It notes what passes, and passes on everything."""

    def __init__(self, stream: ReadStream[SessionMessage | Exception], watch: TransportWatch) -> None:
        self._stream = stream
        self._watch = watch

    @property
    def last_context(self) -> Any:
        """The context of the last message, which the SDK reads."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message; an exception for a message that is not valid."""
        try:
            item = await self._stream.receive()
        except (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError):
            self._watch.ended.set()
            raise
        if isinstance(item, Exception):
            self._watch.invalid_messages += 1
        elif isinstance(item.message, JSONRPCNotification):
            self._note_notification(item.message)
        elif isinstance(item.message, JSONRPCResponse) and isinstance(item.message.result.get("tools"), list):
            await self._remove_malformed_tools(item.message.result)
        return item

    async def _remove_malformed_tools(self, result: dict[str, Any]) -> None:
        """Remove malformed tools from a list. The check of a tool takes about a millisecond, so it runs in a thread."""
        usable, left_out = await asyncio.to_thread(split_tools, result, self._watch.protocol_version)
        self._watch.left_out.update(left_out)
        result["tools"] = usable

    def _note_notification(self, message: JSONRPCNotification) -> None:
        """Note that a list or a resource changed."""
        if name := _LIST_CHANGES.get(message.method):
            self._watch.mark_stale(name)
        elif message.method == "notifications/resources/updated":
            self._watch.on_resource_updated(str((message.params or {}).get("uri")))

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
    """Open a transport whose incoming messages are watched."""
    async with transport as (reading, writing):
        yield _WatchedStream(reading, watch), writing


@contextlib.asynccontextmanager
async def open_stdio(
    settings: McpServerConfig, environment: Mapping[str, str], folder: Path | None, watch: TransportWatch
) -> AsyncGenerator[TransportStreams]:
    """Start a program in a folder, and connect to its standard streams. The variables of the configuration are added to
    `environment`.

    Raises: OSError when the program cannot be started.
    """
    # A server may go on when its stdin is closed. If the assistant is killed, the next start of the assistant finds the
    # server by this record and ends it. The variable `MARK` identifies the processes of the record.
    record = await asyncio.to_thread(ProcessRecord.open, _name_program(settings))
    env = {**environment, **{name: value.get_secret_value() for name, value in settings.env.items()}, MARK: record.mark}
    command = os.path.expanduser(settings.command or "")  # noqa: PTH111, ASYNC240  # a `Path` would change `./server` to `server`; this does not read the disk
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
    # A thread reads stderr, because asyncio cannot read this pipe on Windows. The thread is a daemon, because a process
    # that the server started may keep the pipe open.
    threading.Thread(target=_read_stderr, args=(reading, watch), name="mcp stderr", daemon=True).start()
    try:
        with os.fdopen(writing, "w") as errlog:
            async with watch_messages(stdio_client(parameters, errlog), watch) as streams:
                yield streams
    finally:
        record.close()


def _name_program(settings: McpServerConfig) -> str:
    """Return the command of a server without secrets, for the user."""
    return f"MCP server {' '.join(redaction.redact_arguments((settings.command or '', *settings.args)))}"


def _read_stderr(handle: int, watch: TransportWatch) -> None:
    """Read stderr to its end, so that a server that writes much does not block. Pass on its lines, and keep the
    tail."""
    unfinished = b""
    with os.fdopen(handle, "rb", buffering=0) as pipe:
        while piece := pipe.read(65_536):
            watch.stderr_tail += piece
            del watch.stderr_tail[:-_MAX_TAIL]
            *lines, unfinished = (unfinished + piece).split(b"\n")
            for line in lines[-_MAX_LINES:]:
                watch.on_stderr(line[:_MAX_TAIL].decode("utf-8", "replace").rstrip())
            unfinished = unfinished[-_MAX_TAIL:]
    if unfinished:
        watch.on_stderr(unfinished.decode("utf-8", "replace").rstrip())


@contextlib.asynccontextmanager
async def open_http(
    settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch, find_url_refusal: Callable[[str], str]
) -> AsyncGenerator[TransportStreams]:
    """Connect to a URL by streamable HTTP. `auth` signs in to it; None for no sign-in. `find_url_refusal` returns why a
    request to an address is not allowed, "" if it is. Raises: LocalError when the URL cannot be that of a server."""
    _check_url(settings.url)
    async with (
        _make_client(settings, auth, watch, find_url_refusal) as client,
        watch_messages(streamable_http_client(settings.url or "", http_client=client), watch) as streams,
    ):
        yield streams


@contextlib.asynccontextmanager
async def open_sse(
    settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch, find_url_refusal: Callable[[str], str]
) -> AsyncGenerator[TransportStreams]:
    """Connect to a URL by SSE, the older transport. See `open_http` for the arguments."""

    def make_client(*_: Any, **__: Any) -> httpx2.AsyncClient:
        """Return our own HTTP client. The settings that the SDK passes for a client are ignored."""
        return _make_client(settings, auth, watch, find_url_refusal)

    async with watch_messages(sse_client(settings.url or "", httpx_client_factory=make_client), watch) as streams:
        yield streams


def _check_url(url: str | None) -> None:
    """Check that a URL can be that of a server: it begins with http:// or https://. Raises: LocalError."""
    parsed = httpx2.URL(url or "")
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        raise LocalError(f"{url!r} is no URL of a server: it must start with http:// or https://.")


class AddressRefusedError(OAuthFlowError):
    """The administrator's policy does not allow a request to this address. Like a failed sign-in, it ends the session,
    and the other transport is not tried."""


class _BoundedStream(httpx2.AsyncByteStream):
    """The body of an HTTP answer. It ends the transport when the body is too large; for a stream of events, when one
    event is too large."""

    def __init__(self, body: httpx2.AsyncByteStream, watch: TransportWatch, *, is_events: bool) -> None:
        self._body = body
        self._watch = watch
        self._is_events = is_events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for piece in self._body:
            # An empty line ends an event. Then only the bytes behind it belong to the next event.
            end = max(piece.rfind(b"\n\n"), piece.rfind(b"\n\r\n")) if self._is_events else -1
            size = len(piece) - end if end >= 0 else size + len(piece)
            if size > MAX_BYTES:
                self._watch.end_for_size()
                raise httpx2.ReadError(self._watch.fault)
            yield piece

    async def aclose(self) -> None:
        await self._body.aclose()


def _make_client(
    settings: McpServerConfig, auth: httpx2.Auth | None, watch: TransportWatch, find_url_refusal: Callable[[str], str]
) -> httpx2.AsyncClient:
    """Return an HTTP client with the headers of the configuration. It limits answers, and notes error statuses. It
    sends no request to an address that is not allowed: the server chooses the addresses of a sign-in."""

    async def check_request(request: httpx2.Request) -> None:
        """Raise AddressRefusedError if the policy does not allow the address. The client calls this before each
        request."""
        if refusal := find_url_refusal(str(request.url)):
            raise AddressRefusedError(refusal.rstrip("."))

    async def inspect_response(response: httpx2.Response) -> None:
        """Limit the size of the body, and note an error status. The client calls this with each response."""
        is_events = response.headers.get("content-type", "").startswith("text/event-stream")
        if isinstance(response.stream, httpx2.AsyncByteStream):
            response.stream = _BoundedStream(response.stream, watch, is_events=is_events)
        statuses = ERROR_STATUSES.get()
        if statuses is not None and response.status_code >= 400:
            statuses.append(response.status_code)

    return httpx2.AsyncClient(
        headers={name: value.get_secret_value() for name, value in settings.headers.items()},
        auth=auth,
        timeout=httpx2.Timeout(_CONNECT_SECONDS, read=None),
        event_hooks={"request": [check_request], "response": [inspect_response]},
    )
