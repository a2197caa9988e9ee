"""A Python kernel for hosts without a Jupyter server. It starts when a tool needs it for the first time.

The protocol with the kernel is in `client.py`; kernels of a server are in `jupyter_server.py`.
"""

from __future__ import annotations

import asyncio
import os
import sys
import uuid
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import KernelState
from jupyter_eca.workspace.jobs.shell import SERVER_TOKENS
from jupyter_eca.workspace.kernels.client import ClientKernel

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.protocol.notebook import Inspection, KernelExecuteResult, KernelVariablesResult
    from jupyter_eca.workspace.ports import RunObserver

# Seconds that a new kernel has to answer. ipykernel takes one, on a loaded machine ten.
START_SECONDS = 60.0

_LANGUAGE = "python"


class LocalKernel:
    """One kernel for all chats of this process. It runs in the first folder."""

    description = (
        "A Python kernel of this workspace is at your side: `run_code` runs in it, `variables` looks at what it holds. "
        "It starts empty and lives as long as this session."
    )

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._starting = asyncio.Lock()
        self._kernel: ClientKernel | None = None
        self.id: str | None = None

    async def find(self, path: str | None) -> LocalKernel:  # noqa: ARG002  # one kernel for all notebooks
        return self

    async def find_idle(self, chat: str, path: str) -> ClientKernel:  # noqa: ARG002  # as above
        return await self._ensure_started()

    async def execute(
        self,
        chat: str,  # noqa: ARG002  # one kernel for all chats
        code: str,
        observer: RunObserver | None = None,
    ) -> KernelExecuteResult:
        return await (await self._ensure_started()).execute(code, observer)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return await (await self._ensure_started()).variables(names)

    async def inspect(self, name: str) -> Inspection:
        return await (await self._ensure_started()).inspect(name)

    async def state(self) -> KernelState:
        """Return the state; `starting` until a tool needs the kernel for the first time."""
        if self._kernel is None:
            return KernelState(status="starting", language=_LANGUAGE, python=sys.executable)
        if not await self._manager.is_alive():
            return KernelState(status="dead", language=_LANGUAGE)
        state = self._kernel.state("busy" if self._kernel.is_busy else "idle", _LANGUAGE)
        return state.model_copy(update={"python": sys.executable})

    async def interrupt(self) -> None:
        if self._kernel is not None:
            await self._manager.interrupt_kernel()

    async def restart(self) -> None:
        await self.close()
        await self._ensure_started()

    async def _ensure_started(self) -> ClientKernel:
        """Return the kernel, after starting it if it does not run.

        Raises: ToolError when it cannot be started.
        """
        from jupyter_client.manager import AsyncKernelManager

        async with self._starting:
            if self._kernel is None or not await self._manager.is_alive():
                await self.close()
                # jupyter_client is only partly typed
                self._manager: Any = AsyncKernelManager()
                try:
                    # A model runs code here, so it has no token of a server, as in a shell command.
                    variables = {name: value for name, value in os.environ.items() if name not in SERVER_TOKENS}
                    await self._manager.start_kernel(cwd=str(self._folder), env=variables)
                    client = self._manager.client()
                    client.start_channels()
                    await client.wait_for_ready(timeout=START_SECONDS)
                except (RuntimeError, OSError) as error:
                    raise ToolError(
                        f"No Python kernel could be started: {error}.", "Is ipykernel installed?"
                    ) from error
                self._kernel, self.id = ClientKernel(self._manager, client, _LANGUAGE), uuid.uuid4().hex
            return self._kernel

    async def close(self) -> None:
        """Shut the kernel down."""
        if self._kernel is not None:
            ended, self._kernel, self.id = self._kernel, None, None
            await ended.end()
            await self._manager.shutdown_kernel(now=True)
