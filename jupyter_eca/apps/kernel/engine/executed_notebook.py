"""Owns the notebooks as the tools of the model see them in an engine inside a kernel. It protects the notebook that a
program (nbclient, papermill or nbval) runs from its first cell to its last.

Such a program has the notebook in memory, where nobody else can change it, and writes it at the end. A change that the
assistant made in the file would be lost then, although it was reported as made. So this notebook is read from its file,
but never edited. Other notebooks are used as files (`workspace/notebooks/file.py`).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from jupyter_eca.apps.kernel.engine.run_errors import get_run_errors
from jupyter_eca.apps.kernel.front_end import FrontEndKind, find_front_end
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.notebooks.file import NotebookFiles
from jupyter_eca.workspace.notebooks.prompt_cells import PROMPT_MAGIC
from jupyter_eca.workspace.ports import RanInput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from jupyter_eca.protocol.notebook import CellChange, NotebookDocument
    from jupyter_eca.workspace.notebooks.cells import NbformatCell
    from jupyter_eca.workspace.ports import Files


class ExecutedNotebooks(NotebookFiles):
    """Notebooks as files, except that the notebook which a program runs cannot be edited."""

    def __init__(self, files: Files, shell: Any) -> None:
        """`shell` is IPython's object for the shell."""
        super().__init__(files)
        self._shell = shell

    async def edit(self, chat: str, path: str, changes: Sequence[CellChange]) -> NotebookDocument:
        """Change cells, unless a program runs the notebook. Raises: ToolError."""
        if self._is_executed(await self.read_cells(path)):
            raise ToolError(
                f"{path} is run from its first cell to its last by a program, which has it in memory and writes it at "
                "the end: a change of its file would be lost.",
                "Say in your answer what you would change.",
            )
        return await super().edit(chat, path, changes)

    def last_error(self) -> list[str] | None:
        """Return the traceback of the last error, which Python keeps for debuggers; None if there was no error. The
        error may be older than this extension in the kernel."""
        error: BaseException | None = getattr(sys, "last_value", None)
        if error is None:
            return None
        lines: list[str] = self._shell.InteractiveTB.structured_traceback(type(error), error, error.__traceback__)
        return lines

    def find_source(self, count: int) -> str:
        """Return the source of the cell with this execution count; empty if there is none."""
        sources: list[str] = self._shell.history_manager.input_hist_raw
        return sources[count].strip() if 0 < count < len(sources) else ""

    def list_inputs(self) -> tuple[RanInput, ...]:
        """Return the inputs that ran, in order. The last one of the history runs now."""
        sources: list[str] = self._shell.history_manager.input_hist_raw
        errors = get_run_errors(self._shell)
        return tuple(
            RanInput(count, source.strip(), errors.find(count)) for count, source in enumerate(sources[:-1]) if count
        )

    @property
    def is_unattended(self) -> bool:
        """Whether a program runs the cells."""
        return find_front_end(self._shell) is FrontEndKind.UNATTENDED

    def _is_executed(self, cells: Sequence[NbformatCell]) -> bool:
        """Return whether a program runs this notebook. A kernel does not know the name of its notebook, so this is the
        notebook that contains the running cell."""
        if not self.is_unattended:
            return False
        running_source: str = self._shell.history_manager.input_hist_raw[-1].removeprefix(PROMPT_MAGIC).strip()
        return any(cell.source.removeprefix(PROMPT_MAGIC).strip() == running_source for cell in cells)
