"""Chooses the kernel of a chat: that of the cell that asks, that of a notebook which the model names, or that of the
notebook in which the user asked.

It must not talk to kernels: the parts that do are handed in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookInfo
    from jupyter_eca.workspace.ports import CellKernel, Kernel, Kernels, RunningKernel


class CellKernels:
    """Implements the port `Kernels` for a chat that a notebook cell asked in.

    The kernel of that cell is reached through the running cell itself. A normal request would be answered only after
    the cell has ended.
    """

    def __init__(self, asking: Kernel, others: Kernels | None) -> None:
        self._asking = asking
        self._others = others

    async def list(self) -> tuple[RunningKernel, ...]:
        return () if self._others is None else await self._others.list()

    async def find(self, path: str | None) -> Kernel:
        """Return the kernel of the cell that asks, or that of another notebook."""
        if path is None:
            return self._asking
        if self._others is None:
            raise ToolError(
                f"The kernel of {path} cannot be reached from here, only that of the cell that asks.",
                "Leave path empty.",
            )
        kernel = await self._others.find(path)
        return self._asking if kernel.id == self._asking.id else kernel

    async def find_idle(self, chat: str, path: str) -> CellKernel:
        """Raises: ToolError."""
        if self._others is None:
            raise ToolError("The kernel is busy with the cell that asks.", "Use run_code.")
        return await self._others.find_idle(chat, path)


class NotebookList(Protocol):
    """The part of the port `Notebooks` that is used here."""

    async def list(self) -> tuple[NotebookInfo, ...]: ...


async def find_prompt_kernel(kernel: Kernel | None, kernels: Kernels | None, notebook: str) -> Kernel | None:
    """Return the kernel for a prompt that no cell asked: that of the notebook it was asked in; for a prompt without a
    notebook, the only kernel there is.

    Raises: ToolError when that notebook has no kernel, or several kernels could be meant. None is used by chance.
    """
    return kernel if kernels is None else await kernels.find(notebook or None)


async def find_active_kernel(
    kernel: Kernel | None, kernels: Kernels | None, notebooks: NotebookList | None
) -> Kernel | None:
    """Return the kernel for what the user types now: that of the notebook in which they work; else `kernel`. Once the
    prompt is sent, `find_prompt_kernel` counts.

    Raises: ToolError when that notebook has no kernel. Using another one would surprise the user.
    """
    if kernels is None or notebooks is None:
        return kernel
    active = next((info.path for info in await notebooks.list() if info.active), None)
    return kernel if active is None else await kernels.find(active)
