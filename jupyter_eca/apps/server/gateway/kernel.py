"""One kernel behind a gateway, over one WebSocket. It serves the tools, and the comms of `%eca`: Jupyter's two-way
connections to a kernel (`kernel_comms.py`).

The manager and the client that Jupyter has for such kernels are not used here. The client sends no token, waits in a
busy loop, and needs ZeroMQ sockets for `execute_interactive`. Connections are made with the arguments that Jupyter uses
for its own: the token, certificates and cookies of `GatewayClient`.

The WebSocket is open only while somebody uses the kernel: a page, a tool, or a cell that asks. A gateway that ends idle
kernels does not end one that has a connection. So after the last use, the WebSocket is closed. `kernels.py` tells this
class which pages are open.

    kernel.connect()  ->  a task opens the WebSocket, asks the kernel for its state, and reads until the connection ends
                          -> while pages are open, it is opened again after a pause
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, Protocol

from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session
from jupyter_server.gateway.gateway_client import GatewayClient
from jupyter_server.utils import url_path_join
from tornado.escape import url_escape
from tornado.httpclient import HTTPRequest
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

from jupyter_eca.apps.server.gateway.failures import KernelMissingError, explain_errors
from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping

# Seconds that a gateway has to open a WebSocket. Jupyter gives it more than 40, but a tool call would wait as long. A
# gateway opens it when the kernel has answered for the first time.
CONNECT_SECONDS: Final = 20.0

# Seconds that a gateway has to interrupt a kernel. A stopped turn waits for it.
INTERRUPT_SECONDS: Final = 5.0

# Seconds between two pings. A connection on which no pong comes back is closed: some networks lose one silently.
PING_SECONDS: Final = 15.0

# The largest message, in bytes: outputs of a cell come in one. Tornado's default of 10 MiB would close the connection.
MAX_MESSAGE_BYTES: Final = 100 * 1024 * 1024

# Seconds to wait for the first status of a kernel before it is asked again. The wait doubles, up to the second value:
# a busy kernel keeps all these requests in its queue.
FIRST_STATUS_SECONDS: Final = 0.25
MAX_STATUS_SECONDS: Final = 5.0

# Seconds after the last use after which the WebSocket is closed.
UNUSED_SECONDS: Final = 60.0

# Seconds to wait before a lost connection is opened again. The wait doubles, up to the second value.
FIRST_PAUSE_SECONDS: Final = 1.0
MAX_PAUSE_SECONDS: Final = 30.0

# States that a gateway sends when it has found that the process of a kernel has ended.
_ENDED: Final = frozenset({"restarting", "autorestarting", "dead"})

# The errors of callers that wait for the kernel.
_GONE: Final = "The kernel of this notebook is gone."
_LOST: Final = "The connection to the gateway was lost. Code that was running may still run."


class KernelListener(Protocol):
    """Receives what a kernel publishes: the comms of the kernel."""

    def receive(self, message: dict[str, Any]) -> None:
        """Receive a message of the iopub channel."""
        ...

    def reconnect(self) -> None:
        """Handle that the WebSocket is open now, perhaps once more."""
        ...

    def hang_up(self) -> None:
        """Handle that the WebSocket will be closed in a moment. Messages can still be sent."""
        ...

    def lose(self) -> None:
        """Handle that the WebSocket was lost. Messages of the kernel may be missing."""
        ...

    def close_all(self) -> None:
        """Handle that the process of the kernel has ended."""
        ...


@dataclass
class _Process:
    """Stands for the process of a kernel on another machine."""

    pid: int = 0
    """A number of our own. It changes when the kernel is restarted, and when the WebSocket is opened again."""


class _Attempt:
    """An attempt to connect."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()
        """Set when it has succeeded or failed."""
        self.error: ToolError | None = None
        """Why it has failed; None if it has not."""


class _Request:
    """A request on the shell channel that waits for its reply."""

    def __init__(self) -> None:
        self.reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        """Its reply; the error when the connection was lost before."""
        self.published: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        """What the kernel publishes for it; None when the connection has ended."""


class GatewayKernel:
    """Implements `RemoteKernel` of `workspace/kernels/remote.py`."""

    def __init__(
        self,
        kernels: Any,
        id: str,
        start_child: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]],
        listener: KernelListener | None = None,
    ) -> None:
        """`kernels` is the kernel manager of the server, and `id` the id of the kernel. `start_child` runs a coroutine
        as a task that is cancelled when the server ends. `listener` receives what the kernel publishes."""
        self.provisioner = _Process()
        """In the place of Jupyter's object for the process of a kernel. Only its `pid` is read."""
        self.language = ""
        """The programming language in small letters; "" until the kernel has reported it."""
        self.listener = listener
        self._kernels = kernels
        self._id = id
        self._pages: set[object] = set()  # the connections of the pages that show this kernel
        self._start_child = start_child
        # Messages on a WebSocket are not signed. This session only makes ids for them.
        self._session: Any = Session()
        self._task: asyncio.Task[None] | None = None  # connects, and reads until the connection ends
        self._socket: WebSocketClientConnection | None = None  # None while there is no connection
        self._attempt = _Attempt()  # the current attempt to connect, or the next one
        self._wanted = asyncio.Event()  # set when somebody wants the next attempt at once
        self._status_received = asyncio.Event()  # set when the kernel has reported its state on this connection
        self._is_dead = False  # whether the kernel has ended, as the gateway has reported
        self._requests: dict[str, _Request] = {}  # by the id of the message
        self._state_requests: set[str] = set()  # the ids of the requests of `kernel_info`
        self._statuses: asyncio.Queue[dict[str, Any]] = asyncio.Queue()  # answers to `kernel_info`
        self._last_use = monotonic()  # in seconds of the monotonic clock

    # -- the pages

    def add_page(self, page: object) -> None:
        """Note that a page shows the kernel, and stay connected while it does."""
        self._pages.add(page)
        self.connect()

    def remove_page(self, page: object) -> None:
        """Note that a page has gone."""
        self._pages.discard(page)
        self._last_use = monotonic()

    # -- the connection

    def connect(self) -> None:
        """Begin to connect, unless that is done already. A pause between two attempts ends."""
        self._last_use = monotonic()
        self._wanted.set()
        if self._task is None or self._task.done():
            self._task = self._start_child(self._stay_connected())

    async def wait_until_connected(self) -> None:
        """Connect, unless it is connected. Raises: ToolError."""
        if self._socket is None:
            attempt = self._attempt
            self.connect()
            await attempt.ended.wait()
            if attempt.error is not None:
                raise attempt.error

    async def _stay_connected(self) -> None:
        """Open the WebSocket and read from it. While pages are open, open a lost connection again after a pause."""
        pause_seconds = FIRST_PAUSE_SECONDS
        while True:
            attempt = self._attempt
            try:
                socket = await self._open()
            except ToolError as error:
                self._is_dead = isinstance(error, KernelMissingError)
                self._end_attempt(error)
            else:
                pause_seconds = FIRST_PAUSE_SECONDS
                self._socket = socket
                attempt.ended.set()
                await self._read_until_lost(socket)
            self._wanted.clear()
            if not self._pages or self._is_dead:
                return
            with suppress(TimeoutError):
                async with asyncio.timeout(pause_seconds):
                    await self._wanted.wait()
            pause_seconds = min(pause_seconds * 2, MAX_PAUSE_SECONDS)

    def _end_attempt(self, error: ToolError) -> None:
        """Let those who wait for the current attempt fail. The next ones wait for another attempt."""
        attempt, self._attempt = self._attempt, _Attempt()
        attempt.error = error
        attempt.ended.set()

    async def _open(self) -> WebSocketClientConnection:
        """Open the WebSocket. Raises: ToolError."""
        gateway = GatewayClient.instance()
        address = url_path_join(gateway.ws_url or "", gateway.kernels_endpoint, url_escape(self._id), "channels")
        with explain_errors():
            arguments: dict[str, Any] = gateway.load_connection_args()  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  # its arguments have no types
            for name in ("connect_timeout", "request_timeout"):
                arguments[name] = min(arguments[name], CONNECT_SECONDS)
            return await websocket_connect(
                HTTPRequest(address, **arguments),
                ping_interval=PING_SECONDS,
                ping_timeout=PING_SECONDS,
                max_message_size=MAX_MESSAGE_BYTES,
            )

    async def _read_until_lost(self, socket: WebSocketClientConnection) -> None:
        """Receive messages until the connection ends."""
        self._is_dead = False
        self.provisioner.pid += 1
        self._status_received.clear()
        # What the manager knows may be old. Until the kernel has reported its state, nothing is sent that runs code.
        self._set_state("busy")
        if self.listener is not None:
            self.listener.reconnect()
        try:
            async with asyncio.TaskGroup() as tasks:
                children = [tasks.create_task(self._ask_for_state()), tasks.create_task(self._close_if_unused(socket))]
                while (text := await socket.read_message()) is not None:
                    # A message with binary buffers is never for us. Code in the kernel can publish anything.
                    if isinstance(text, str):
                        with suppress(ValueError, KeyError, TypeError, AttributeError):
                            self._receive(json.loads(text))
                for child in children:
                    child.cancel()
        finally:
            self._socket, self._attempt = None, _Attempt()
            socket.close()
            self._end_requests(ToolError(_LOST))
            if self.listener is not None:
                self.listener.lose()

    async def _ask_for_state(self) -> None:
        """Ask the kernel for its info until a status arrives: the gateway may not be connected to the kernel's iopub
        channel yet, and then the status is lost."""
        wait_seconds = FIRST_STATUS_SECONDS
        while not self._status_received.is_set():
            self.kernel_info()
            with suppress(TimeoutError):
                async with asyncio.timeout(wait_seconds):
                    await self._status_received.wait()
            wait_seconds = min(wait_seconds * 2, MAX_STATUS_SECONDS)

    async def _close_if_unused(self, socket: WebSocketClientConnection) -> None:
        """Close the connection when nobody uses the kernel for a while."""
        while True:
            await asyncio.sleep(UNUSED_SECONDS)
            is_busy = self._id in self._kernels and self._kernels.get_kernel(self._id).execution_state == "busy"
            is_used = self._pages or self._requests or is_busy
            if not is_used and monotonic() - self._last_use >= UNUSED_SECONDS:
                if self.listener is not None:
                    self.listener.hang_up()
                socket.close()
                return

    def _end_requests(self, error: ToolError) -> None:
        """Let all requests that wait fail with an error."""
        for request in self._requests.values():
            if not request.reply.done():
                request.reply.set_exception(error)
            request.published.put_nowait(None)

    # -- messages

    def _receive(self, message: dict[str, Any]) -> None:
        """Receive one message of the kernel."""
        parent: str = message.get("parent_header", {}).get("msg_id", "")
        match message.get("channel"):
            case "iopub":
                self._receive_published(message, parent)
            case "shell":
                if (info := message["content"].get("language_info")) is not None:
                    self.language = str(info.get("name", "")).lower()
                if (request := self._requests.get(parent)) is not None and not request.reply.done():
                    request.reply.set_result(message)
            case _:
                pass

    def _receive_published(self, message: dict[str, Any], parent: str) -> None:
        """Receive a message of the iopub channel."""
        if message["header"]["msg_type"] == "status":
            state: str = message["content"]["execution_state"]
            self._set_state(state)
            if state in _ENDED:
                self.note_restart()
                self._is_dead = state == "dead"
            if parent in self._state_requests:
                self._status_received.set()
                self._statuses.put_nowait(message)
        if (request := self._requests.get(parent)) is not None:
            request.published.put_nowait(message)
        elif self.listener is not None:
            self.listener.receive(message)

    def send(self, kind: str, content: Mapping[str, Any]) -> str:
        """Send a message on the shell channel, and return its id. `kind` is its type, such as `execute_request`.
        Without a connection the message is dropped."""
        message: dict[str, Any] = self._session.msg(kind, dict(content))
        self._last_use = monotonic()
        if self._socket is not None:
            text = json.dumps({**message, "channel": "shell", "buffers": []}, default=json_default)
            with suppress(WebSocketClosedError):  # `_read_until_lost` ends in a moment
                self._socket.write_message(text).add_done_callback(_retrieve_error)
        return message["header"]["msg_id"]

    def _set_state(self, state: str) -> None:
        """Tell Jupyter the state of the kernel. Otherwise it learns the state only from the pages that ask for it."""
        if self._id in self._kernels:
            self._kernels.get_kernel(self._id).execution_state = state

    def note_restart(self) -> None:
        """Note that another process runs now. Callers that wait for the earlier process give up, because its number and
        its comms have ended."""
        self._is_dead = False
        self.provisioner.pid += 1
        if self.listener is not None:
            self.listener.close_all()

    # -- the interface of a manager

    async def is_alive(self) -> bool:
        """Return whether the kernel may run. The gateway is not asked: it reports the end of a kernel by itself."""
        return not self._is_dead and self._id in self._kernels

    async def interrupt_kernel(self) -> None:
        """Interrupt the kernel. Raises: ToolError."""
        with explain_errors():
            async with asyncio.timeout(INTERRUPT_SECONDS):
                await self._kernels.interrupt_kernel(self._id)

    async def restart(self) -> None:
        """Restart the kernel. Raises: ToolError."""
        with explain_errors():
            await self._kernels.restart_kernel(self._id)

    # -- the interface of a client

    def kernel_info(self) -> str:
        """Ask the kernel for its info, and return the id of the request."""
        id = self.send("kernel_info_request", {})
        self._state_requests.add(id)
        return id

    async def get_iopub_msg(self, *, timeout: float | None) -> dict[str, Any]:  # noqa: ARG002, ASYNC109  # jupyter_client's name
        """Return the next status that belongs to a request of `kernel_info`."""
        return await self._statuses.get()

    async def inspect(self, code: str, *, cursor_pos: int, detail_level: int, **_: Any) -> dict[str, Any]:
        """Ask the kernel about the name at the offset `cursor_pos` in `code`, and return its reply. `detail_level` is
        Jupyter's: with 1, the reply also has the source. Raises: ToolError."""
        await self.wait_until_connected()
        id, request = self._request(
            "inspect_request", {"code": code, "cursor_pos": cursor_pos, "detail_level": detail_level}
        )
        try:
            return await request.reply
        finally:
            self._requests.pop(id)

    async def execute_interactive(
        self,
        code: str,
        *,
        output_hook: Callable[[dict[str, Any]], None],
        user_expressions: dict[str, str] | None = None,
        timeout: float | None = None,  # noqa: ARG002, ASYNC109  # jupyter_client's name
        **options: Any,
    ) -> dict[str, Any]:
        """Run code, pass what it publishes to `output_hook`, and return its reply. `user_expressions` are expressions
        that the kernel evaluates afterwards, by names of the caller. Raises: ToolError."""
        await self.wait_until_connected()
        content = {"code": code, "user_expressions": user_expressions or {}, "store_history": True} | options
        id, request = self._request("execute_request", content)
        try:
            while (message := await request.published.get()) is not None:
                if message["header"]["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                    break
                output_hook(message)
            return await request.reply
        finally:
            self._requests.pop(id)
            request.reply.cancel()

    def _request(self, kind: str, content: dict[str, Any]) -> tuple[str, _Request]:
        """Send a request of the type `kind`, and return its id and the request."""
        request = _Request()
        id = self.send(kind, content)
        self._requests[id] = request
        return id, request

    def stop_channels(self) -> None:
        """Do nothing. The comms use the same WebSocket, and `kernels.py` closes it."""

    def close(self) -> None:
        """Close the WebSocket, because the kernel or the server ends."""
        self._pages.clear()
        self._is_dead = True
        self._end_attempt(ToolError(_GONE))
        if self._task is not None:
            self._task.cancel()


def _retrieve_error(written: asyncio.Future[None]) -> None:
    """Read the error of a write, so that asyncio does not log it. `_read_until_lost` notices that the connection has
    ended."""
    if not written.cancelled():
        written.exception()
