"""Kernels of a Jupyter server, for chats that no notebook cell asked in. Spoken to by the server's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.kernel import ClientKernel

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import KernelExecuteResult, KernelVariablesResult


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
        return await self._last_used().execute(code)

    async def variables(self, chat: str, names: tuple[str, ...]) -> KernelVariablesResult:  # noqa: ARG002
        return await self._last_used().variables(names)

    def _last_used(self) -> ClientKernel:
        """Raises: ToolError when no kernel runs."""
        from jupyter_client.session import Session

        running = [self._kernels.get_kernel(id) for id in self._kernels.list_kernel_ids()]
        if not running:
            raise ToolError("No kernel is running.", "Ask the user to open a notebook, then try again.")
        manager = max(running, key=lambda kernel: kernel.last_activity)
        key: str = manager.kernel_id
        known = self._open.get(key)
        if known is None or known[0] is not manager:
            # A session of our own: clients that share one share its address too, and get each other's replies.
            client = manager.client(session=Session(config=manager.session.config, key=manager.session.key))
            client.start_channels()
            known = self._open[key] = (manager, ClientKernel(manager, client))
        return known[1]
