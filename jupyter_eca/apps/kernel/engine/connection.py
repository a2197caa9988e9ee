"""Owns the kernel's connection to an engine. It uses the engine of the Jupyter server if there is one, and otherwise
starts an engine in this process (`embedded_host`).

The engine is the program that calls the model and runs tools. A comm is Jupyter's channel for messages between a kernel
and others. How the server is found: this kernel sends a hello message on its iopub channel, under a topic that only our
server extension subscribes to. The server answers by opening a comm to the kernel. No address and no token is sent to
the kernel. The server's side is `apps/server/kernel_comms.py`.

This module must not know cells: `cell_session` owns the connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.answer.clicks import always_receives_clicks
from jupyter_eca.apps.kernel.front_end import get_kernel
from jupyter_eca.errors import RemoteError
from jupyter_eca.transport.comm import HELLO, HELLO_TOPIC, TARGET, CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.engine.embedded_host import EmbeddedDoor
    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.transport.eca_client import EcaClient, QuestionHandler, ServerSetup
    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)

# The seconds to wait for the server's comm. After that, an engine is started in the kernel.
COMM_SECONDS = 0.3

# The same where a Jupyter server has started this kernel. A server may be busy, or far away behind a gateway. An engine
# in the kernel has other keys and settings, so it must not answer just because the server is slow.
SERVER_COMM_SECONDS = 5.0

# The seconds after which the hello message is sent again. The connection of a server to a gateway may be open only now.
HELLO_SECONDS = 0.5

# Environment variables of kernels that a Jupyter server has started, here or through a gateway.
_SERVER_VARIABLES = ("JPY_SESSION_NAME", "KERNEL_GATEWAY", "KERNEL_ID")

# The seconds to wait for the first answer of an engine. On a busy machine, a server needs a few seconds for its
# imports.
ANSWER_SECONDS = 30.0


class EngineConnection:
    """The connection of one shell to its engine. It is opened for the first question, and opened again if the engine
    has ended since."""

    def __init__(self, shell: Any, answer_questions: QuestionHandler) -> None:
        """`shell` is IPython's object for the shell. `answer_questions` asks the user what the assistant wants to
        know."""
        self._shell = shell
        self._answer_questions = answer_questions
        self._connecting = asyncio.Lock()  # so that two cells do not connect at the same time
        self._id = uuid.uuid4().hex
        """Identifies the cells of this kernel in hello messages, so that the server opens only one comm for them."""
        self._server_link: CommLink | None = None
        """The comm for the cells, which the server has opened."""
        self._comm_opened: asyncio.Event | None = None  # set when the server has opened a comm; None before a hello
        self._client: EcaClient | None = None  # the client of the engine; None before the first question
        self._tasks: list[asyncio.Task[Any]] = []  # what runs until `close`
        self._door: EmbeddedDoor | None = None
        """Gives the links of this process access to the engine in it; None if the engine runs in the server."""
        self._requested_comms: dict[str, asyncio.Future[CommLink]] = {}
        """The comms that were requested for panels, by the ids in their hello messages."""
        self.is_embedded = False
        """Whether the engine runs in this process."""
        self.notice = ""
        """Says that an engine in this process answers, where the engine of a server was expected; otherwise empty."""
        self.folder = ""
        """The engine's folder, to which paths in a message are relative. It is empty until the engine is found."""
        self.chat = ""
        """The id of the chat in which the cells ask."""

    # -- the server's comm

    def announce_kernel(self) -> None:
        """Send a hello message, so that the server opens a comm."""
        kernel = get_kernel(self._shell)
        # In other kernels, a cell that waits for its answer would not receive the server's messages.
        if kernel is not None and always_receives_clicks():
            kernel.comm_manager.register_target(TARGET, self._accept_comm)
            self._send_hello(self._id)

    def _send_hello(self, caller: str, **flags: bool) -> None:
        """Send a hello message. `caller` identifies who asks for a comm: the server repeats it when it opens the comm.
        The flag `beside` asks for one more comm, for a panel."""
        kernel = get_kernel(self._shell)
        kernel.session.send(kernel.iopub_socket, HELLO, {"target": TARGET, "from": caller, **flags}, ident=HELLO_TOPIC)

    def _accept_comm(self, comm: Any, message: Any) -> None:
        """Use a comm that the server has opened: for a panel that requested it, or for the cells. `message` is the
        `comm_open` of the server."""
        link = CommLink(comm.send, comm.close)
        loop = asyncio.get_running_loop()

        # ipykernel may call these functions in the thread of a subshell: it passes an answer to the subshell for which
        # the request was sent.
        def receive(message: Any) -> None:
            """Pass a message of the server to the link."""
            loop.call_soon_threadsafe(link.receive, message["content"]["data"])

        def end(_message: Any) -> None:
            """End the link, because the server has closed the comm."""
            loop.call_soon_threadsafe(link.end)

        comm.on_msg(receive)
        comm.on_close(end)
        if (waiting := self._requested_comms.pop(message["content"]["data"].get("for", ""), None)) is not None:
            waiting.get_loop().call_soon_threadsafe(waiting.set_result, link)
            return
        self._server_link = link
        self.folder = message["content"]["data"].get("folder", "")
        if self._comm_opened is not None:
            self._comm_opened.set()

    async def _find_server(self) -> CommLink | None:
        """Return the comm of the server; None if no server answers in time."""
        if self._server_link is None or self._server_link.closed:
            self._comm_opened = asyncio.Event()
            if get_kernel(self._shell) is not None and always_receives_clicks():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(SERVER_COMM_SECONDS if _has_server() else COMM_SECONDS):
                        await self._repeat_hello(self._comm_opened)
        return None if self._server_link is None or self._server_link.closed else self._server_link

    async def _repeat_hello(self, opened: asyncio.Event) -> None:
        """Send hello messages until the server has opened a comm."""
        while not opened.is_set():
            self.announce_kernel()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(HELLO_SECONDS):
                    await opened.wait()

    # -- the client

    async def get_client(self, kernel: ShellKernel, *, unattended: bool) -> EcaClient:
        """Return the client, and connect first if needed. `unattended`: nobody approves tool calls. Raises:
        ConfigError, RemoteError."""
        async with self._connecting:
            if self._client is None or self._client.server_left.is_set():
                self._client = await self._connect(kernel, unattended=unattended)
                self.new_chat()
            return self._client

    async def _connect(self, kernel: ShellKernel, *, unattended: bool) -> EcaClient:
        """Find or start an engine, and connect a client to it. `unattended`: nobody approves tool calls. Raises:
        ConfigError, RemoteError."""
        from jupyter_eca.apps.python_tools import LENT_TOOLS
        from jupyter_eca.transport.eca_client import EcaClient

        link: Link | None = await self._find_server()
        self.is_embedded = link is None
        self.notice = ""
        if link is None:
            link = await self._start_embedded_engine()
            if _has_server():
                self.notice = _describe_embedded(self.folder)
        client = EcaClient(link, "jupyter_eca kernel", kernel, self._answer_questions, LENT_TOOLS)
        self._start_task(client.run())
        try:
            await asyncio.wait_for(client.initialize(unattended=unattended), ANSWER_SECONDS)
        except (RemoteError, TimeoutError) as error:
            # The client is closed, so that the next question connects again. The reason may be gone by then.
            await client.close()
            if isinstance(error, RemoteError):
                raise
            raise RemoteError("The assistant's engine does not answer. Restart the Jupyter server.") from None
        return client

    async def _start_embedded_engine(self) -> Link:
        """Start an engine in this process, which has the rights of this kernel, and return a link in memory to it."""
        from jupyter_eca.apps.kernel.engine.embedded_host import EmbeddedDoor
        from jupyter_eca.fronts.eca.session import EcaSession
        from jupyter_eca.transport.memory import make_link_pair

        folder = Path.cwd()
        self.folder = str(folder)
        door = EmbeddedDoor(folder, self._shell)
        running = self._start_task(door.run())
        ready = asyncio.ensure_future(door.wait_until_ready())
        await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            ready.cancel()
            running.result()  # raises the error with which the engine could not start
        self._door = door
        client_link, server_link = make_link_pair()
        self._start_task(EcaSession(server_link, door, door.wire_ids).run())
        return client_link

    async def open_link(self) -> Link:
        """Open another link to the engine that `get_client` has found, for a panel. The caller closes it.

        Raises: RemoteError.
        """
        if self.is_embedded and self._door is not None:
            from jupyter_eca.fronts.eca.session import EcaSession
            from jupyter_eca.transport.memory import make_link_pair

            client_link, server_link = make_link_pair()
            self._start_task(EcaSession(server_link, self._door.copy_for_panel(), self._door.wire_ids).run())
            return client_link
        caller = uuid.uuid4().hex
        answer = self._requested_comms[caller] = asyncio.get_running_loop().create_future()
        self._send_hello(caller, beside=True)
        try:
            return await asyncio.wait_for(answer, ANSWER_SECONDS)
        except TimeoutError:
            raise RemoteError("The assistant's engine does not answer. Restart the Jupyter server.") from None
        finally:
            self._requested_comms.pop(caller, None)

    def _start_task(self, work: Any) -> asyncio.Task[Any]:
        """Start a task, which runs the coroutine `work` until `close`. It has no parent task, because the loop belongs
        to the kernel."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.append(task)
        return task

    def new_chat(self) -> None:
        """Let the next question start a new chat. The old chat is kept."""
        self.chat = uuid.uuid4().hex

    @property
    def setup(self) -> ServerSetup | None:
        """The models, agents and other settings that the engine has reported; None before the first question."""
        return self._client.setup if self._client else None

    def close(self) -> None:
        """End the connection, and the engine if it runs in this process."""
        for task in self._tasks:
            task.get_loop().call_soon_threadsafe(task.cancel)
        self._tasks.clear()


def _has_server() -> bool:
    """Return whether a Jupyter server has started this kernel, here or through a gateway."""
    return any(name in os.environ for name in _SERVER_VARIABLES)


def _describe_embedded(folder: str) -> str:
    """Return the sentences that say which engine answers, and why it is not that of the server."""
    reason = (
        "The Jupyter server of this kernel does not have the assistant, or did not answer in time"
        if always_receives_clicks()
        else "The version of ipykernel in this kernel is too old for the assistant of the Jupyter server"
    )
    return (
        f"{reason}. So the assistant runs in this kernel, with the keys and settings of its machine"
        f" (`{platform.node()}`, folder `{folder}`)."
    )
