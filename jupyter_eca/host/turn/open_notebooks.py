"""Which notebooks and kernels a chat may reach: those of its clients first, then the server's own.

Knows the clients and the workspace, not the chats. `host.turn.tool_context` gives both to tools and contexts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.workspace.kernels.nearest import CellKernels
from jupyter_eca.workspace.notebooks.first_of import NotebookRouter

if TYPE_CHECKING:
    from jupyter_eca.host.services import Services
    from jupyter_eca.workspace.ports import Kernel, Kernels, Notebooks


def find_kernels(services: Services, kernel: Kernel | None) -> Kernels | None:
    """The kernels of notebooks, by path. `kernel` is that of the cell that asked."""
    return services.workspace.kernels if kernel is None else CellKernels(kernel, services.workspace.kernels)


def find_notebooks(services: Services, chat: str) -> Notebooks | None:
    """The notebooks that clients of the chat have open, and the server's own."""
    live, rest = services.audiences.notebooks(chat), services.workspace.notebooks
    return None if rest is None else NotebookRouter(live, rest)
