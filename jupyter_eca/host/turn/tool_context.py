"""What is around a chat: what its tools have, and what its contexts are taken from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from jupyter_eca.engine.model.task_plan import Plan
from jupyter_eca.host.checkpoints.checkpoints import Keeper
from jupyter_eca.host.subscribers import Asking
from jupyter_eca.host.tools.outputs import Kept
from jupyter_eca.host.turn.path_rules import Ruling
from jupyter_eca.instructions.rules import CATALOGUE
from jupyter_eca.instructions.skills import Shelf
from jupyter_eca.plugins.contexts.base import Surroundings
from jupyter_eca.plugins.tools.base import ToolContext
from jupyter_eca.workspace.kernels.nearest import Nearest
from jupyter_eca.workspace.notebooks.first_of import Foremost
from jupyter_eca.workspace.ports import Executed

if TYPE_CHECKING:
    from jupyter_eca.host.host import Host
    from jupyter_eca.workspace.ports import Kernel, Kernels, Notebooks


def tools(host: Host, chat: str, kernel: Kernel | None, call: str = "") -> ToolContext:
    """The kernel is that of the cell that asked, else the workspace's. What a subagent does, its parent's turn does:
    there it is kept to be taken back, and there its jobs and cells are looked at."""
    live = host.live(chat)
    nested = live is not None and bool(live.parent)
    turn = host.live(live.parent) if live and nested else live
    chat = turn.state.id if turn else chat
    return ToolContext(
        chat,
        host.workspace.files,
        call,
        kernel=kernel or host.workspace.kernel,
        kernels=kernels(host, kernel),
        notebooks=notebooks(host, chat),
        questions=Asking(host.audiences, chat) if host.audiences.answered(chat) and not nested else None,
        editor=host.audiences.editor(chat),
        jobs=host.jobs,
        keeper=Keeper(host.checkpoints, chat, turn.state.turn, turn.changing) if turn else None,
        plan=live.plan if live and not nested else None,
        rules=Ruling(host, chat) if live and live.pinned and live.pinned.has(CATALOGUE) else None,
        skills=Shelf(host.workspace.files, host.config, host.audiences.warn),
        spawner=host.subagents.spawner(chat) if live and not nested else None,
        nested=nested,
        outputs=Kept(host.outputs, chat, host.config.tool_call.output_truncation),
        remembered=live.state.remembered if live else frozenset(),
        announced=next((one.details for one in live.state.calls if one.id == call), None) if live else None,
        from_cell=kernel is not None,
        telling=host.config.notebook.variables,
    )


def promised(host: Host, chat: str = "", kernel: Kernel | None = None) -> ToolContext:
    """What the tools of a chat that is at rest, or not begun, will have: its plan, and others to spawn."""
    has = tools(host, chat, kernel)
    return replace(has, plan=has.plan or Plan(), spawner=has.spawner or host.subagents.spawner(chat))


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
        host.workspace.notebooks if isinstance(host.workspace.notebooks, Executed) else None,
    )


def kernels(host: Host, kernel: Kernel | None) -> Kernels | None:
    """Of a notebook, by its path; `kernel` is that of the cell that asked."""
    return host.workspace.kernels if kernel is None else Nearest(kernel, host.workspace.kernels)


def notebooks(host: Host, chat: str) -> Notebooks | None:
    """Of the chat's clients, and the server's own."""
    live, rest = host.audiences.notebooks(chat), host.workspace.notebooks
    return None if rest is None else Foremost(live, rest)
