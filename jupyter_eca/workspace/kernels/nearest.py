"""Which kernel a chat means when it names a notebook, or none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookInfo
    from jupyter_eca.workspace.ports import CellKernel, Kernel, Kernels


class Nearest:
    """`workspace.base.Kernels` of a chat that a cell asked in: its kernel is at hand, by the cell's own coroutine.
    Through its front door it would not answer before the cell has ended."""

    def __init__(self, asking: Kernel, others: Kernels | None) -> None:
        self._asking = asking
        self._others = others

    async def of(self, path: str | None) -> Kernel:
        if path is None or self._others is None:
            return self._asking
        found = await self._others.of(path)
        return self._asking if found.id == self._asking.id else found

    async def runner(self, chat: str, path: str) -> CellKernel:
        """Raises: ToolError."""
        if self._others is None:
            raise ToolError("The kernel is busy with the cell that asks.", "Use run_code.")
        return await self._others.runner(chat, path)


class NotebookList(Protocol):
    """As much of `workspace.base.Notebooks` as is asked here."""

    async def list(self) -> tuple[NotebookInfo, ...]: ...


async def worked_in(kernel: Kernel | None, kernels: Kernels | None, notebooks: NotebookList | None) -> Kernel | None:
    """Of a chat that no cell asked in: the kernel of the notebook that its user works in, else `kernel`.

    Raises: ToolError when that notebook has none: another one's would be a surprise.
    """
    if kernels is None or notebooks is None:
        return kernel
    active = next((one.path for one in await notebooks.list() if one.active), None)
    return kernel if active is None else await kernels.of(active)
