"""What is around a chat: what its tools have, and what its contexts are taken from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jupyter_eca.audience import Asking
from jupyter_eca.checkpoints import Keeper
from jupyter_eca.contexts.base import Surroundings
from jupyter_eca.tools.base import ToolContext
from jupyter_eca.workspace.kernels import Nearest
from jupyter_eca.workspace.notebooks import Foremost

if TYPE_CHECKING:
    from jupyter_eca.host import Host
    from jupyter_eca.workspace.base import Kernel, Kernels, Notebooks


def tools(host: Host, chat: str, kernel: Kernel | None, call: str = "") -> ToolContext:
    """The kernel is that of the cell that asked, else the workspace's."""
    live = host.live(chat)
    return ToolContext(
        chat,
        host.workspace.files,
        call,
        kernel=kernel or host.workspace.kernel,
        kernels=kernels(host, kernel),
        notebooks=notebooks(host, chat),
        questions=Asking(host.audiences, chat) if host.audiences.answered(chat) else None,
        editor=host.audiences.editor(chat),
        jobs=host.jobs,
        keeper=Keeper(host.checkpoints, chat, live.state.turn, live.changing) if live else None,
        plan=live.plan if live else None,
        remembered=live.state.remembered if live else frozenset(),
        announced=next((one.details for one in live.state.calls if one.id == call), None) if live else None,
        from_cell=kernel is not None,
        telling=host.config.notebook.variables,
    )


def contexts(host: Host, chat: str, kernel: Kernel | None) -> Surroundings:
    return Surroundings(
        chat,
        host.workspace.files,
        host.index,
        kernel or host.workspace.kernel,
        host.mcp,
        notebooks(host, chat),
        host.glances,
        host.config.notebook.variables,
        host.workspace.kernels if kernel is None else None,
    )


def kernels(host: Host, kernel: Kernel | None) -> Kernels | None:
    """Of a notebook, by its path; `kernel` is that of the cell that asked."""
    return host.workspace.kernels if kernel is None else Nearest(kernel, host.workspace.kernels)


def notebooks(host: Host, chat: str) -> Notebooks | None:
    """Of the chat's clients, and the server's own."""
    live, rest = host.audiences.notebooks(chat), host.workspace.notebooks
    return None if rest is None else Foremost(live, rest)
