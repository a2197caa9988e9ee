"""Finds the engine: that of the Jupyter server, over a comm which the server opens to this kernel, or else an
embedded one. It knows no cell; `cell_session` owns it, `embedded_host` is the engine in the kernel.

The server is told of this kernel by one iopub message with a topic of its own, which it alone subscribes to. It
answers by opening a comm: it sends no address and no token to the kernel.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.answer.clicks import reach_awaiting
from jupyter_eca.apps.kernel.surroundings import kernel_of
from jupyter_eca.errors import RemoteError
from jupyter_eca.transport.comm import HELLO, TARGET, TOPIC, CommLink

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.engine.embedded_host import EmbeddedDoor
    from jupyter_eca.apps.kernel.engine.shell_kernel import ShellKernel
    from jupyter_eca.transport.eca_client import EcaClient, QuestionHandler, ServerSetup
    from jupyter_eca.transport.link import Link

_log = logging.getLogger(__name__)

# Seconds to wait for the server's comm before an engine is started in the kernel.
PATIENCE = 0.3

# Seconds for an engine's first answer: a server imports for a few, on a busy machine.
ANSWER_PATIENCE = 30.0


class Engine:
    """The connection of one shell. It is made for the first question, and made again after the server has gone."""

    def __init__(self, shell: Any, answer_questions: QuestionHandler) -> None:
        self._shell = shell
        self._answer_questions = answer_questions
        self._connecting = asyncio.Lock()
        # Every hello contains it: a server that has already opened a comm to this engine opens no second one.
        self._name = uuid.uuid4().hex
        self._server: CommLink | None = None
        self._opened: asyncio.Event | None = None
        self._client: EcaClient | None = None
        self._roots: list[asyncio.Task[Any]] = []
        self._door: EmbeddedDoor | None = None
        # Requested comms in addition to the comm of the cells, by the names under which they were requested.
        self._asked: dict[str, asyncio.Future[CommLink]] = {}
        self.embedded = False
        self.folder = ""
        """The engine's folder, at which relative names in a message begin. Empty before the engine is found."""
        self.chat = ""

    # -- the server's comm

    def announce(self) -> None:
        kernel = kernel_of(self._shell)
        # In these kernels, cells hear nothing from the server while they wait for an answer of their own.
        if kernel is not None and reach_awaiting():
            kernel.comm_manager.register_target(TARGET, self._take_comm)
            self._say_hello(self._name)

    def _say_hello(self, name: str, **flags: bool) -> None:
        kernel = kernel_of(self._shell)
        kernel.session.send(kernel.iopub_socket, HELLO, {"target": TARGET, "from": name, **flags}, ident=TOPIC)

    def _take_comm(self, comm: Any, message: Any) -> None:
        link = CommLink(comm.send, comm.close)
        loop = asyncio.get_running_loop()

        # ipykernel hands the answers to what was sent on behalf of a subshell to that subshell's thread.
        def receive(message: Any) -> None:
            loop.call_soon_threadsafe(link.receive, message["content"]["data"])

        def end(_message: Any) -> None:
            loop.call_soon_threadsafe(link.end)

        comm.on_msg(receive)
        comm.on_close(end)
        if (waiting := self._asked.pop(message["content"]["data"].get("for", ""), None)) is not None:
            waiting.get_loop().call_soon_threadsafe(waiting.set_result, link)
            return
        self._server = link
        self.folder = message["content"]["data"].get("folder", "")
        if self._opened is not None:
            self._opened.set()

    async def _find_server(self) -> CommLink | None:
        if self._server is None or self._server.closed:
            self._opened = asyncio.Event()
            self.announce()
            if kernel_of(self._shell) is not None and reach_awaiting():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._opened.wait(), PATIENCE)
        return None if self._server is None or self._server.closed else self._server

    # -- the client

    async def client(self, kernel: ShellKernel, *, unattended: bool) -> EcaClient:
        """Return the client, and connect first if needed. Raises: ConfigError, RemoteError."""
        async with self._connecting:
            if self._client is None or self._client.server_left.is_set():
                self._client = await self._connect(kernel, unattended=unattended)
                self.new_chat()
            return self._client

    async def _connect(self, kernel: ShellKernel, *, unattended: bool) -> EcaClient:
        from jupyter_eca.apps.python_tools import LENT
        from jupyter_eca.transport.eca_client import EcaClient

        link: Link | None = await self._find_server()
        self.embedded = link is None
        if link is None:
            link = await self._embed()
        client = EcaClient(link, "jupyter_eca kernel", kernel, self._answer_questions, LENT)
        self._root(client.run())
        try:
            await asyncio.wait_for(client.initialize(unattended=unattended), ANSWER_PATIENCE)
        except (RemoteError, TimeoutError) as error:
            # The next question connects again: by then the reason may be gone.
            await client.close()
            if isinstance(error, RemoteError):
                raise
            raise RemoteError("The assistant's engine does not answer. Restart the Jupyter server.") from None
        return client

    async def _embed(self) -> Link:
        """Start a host in this process, with the rights of this kernel, and return a memory link to it."""
        from jupyter_eca.apps.kernel.engine.embedded_host import EmbeddedDoor
        from jupyter_eca.fronts.eca.session import EcaSession
        from jupyter_eca.transport.memory import make_link_pair

        folder = Path.cwd()
        self.folder = str(folder)
        door = EmbeddedDoor(folder, self._shell)
        running = self._root(door.run())
        ready = asyncio.ensure_future(door.ready())
        await asyncio.wait((running, ready), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            ready.cancel()
            running.result()
        self._door = door
        ours, server_link = make_link_pair()
        self._root(EcaSession(server_link, door, door.own).run())
        return ours

    async def join(self) -> Link:
        """Return another link to the engine that `client` found. Close it when it is no longer needed.

        Raises: RemoteError.
        """
        if self.embedded and self._door is not None:
            from jupyter_eca.fronts.eca.session import EcaSession
            from jupyter_eca.transport.memory import make_link_pair

            ours, server_link = make_link_pair()
            self._root(EcaSession(server_link, self._door.beside(), self._door.own).run())
            return ours
        name = uuid.uuid4().hex
        answer = self._asked[name] = asyncio.get_running_loop().create_future()
        self._say_hello(name, beside=True)
        try:
            return await asyncio.wait_for(answer, ANSWER_PATIENCE)
        except TimeoutError:
            raise RemoteError("The assistant's engine does not answer. Restart the Jupyter server.") from None
        finally:
            self._asked.pop(name, None)

    def _root(self, work: Any) -> asyncio.Task[Any]:
        """Start a task. The kernel's loop is not ours: it is the parent of these few tasks, and they end with the
        kernel."""
        task = asyncio.get_running_loop().create_task(work)
        self._roots.append(task)
        return task

    def new_chat(self) -> None:
        """Let the next question start a chat; the old chat is kept."""
        self.chat = uuid.uuid4().hex

    @property
    def setup(self) -> ServerSetup | None:
        """What the engine said about itself; None before the first question."""
        return self._client.setup if self._client else None

    def close(self) -> None:
        for task in self._roots:
            task.get_loop().call_soon_threadsafe(task.cancel)
        self._roots.clear()
