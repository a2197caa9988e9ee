"""Finds and starts the kernels of a Jupyter server, through the server's own kernel manager. It is used for chats that
were not started from a notebook cell.

`client.py` has the protocol with one kernel. This is the only module of the workspace that uses objects of a Jupyter
server, and it must not import tornado. `remote.py` has the interface of a kernel behind a gateway.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.kernels.client import ClientKernel
from jupyter_eca.workspace.ports import RunningKernel

if TYPE_CHECKING:
    from collections.abc import Callable

    from jupyter_eca.protocol.notebook import Inspection, KernelExecuteResult, KernelState, KernelVariablesResult
    from jupyter_eca.workspace.kernels.remote import RemoteKernel, RemoteKernels
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.ports import RunObserver

_log = logging.getLogger(__name__)

# Commands in a kernel specification that jupyter_client replaces by the interpreter of the server.
_OWN_PYTHON = ("python", f"python{sys.version_info[0]}", f"python{sys.version_info[0]}.{sys.version_info[1]}")

# Seconds between two checks whether the user's own cell has ended.
IDLE_INTERVAL = 0.1

# The end of the path of a notebook.
_NOTEBOOK = ".ipynb"

# What the model can do when there is no kernel.
_OPEN_A_NOTEBOOK = "Ask the user to open a notebook, then try again."

# jupyter-collaboration puts this prefix before the paths of its sessions.
_COLLABORATION_DRIVE = "RTC:"


class ServerKernels:
    """Implements the interface `Kernels` of `workspace/ports.py` for a server.

    `kernels` is the kernel manager of the server, and `sessions` its session manager. `find_asking_kernel` returns the
    id of the kernel whose running cell waits for the answer of a chat; None when no cell does. `remote` finds the
    kernels behind a gateway.
    """

    def __init__(
        self,
        kernels: Any,
        sessions: Any,
        find_asking_kernel: Callable[[str], str | None],
        remote: RemoteKernels | None = None,
    ) -> None:
        self._kernels = kernels
        self._sessions = sessions
        self._find_asking_kernel = find_asking_kernel
        self._remote = remote
        # Our open clients by the id of their kernel, each with the manager of the kernel that it was made for.
        self._open: dict[str, tuple[Any, ClientKernel]] = {}
        # Held while a kernel is started, so that two calls do not start two kernels for one notebook.
        self._starting = asyncio.Lock()

    async def list(self) -> tuple[RunningKernel, ...]:
        """List the running kernels, each with the path of its notebook or console."""
        paths: dict[str, str] = {}
        for session in await self._sessions.list_sessions():
            path, id = session["path"].removeprefix(_COLLABORATION_DRIVE), session["kernel"]["id"]
            if not paths.get(id, "").endswith(_NOTEBOOK):  # a console may share the kernel of a notebook
                paths[id] = path
        return tuple(
            RunningKernel(id, paths.get(id, ""), self._kernels.get_kernel(id).execution_state)
            for id in self._kernels.list_kernel_ids()
        )

    async def find(self, path: str | None) -> ServerKernel:
        """Return the kernel of a notebook; for None, the only kernel that runs."""
        if path is None:
            only = await self.find_only()
            return ServerKernel(self, only.id, only.notebook)
        return ServerKernel(self, await self._get_notebook_kernel_id(path), path)

    async def wait_for_idle_kernel(self, chat: str, path: str) -> ClientKernel:
        """Wait until the kernel of a notebook is idle, and return it. If no kernel runs, it is started, as when the
        user opens the notebook."""
        try:
            id = await self._get_notebook_kernel_id(path)
        except ToolError:
            id = await self._start_notebook_kernel(path)
        if self._find_asking_kernel(chat) == id:
            raise ToolError(
                f"The cells of {path} cannot be run now: its kernel is busy with the cell that asks.",
                "Use run_code, or ask the user to run them after your answer.",
            )
        return await self.wait_until_idle(id)

    async def find_only(self) -> RunningKernel:
        """Return the only running kernel.

        Raises: ToolError when no kernel runs, or when several do. Which one is meant is not guessed.
        """
        match await self.list():
            case ():
                raise ToolError("No kernel is running.", _OPEN_A_NOTEBOOK)
            case (only,):
                return only
            case several:
                names = ", ".join(f"{kernel.notebook or kernel.id} ({kernel.status})" for kernel in several)
                raise ToolError(
                    f"{len(several)} kernels are running, and it is not said which one is meant: {names}.",
                    "Give the path of the notebook whose kernel is meant.",
                )

    async def _get_notebook_kernel_id(self, path: str) -> str:
        """Return the id of the kernel of a notebook.

        Raises: ToolError when the notebook has no running kernel.
        """
        for session in await self._sessions.list_sessions():
            if session["path"].removeprefix(_COLLABORATION_DRIVE) == path and session["kernel"]["id"] in self._kernels:
                return session["kernel"]["id"]
        raise ToolError(
            f"{path} has no running kernel.",
            "Start it by running a cell with notebook_run_cells, or ask the user to open the notebook.",
        )

    async def _start_notebook_kernel(self, path: str) -> str:
        """Start the kernel that the metadata of a notebook names, and return its id.

        Raises: ToolError when it cannot be started.
        """
        from jupyter_core.utils import ensure_async

        async with self._starting:
            with suppress(ToolError):
                return await self._get_notebook_kernel_id(path)
            contents = self._sessions.contents_manager
            try:
                notebook = await ensure_async(contents.get(path, content=True, type="notebook"))
                name = notebook["content"].get("metadata", {}).get("kernelspec", {}).get("name")
                session = await self._sessions.create_session(
                    path=path, name=path.rpartition("/")[2], type="notebook", kernel_name=name
                )
            except Exception as error:  # a contents manager, a provisioner or a gateway may raise any error
                raise ToolError(f"No kernel could be started for {path}: {error}.", _OPEN_A_NOTEBOOK) from error
            return session["kernel"]["id"]

    async def wait_until_idle(self, id: str) -> ClientKernel:
        """Wait until a kernel is idle, and return it. Nothing is sent to a busy kernel: the request would wait inside
        of the kernel, and would run even after its turn was stopped."""
        kernel, manager = self._open_client(self.check_id(id))
        remote = self._find_remote(id)
        if remote is not None:
            await remote.wait_until_connected()
        while manager.execution_state == "busy":
            await asyncio.sleep(IDLE_INTERVAL)  # the manager has no event for it
            if remote is not None:
                self.check_id(id)  # a gateway ends kernels, too
                await remote.wait_until_connected()
        return kernel

    def _find_remote(self, id: str) -> RemoteKernel | None:
        """Return the kernel with this id if it is behind a gateway; otherwise None."""
        return self._remote.find(id) if self._remote is not None else None

    def check_id(self, id: str) -> str:
        """Return the id if the kernel exists.

        Raises: ToolError when the kernel is gone.
        """
        if id not in self._kernels:
            raise ToolError("The kernel of this notebook is gone.", _OPEN_A_NOTEBOOK)
        return id

    def find_language(self, id: str) -> str:
        """Return the language of a kernel in small letters. It is empty for a kernel behind a gateway that was not used
        yet.

        Raises: ToolError when there is no such kernel.
        """
        if (remote := self._find_remote(self.check_id(id))) is not None:
            return remote.language
        return self._kernels.get_kernel(self.check_id(id)).kernel_spec.language.lower()

    def state(self, id: str) -> KernelState:
        """Return the state of a kernel, with the path of its Python if the kernel runs on this machine."""
        kernel, manager = self._open_client(id)
        state = kernel.state(manager.execution_state, self.find_language(id))
        if self._find_remote(id) is not None:
            return state
        python = get_python(manager.kernel_spec.argv) if state.language == "python" else ""
        return state.model_copy(update={"python": python})

    async def history(self, id: str) -> KernelHistory | KernelCount | None:
        """Return what ran in a kernel since its process started; None when it is unknown now."""
        kernel, manager = self._open_client(id)
        if (remote := self._find_remote(id)) is not None:
            await remote.wait_until_connected()  # then its language is known, and whether it is busy
        # Jupyter may have missed the first status of a kernel, which then counts as starting until it runs something.
        return await kernel.history(self.find_language(id), busy=manager.execution_state == "busy")

    async def interrupt(self, id: str) -> None:
        """Interrupt what runs in a kernel. Raises: ToolError when its gateway cannot be used."""
        if (remote := self._find_remote(id)) is not None:
            await remote.interrupt_kernel()
        else:
            await self._kernels.interrupt_kernel(id)

    async def restart(self, id: str) -> None:
        """Restart a kernel.

        Raises: ToolError when it does not start again.
        """
        # If code runs now, nothing reports its end, and the first status of the new process may be missed. Without this
        # line, the kernel would then count as busy for ever.
        self._kernels.get_kernel(id).execution_state = "starting"
        if (remote := self._find_remote(id)) is not None:
            await remote.restart()
            return
        try:
            # The server's own manager returns when the process has started, and returns a future of its first answer.
            if (answer := await self._kernels.restart_kernel(id)) is not None:
                await answer
        except (RuntimeError, TimeoutError, OSError) as error:
            raise ToolError(f"The kernel did not start again: {error}.") from error

    def _open_client(self, id: str) -> tuple[ClientKernel, Any]:
        """Return our client of a kernel, and the manager of the kernel. The clients of kernels that are gone or were
        replaced are closed first."""
        from jupyter_client.session import Session

        kernels = {kernel_id: self._kernels.get_kernel(kernel_id) for kernel_id in self._kernels.list_kernel_ids()}
        for closed_id in [
            kernel_id for kernel_id, (manager, _) in self._open.items() if kernels.get(kernel_id) is not manager
        ]:
            _close(self._open.pop(closed_id)[1])
        manager = kernels[id]
        if id not in self._open and (remote := self._find_remote(id)) is not None:
            self._open[id] = (manager, ClientKernel(remote, remote))
        if id not in self._open:
            # Our client has its own session. Clients that share a session also share its address, and so receive each
            # other's replies.
            client = manager.client(session=Session(config=manager.session.config, key=manager.session.key))
            client.start_channels()
            self._open[id] = (manager, ClientKernel(manager, client))
        return self._open[id][1], manager

    def close(self) -> None:
        """Close all clients. The kernels continue to run."""
        for _, kernel in self._open.values():
            _close(kernel)
        self._open.clear()


def _close(kernel: ClientKernel) -> None:
    """Close a client, whatever it raises. Otherwise Jupyter could not end the server."""
    try:
        kernel.close()
    except Exception:  # noqa: BLE001  # clients of other kinds of kernels may raise any error
        _log.exception("a client of a kernel could not be closed")


def get_python(command: list[str]) -> str | None:
    """Return the interpreter that a kernel's command starts; None for an empty command."""
    first = command[0] if command else None
    return sys.executable if first in _OWN_PYTHON else first


class ServerKernel:
    """Implements the interface `Kernel` of `workspace/ports.py` for one kernel of a server. Without an id, it is the
    only kernel that runs at the moment of a call."""

    description = (
        "`run_code` and `variables` work in the kernel of the notebook that you were asked in, where the user's "
        "variables are. Their results name that notebook."
    )

    def __init__(self, kernels: ServerKernels, id: str | None = None, notebook: str = "") -> None:
        self.id = id
        self.notebook = notebook
        self._kernels = kernels

    async def execute(
        self,
        chat: str,  # noqa: ARG002  # chats have no kernels of their own
        code: str,
        observer: RunObserver | None = None,
    ) -> KernelExecuteResult:
        """Wait until the kernel is idle, run code, and return its outputs as text."""
        return await (await self._kernels.wait_until_idle(await self._get_id())).execute(code, observer)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        """Wait until the kernel is idle, and describe the variables with these names; without names, all of the
        user."""
        id = await self._get_id()
        kernel = await self._kernels.wait_until_idle(id)
        return await kernel.variables(names, self._kernels.find_language(id))

    async def inspect(self, name: str) -> Inspection:
        """Wait until the kernel is idle, and return what it knows about a name."""
        id = await self._get_id()
        kernel = await self._kernels.wait_until_idle(id)
        return await kernel.inspect(name, self._kernels.find_language(id))

    async def state(self) -> KernelState:
        """Return what the kernel is doing. It does not wait."""
        return self._kernels.state(await self._get_id())

    async def history(self) -> KernelHistory | KernelCount | None:
        """Return what ran since the process of the kernel started; None when it is unknown now."""
        return await self._kernels.history(await self._get_id())

    async def interrupt(self) -> None:
        """Interrupt what runs in the kernel. Raises: ToolError when the kernel is gone."""
        await self._kernels.interrupt(await self._get_id())

    async def restart(self) -> None:
        """Restart the kernel, and wait until it answers. Raises: ToolError when it does not start again."""
        await self._kernels.restart(await self._get_id())

    async def _get_id(self) -> str:
        """Return the id of the kernel.

        Raises: ToolError when the kernel is gone; without an id, when no kernel runs, or several.
        """
        return self._kernels.check_id(self.id) if self.id is not None else (await self._kernels.find_only()).id
