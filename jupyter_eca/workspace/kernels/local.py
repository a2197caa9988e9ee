"""Owns the Python kernel of a host without a Jupyter server. The kernel is started when code is first run in it.

`client.py` has the protocol with the kernel, and `jupyter_server.py` has the kernels of a server.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import KernelState, KernelVariablesResult
from jupyter_eca.workspace.environment import inherit_environment
from jupyter_eca.workspace.jobs.process_records import MARK, ProcessRecord, import_psutil
from jupyter_eca.workspace.kernels.client import ClientKernel
from jupyter_eca.workspace.shielded import run_to_end

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from jupyter_eca.protocol.notebook import Inspection, KernelExecuteResult
    from jupyter_eca.workspace.kernels.run_history import KernelCount, KernelHistory
    from jupyter_eca.workspace.ports import RunningKernel, RunObserver

# Seconds after which a new kernel must have answered. ipykernel needs one second, and ten on a busy machine.
START_SECONDS = 60.0

# The language of the kernel.
_LANGUAGE = "python"


class LocalKernel:
    """Implements the interfaces `Kernel` and `Kernels` of `workspace/ports.py` with one kernel for each working
    directory. The chats of this process that have the same directory share its kernel.

    One such object runs in the first folder of the workspace, and holds the objects for other folders.
    """

    description = (
        "A Python kernel of this workspace is at your side: `run_code` runs in it, `variables` looks at what it holds. "
        "It starts empty and lives as long as this session."
    )

    notebook = ""

    def __init__(self, folder: Path, get_environment: Callable[[], Mapping[str, str]] = inherit_environment) -> None:
        """`get_environment` returns the variables of the kernel, when it is started."""
        self._folder = folder
        self._get_environment = get_environment
        # Held while it is decided whether the kernel must be started.
        self._starting = asyncio.Lock()
        # The newest start of the kernel; None before the first one.
        self._start: asyncio.Task[ClientKernel] | None = None
        self._manager: Any = None
        # The file by which the next start of our program finds the kernel and ends it, if this program was killed.
        self._record: ProcessRecord | None = None
        self._kernel: ClientKernel | None = None
        # The kernels in other folders.
        self._others: dict[Path, LocalKernel] = {}
        self.id: str | None = None

    async def list(self) -> tuple[RunningKernel, ...]:
        """Return no kernels: the kernel belongs to no notebook, and so cannot be found by a path."""
        return ()

    def get_for_folder(self, folder: Path) -> LocalKernel:
        """Return the kernel of a working directory. Its process starts with its first use, and ends together with that
        of this kernel."""
        if folder == self._folder:
            return self
        return self._others.setdefault(folder, LocalKernel(folder, self._get_environment))

    async def find(self, path: str | None) -> LocalKernel:  # noqa: ARG002  # one kernel for all notebooks
        """Return this kernel, whatever the notebook is."""
        return self

    async def wait_for_idle_kernel(self, chat: str, path: str) -> ClientKernel:  # noqa: ARG002  # as above
        """Return the client of this kernel, and start the kernel first if needed. There is no need to wait until it is
        idle, because the client runs its requests one after the other."""
        return await self._ensure_started()

    async def execute(
        self,
        chat: str,  # noqa: ARG002  # one kernel for all chats
        code: str,
        observer: RunObserver | None = None,
    ) -> KernelExecuteResult:
        """Run code, and return its outputs as text. The kernel is started if needed."""
        return await (await self._ensure_started()).execute(code, observer)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        """Describe variables. If the kernel was not started yet, nothing has run, so there are none."""
        if self._kernel is None:
            return KernelVariablesResult(variables=(), missing=names)
        return await self._kernel.variables(names)

    async def inspect(self, name: str) -> Inspection:
        """Return what the kernel knows about a name. The kernel is started if needed."""
        return await (await self._ensure_started()).inspect(name)

    async def state(self) -> KernelState:
        """Return the state. It is `starting` until a tool first needs the kernel."""
        if self._kernel is None:
            return KernelState(status="starting", language=_LANGUAGE, python=sys.executable)
        if not await self._manager.is_alive():
            return KernelState(status="dead", language=_LANGUAGE)
        state = self._kernel.state("busy" if self._kernel.is_busy else "idle", _LANGUAGE)
        return state.model_copy(update={"python": sys.executable})

    async def history(self) -> KernelHistory | KernelCount | None:
        """Return what ran since the process of the kernel started; None when it was not started."""
        return None if self._kernel is None else await self._kernel.history(_LANGUAGE, busy=False)

    async def interrupt(self) -> None:
        """Interrupt what runs in the kernel. It does nothing if the kernel was not started."""
        if self._kernel is not None:
            await self._manager.interrupt_kernel()

    async def restart(self) -> None:
        """End the kernel, and start a new one."""
        await self._end()
        await self._ensure_started()

    async def _ensure_started(self) -> ClientKernel:
        """Return the kernel, and start it first if it does not run. When the caller is cancelled, the start continues,
        so that the next caller gets this kernel and not a second one.

        Raises: ToolError when it cannot be started.
        """
        async with self._starting:
            if self._start is None or not await self._is_starting_or_running(self._start):
                await self._end()
                self._start = asyncio.get_running_loop().create_task(self._start_kernel(), name="start of a kernel")
            start = self._start
        try:
            return await asyncio.shield(start)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if start.cancelled() and not (task and task.cancelling()):
                raise ToolError("The kernel was shut down while it started.", "Try it again.") from None
            raise

    async def _is_starting_or_running(self, start: asyncio.Task[ClientKernel]) -> bool:
        """Return whether the kernel is starting or running. `start` is its newest start."""
        return not start.done() or (self._kernel is not None and await self._manager.is_alive())

    async def _start_kernel(self) -> ClientKernel:
        """Start the kernel, and return it when it answers.

        Raises: ToolError when it cannot be started.
        """
        from jupyter_client.manager import AsyncKernelManager

        # jupyter_client has only a part of its types.
        manager: Any = AsyncKernelManager()
        client: Any = None
        await import_psutil()
        record = ProcessRecord.open("the Python kernel of the assistant")
        try:
            # The connection file contains a key of the kernel, so it must be deleted together with the record.
            manager.connection_file = str(record.attachment)
            # A model runs code in this kernel. So it has the environment of a shell command.
            await manager.start_kernel(cwd=str(self._folder), env={**self._get_environment(), MARK: record.mark})
            record.note_process(manager.provisioner.pid)
            client = manager.client()
            client.start_channels()
            await client.wait_for_ready(timeout=START_SECONDS)
        except BaseException as error:
            await run_to_end(_discard(manager, client))
            record.close()
            if isinstance(error, RuntimeError | OSError):
                raise ToolError(f"No Python kernel could be started: {error}.", "Is ipykernel installed?") from error
            raise
        self._manager, self._record = manager, record
        self._kernel, self.id = ClientKernel(manager, client, _LANGUAGE), uuid.uuid4().hex
        return self._kernel

    async def close(self) -> None:
        """Shut the kernel down, even if it is still starting, and also the kernels in other folders."""
        for kernel in self._others.values():
            await kernel.close()
        await self._end()

    async def _end(self) -> None:
        """Shut this kernel down, even if it is still starting. It does nothing when no kernel was started."""
        start, self._start = self._start, None
        if start is not None and not start.done():
            start.cancel()
            await asyncio.wait((start,))
        if start is not None and not start.cancelled():
            start.exception()  # marks an error as seen: nobody may be left who waits for the kernel
        if self._kernel is not None:
            ended, self._kernel, self.id = self._kernel, None, None
            await ended.end()
            await self._manager.shutdown_kernel(now=True)
            if self._record is not None:
                self._record.close()


async def _discard(manager: Any, client: Any) -> None:
    """End the process of a kernel that could not be started completely."""
    if client is not None:
        client.stop_channels()
    if manager.has_kernel:
        await manager.shutdown_kernel(now=True)
