"""Kernels of a Jupyter server, for chats that no notebook cell asked in. Spoken to by the server's own client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.kernel import ClientKernel

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult


# Seconds between two looks at whether the user's own cell has ended.
IDLE_EVERY = 0.1


class ServerKernel:
    """The kernel that was used last."""

    description = (
        "`run_code` and `variables` work on the notebook kernel of this Jupyter server that was used last, where the "
        "user's variables are."
    )

    def __init__(self, kernels: Any) -> None:
        self._kernels = kernels
        self._open: dict[str, tuple[Any, ClientKernel]] = {}

    async def execute(self, chat: str, code: str) -> KernelExecuteResult:  # noqa: ARG002  # a chat is not bound to one yet
        return await (await self._idle()).execute(code)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return await (await self._idle()).variables(names)

    async def _idle(self) -> ClientKernel:
        """Once it runs nothing. A request that was sent to a busy kernel waits in there, and would be carried out even
        after its turn was stopped."""
        kernel, manager = self._last_used()
        while manager.execution_state == "busy":  # noqa: ASYNC110  # the manager has no event for it
            await asyncio.sleep(IDLE_EVERY)
        return kernel

    def _last_used(self) -> tuple[ClientKernel, Any]:
        """Raises: ToolError when no kernel runs."""
        from jupyter_client.session import Session

        kernels = {id: self._kernels.get_kernel(id) for id in self._kernels.list_kernel_ids()}
        for id in [id for id, (manager, _) in self._open.items() if kernels.get(id) is not manager]:
            self._open.pop(id)[1].close()
        if not kernels:
            raise ToolError("No kernel is running.", "Ask the user to open a notebook, then try again.")
        id, manager = max(kernels.items(), key=lambda item: item[1].last_activity)
        if id not in self._open:
            # A session of our own: clients that share one share its address too, and get each other's replies.
            client = manager.client(session=Session(config=manager.session.config, key=manager.session.key))
            client.start_channels()
            self._open[id] = (manager, ClientKernel(manager, client))
        return self._open[id][1], manager

    def close(self) -> None:
        for _, kernel in self._open.values():
            kernel.close()
        self._open.clear()
