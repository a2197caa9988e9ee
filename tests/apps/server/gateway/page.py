"""A page that shows a notebook whose kernel is behind a gateway: it reaches the kernel as JupyterLab does, over the
WebSocket of the Jupyter server."""

from __future__ import annotations

import asyncio
import json
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from jupyter_client.jsonutil import json_default
from jupyter_client.session import Session

from tests.apps.server.cells import PATIENCE, PageKernel
from tests.apps.server.gateway.gateways import EQUIPPED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable


class Channel:
    def __init__(self, page: WebSocketClient, name: str) -> None:
        self._page, self._name = page, name

    def send(self, message: dict[str, Any]) -> None:
        self._page.write(self._name, message)


class WebSocketClient:
    """What `PageKernel` uses of a client of jupyter_client, over one WebSocket."""

    def __init__(self, connect: Callable[[str], Awaitable[Any]]) -> None:
        """`connect` opens the WebSocket of the kernel, for a session with this id."""
        self.session: Any = Session()
        self.shell_channel, self.control_channel = Channel(self, "shell"), Channel(self, "control")
        self._connect = connect
        self._socket: Any = None
        self._reading: asyncio.Task[None] | None = None
        self._iopub: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._control: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._replies: dict[str, asyncio.Future[dict[str, Any]]] = {}

    def start_channels(self) -> None:
        pass

    async def wait_for_ready(self, timeout: float) -> None:  # noqa: ASYNC109
        async with asyncio.timeout(timeout):
            self._socket = await self._connect(self.session.session)
        self._reading = asyncio.ensure_future(self._read())
        await self.kernel_info(reply=True, timeout=timeout)

    async def _read(self) -> None:
        while (text := await self._socket.read_message()) is not None:
            if not isinstance(text, str):
                continue
            message = json.loads(text)
            match message["channel"]:
                case "iopub":
                    self._iopub.put_nowait(message)
                case "control":
                    self._control.put_nowait(message)
                case "shell" if message["parent_header"].get("msg_id") in self._replies:
                    self._replies.pop(message["parent_header"]["msg_id"]).set_result(message)
                case _:
                    pass

    def write(self, channel: str, message: dict[str, Any]) -> None:
        self._socket.write_message(json.dumps({**message, "channel": channel, "buffers": []}, default=json_default))

    def _request(self, kind: str, content: dict[str, Any]) -> tuple[str, asyncio.Future[dict[str, Any]]]:
        message = self.session.msg(kind, content)
        id = message["header"]["msg_id"]
        self._replies[id] = asyncio.get_running_loop().create_future()
        self.write("shell", message)
        return id, self._replies[id]

    async def kernel_info(self, *, reply: bool, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109, ARG002
        return await asyncio.wait_for(self._request("kernel_info_request", {})[1], timeout)

    def execute(self, code: str, **options: Any) -> str:
        content: dict[str, Any] = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
            "allow_stdin": False,
        }
        return self._request("execute_request", content | options)[0]

    async def execute_interactive(
        self,
        code: str,
        *,
        output_hook: Callable[[dict[str, Any]], None],
        timeout: float,  # noqa: ASYNC109
        **options: Any,
    ) -> dict[str, Any]:
        id = self.execute(code, **options)
        reply = self._replies[id]
        while True:
            message = await self.get_iopub_msg(timeout=timeout)
            is_mine = message["parent_header"].get("msg_id") == id
            if is_mine and message["content"].get("execution_state") == "idle":
                return await asyncio.wait_for(reply, timeout)
            if is_mine or message["msg_type"].startswith("comm_"):
                output_hook(message)

    async def get_iopub_msg(self, *, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109
        return await asyncio.wait_for(self._iopub.get(), timeout)

    async def get_control_msg(self, *, timeout: float) -> dict[str, Any]:  # noqa: ASYNC109
        return await asyncio.wait_for(self._control.get(), timeout)

    def stop_channels(self) -> None:
        if self._socket is not None:
            self._socket.close()
        if self._reading is not None:
            self._reading.cancel()


class RemotePage(PageKernel):
    def __init__(self, serverapp: Any, fetch: Callable[..., Awaitable[Any]], id: str) -> None:
        self._fetch = fetch
        super().__init__(serverapp, id)

    def _new_client(self) -> Any:
        path = ("api", "kernels", self.id, "channels")
        return WebSocketClient(lambda session: self._fetch(*path, params={"session_id": session}))

    async def open(self) -> None:
        await self.client.wait_for_ready(timeout=PATIENCE)


class Notebooks:
    """The notebooks of a server, as pages open them. `fetch` opens a WebSocket of the server."""

    def __init__(self, serverapp: Any, fetch: Callable[..., Awaitable[Any]]) -> None:
        self.serverapp, self._fetch = serverapp, fetch

    @asynccontextmanager
    async def show(self, path: str, kernel: str = EQUIPPED) -> AsyncGenerator[RemotePage]:
        """A page that shows the notebook, and its kernel, which ends with the page."""
        sessions, made = self.serverapp.session_manager, {"name": path, "type": "notebook", "kernel_name": kernel}
        session = await sessions.create_session(path=path, **made)
        found = RemotePage(self.serverapp, self._fetch, session["kernel"]["id"])
        await found.open()
        try:
            yield found
        finally:
            found.client.stop_channels()
            if found.id in self.serverapp.kernel_manager:
                await sessions.delete_session(session["id"])
