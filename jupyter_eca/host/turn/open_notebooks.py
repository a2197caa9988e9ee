"""Finds the notebooks and kernels that a chat can use, and the notebook in which the user asked.

It must not know the chats' turns: it asks the connected clients and the workspace. `host.turn.tool_context` passes the
results to tools and contexts.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.context import CursorContext, TextContext
from jupyter_eca.workspace.kernels.kernel_choice import CellKernels
from jupyter_eca.workspace.notebooks.notebook_router import NotebookRouter

if TYPE_CHECKING:
    from jupyter_eca.host.chat.live_chat import Prompt
    from jupyter_eca.host.services import Services
    from jupyter_eca.protocol.chat import AnswerLock
    from jupyter_eca.workspace.ports import Files, Kernel, Kernels, Notebooks

_SUFFIX: Final = ".ipynb"


def find_kernels(services: Services, kernel: Kernel | None) -> Kernels | None:
    """Return the kernels of notebooks, by path. `kernel` is that of the cell that asked, None if no cell did. The
    result is None if this process can reach no kernels."""
    return services.workspace.kernels if kernel is None else CellKernels(kernel, services.workspace.kernels)


def find_notebooks(services: Services, chat: str) -> Notebooks | None:
    """Return the notebooks that clients of the chat have open, and behind them those of the server. None if this
    process has no notebooks of a server."""
    client_notebooks, server_notebooks = services.subscribers.list_notebooks(chat), services.workspace.notebooks
    return None if server_notebooks is None else NotebookRouter(client_notebooks, server_notebooks)


async def find_asked_notebook(services: Services, prompt: Prompt, kernel: Kernel | None) -> str:
    """Return the path of the notebook that a prompt was asked in; "" for none.

    It is looked up once, before the turn begins, and counts for the whole turn: the user may look at another notebook
    while the model works. A cell asks in its own notebook. A panel sends the place of its user with the prompt. If a
    front sends no place, it is the notebook that is active now.
    """
    if kernel is not None:
        return await _find_notebook_of_cell(services, prompt, kernel)
    # A prompt with a text or a cursor from a notebook was asked in that notebook.
    sent = [context.path for context in prompt.contexts if isinstance(context, TextContext | CursorContext)]
    if (path := next((path for path in sent if path.endswith(_SUFFIX)), None)) is not None:
        return _as_contents_path(services.workspace.files, path)
    if prompt.notebook is not None:
        return prompt.notebook
    return await find_active_notebook(services, prompt.chat)


async def find_active_notebook(services: Services, chat: str) -> str:
    """Return the path of the notebook that is in front of the user, or of the only open one; "" for none."""
    notebooks = find_notebooks(services, chat)
    opened = await notebooks.list() if notebooks is not None else ()
    return opened[0].path if opened and (opened[0].active or len(opened) == 1) else ""


async def find_open_kernel(services: Services, chat: str, path: str) -> str:
    """Return the id of the kernel of an open notebook; "" for none, and also if other open notebooks share it."""
    notebooks = find_notebooks(services, chat) if path else None
    opened = await notebooks.list() if notebooks is not None else ()
    kernel = next((info.kernel_id or "" for info in opened if info.path == path), "")
    return kernel if sum(info.kernel_id == kernel for info in opened) == 1 else ""


async def find_renamed_notebook(services: Services, chat: str, path: str, kernel: str) -> str:
    """Return the path that an open notebook has now, since the user may rename it or save it under another name.

    `path` is its old path, and `kernel` the id of its kernel, by which it is recognized; "" if it has none. A notebook
    that was closed keeps its path.
    """
    notebooks = find_notebooks(services, chat) if kernel else None
    opened = await notebooks.list() if notebooks is not None else ()
    paths_of_kernel = [info.path for info in opened if info.kernel_id == kernel]
    is_renamed = len(paths_of_kernel) == 1 and all(info.path != path for info in opened)
    return paths_of_kernel[0] if is_renamed else path


async def find_notebook_of_kernel(services: Services, chat: str, kernel: str) -> str | None:
    """Return the path of the notebook that uses a kernel now, "" if no notebook does, None if that is not known. The
    server is asked first, and then the clients."""
    kernels, notebooks = services.workspace.kernels, find_notebooks(services, chat)
    running = await kernels.list() if kernels is not None else ()
    if (path := next((info.notebook for info in running if info.id == kernel), None)) is not None:
        return path if path.endswith(_SUFFIX) else ""
    opened = await notebooks.list() if notebooks is not None else ()
    return next((info.path for info in opened if info.kernel_id == kernel), None)


async def _find_notebook_of_cell(services: Services, prompt: Prompt, kernel: Kernel) -> str:
    """Return the path of the notebook of a cell. If nobody knows the notebook of the kernel, it is the one whose name
    the kernel was started with."""
    if kernel.id is not None:
        path = await find_notebook_of_kernel(services, prompt.chat, kernel.id)
        if path is not None:
            return path
    return _get_path_at_start(services.workspace.files, prompt.lock) if prompt.lock is not None else ""


def _as_contents_path(files: Files, path: str) -> str:
    """Return the path of Jupyter's contents for a path that a client sent: JupyterLab sends such a path already, and
    editors send an absolute one."""
    if not Path(path).is_absolute():
        return path
    try:
        return files.contents_path(files.resolve(path))
    except ToolError:
        return ""


def _get_path_at_start(files: Files, lock: AnswerLock) -> str:
    """Return the path of the notebook with whose name the kernel was started; "" if it is not in the workspace."""
    if not lock.notebook.endswith(_SUFFIX):
        return ""
    try:
        return files.contents_path(files.resolve(str(Path(lock.folder) / lock.notebook)))
    except ToolError:
        return ""
