"""What a kernel knows of a locked question: the notebook's name, the cell, and which cells ask the same. It reads no
lock file: the host does (`host/turn/locked_answers.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.surroundings import kernel_of

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.turn import CellTurn
    from jupyter_eca.apps.kernel.options import Ask
    from jupyter_eca.protocol.chat import ChatLock


class CellLocking:
    """The locking of one shell. `on` is what `%eca lock` set; None leaves it to the configuration."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell
        self._folder = str(Path.cwd())
        self._execution = ""
        self._before = 0
        self._asked: dict[str, list[str]] = {}
        self.on: bool | None = None
        self.replayed = 0
        self.recorded = 0
        self.notes: list[str] = []

    @property
    def notebook(self) -> str:
        """The path of the notebook; "" where it is unknown: under nbclient, nbval and papermill."""
        return str(self._shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", ""))

    def of(self, ask: Ask) -> ChatLock:
        """Return the lock of a question. Call it once for each question, in the cell that asks."""
        from jupyter_eca.protocol.chat import ChatLock

        cell = self._cell()
        return ChatLock(
            on=True if ask.lock else self.on,
            file=ask.lock_file,
            notebook=self.notebook,
            folder=self._folder,
            cell=cell,
            occurrence=self._occurrence(ask.message, cell),
            renew=ask.renew,
        )

    def learn(self, turn: CellTurn, ask: Ask) -> None:
        """Count the result of a question, for `%eca lock`."""
        if turn.usage is not None and turn.usage.replayed:
            self.replayed += 1
        elif ask.lock or self.on:
            self.recorded += 1
        if turn.note:
            self.notes.append(turn.note)

    def _cell(self) -> str:
        """Return the id of the cell, if the page sends it. A cell may ask more than once, in a loop too."""
        kernel = kernel_of(self._shell)
        request: dict[str, Any] = (kernel.get_parent() if kernel is not None else None) or {}
        execution = str(request.get("header", {}).get("msg_id", ""))
        self._before = self._before + 1 if execution and execution == self._execution else 0
        self._execution = execution
        cell = str(request.get("metadata", {}).get("cellId", ""))
        return f"{cell}.{self._before}" if cell and self._before else cell

    def _occurrence(self, message: str, cell: str) -> int:
        """Return how many earlier cells asked the same. A cell that runs again is the same one; where cells have no
        ids, each run counts."""
        cells = self._asked.setdefault(message, [])
        if not cell or cell not in cells:
            cells.append(cell)
            return len(cells) - 1
        return cells.index(cell)
