"""Chooses the kernel for a chat. This is the kernel of the cell that asked the assistant, of a notebook that the model
names, or of the notebook that the user works in.

It must not talk to kernels. Its arguments do: they implement the interfaces `Kernel` and `Kernels` of
`workspace/ports.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from jupyter_eca.errors import ToolError

if TYPE_CHECKING:
    from jupyter_eca.protocol.notebook import NotebookInfo
    from jupyter_eca.workspace.ports import CellKernel, Kernel, Kernels, RunningKernel


class CellKernels:
    """Implements the interface `Kernels` for a chat that was started from a notebook cell.

    `asking` is the kernel of that cell. It is reached through the running cell itself, because it would answer a normal
    request only after the cell has ended. `others` finds the kernels of other notebooks; None where there are none.
    """

    def __init__(self, asking: Kernel, others: Kernels | None) -> None:
        self._asking = asking
        self._others = others

    async def list(self) -> tuple[RunningKernel, ...]:
        """List the running kernels that can be found by a path."""
        return () if self._others is None else await self._others.list()

    async def find(self, path: str | None) -> Kernel:
        """Return the kernel of a notebook; for None, the kernel of the cell that asked the assistant.

        Raises: ToolError when the kernel cannot be reached.
        """
        if path is None:
            return self._asking
        if self._others is None:
            raise ToolError(
                f"The kernel of {path} cannot be reached from here, only that of the cell that asks.",
                "Leave path empty.",
            )
        kernel = await self._others.find(path)
        return self._asking if kernel.id == self._asking.id else kernel

    async def wait_for_idle_kernel(self, chat: str, path: str) -> CellKernel:
        """Return the kernel of a notebook when it is idle.

        Raises: ToolError when there are no other kernels, or the kernel cannot become idle.
        """
        if self._others is None:
            raise ToolError("The kernel is busy with the cell that asks.", "Use run_code.")
        return await self._others.wait_for_idle_kernel(chat, path)


class NotebookList(Protocol):
    """The part of the interface `Notebooks` of `workspace/ports.py` that finds the active notebook."""

    async def list(self) -> tuple[NotebookInfo, ...]:
        """List the notebooks that clients have open."""
        ...


async def find_prompt_kernel(kernel: Kernel | None, kernels: Kernels | None, notebook: str) -> Kernel | None:
    """Return the kernel for a prompt that was not sent from a cell. It is the kernel of `notebook`, in which the prompt
    was sent. If that is empty, it is the only running kernel. `kernel` is returned where `kernels` is None, because no
    other kernel can be found there.

    Raises: ToolError when the notebook has no kernel, or when several kernels could be meant. No kernel is guessed.
    """
    return kernel if kernels is None else await kernels.find(notebook or None)


async def find_active_kernel(
    kernel: Kernel | None, kernels: Kernels | None, notebooks: NotebookList | None
) -> Kernel | None:
    """Return the kernel for a prompt that the user is still typing. It is the kernel of the active notebook, or
    `kernel`, which may be None, if no notebook is active. After the prompt was sent, `find_prompt_kernel` chooses.

    Raises: ToolError when the active notebook has no kernel. Another kernel would surprise the user.
    """
    if kernels is None or notebooks is None:
        return kernel
    active = next((info.path for info in await notebooks.list() if info.active), None)
    return kernel if active is None else await kernels.find(active)
