"""Finds the facts about a locked question that only the kernel knows: the notebook, the cell, and which cells ask the
same question. A locked question is answered from a lock file beside the notebook, if the file has a recorded answer.
Otherwise the model is asked, and its answer is recorded.

It must not read a lock file: the host does that (`host/turn/locked_answers.py`).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jupyter_eca.apps.kernel.front_end import get_kernel

if TYPE_CHECKING:
    from jupyter_eca.apps.kernel.answer.turn import CellTurn
    from jupyter_eca.apps.kernel.options import CellQuestion
    from jupyter_eca.protocol.chat import AnswerLock


class AnswerLocking:
    """The state of locking in one shell: whether answers are recorded and replayed. `%eca lock` changes it."""

    def __init__(self, shell: Any) -> None:
        """`shell` is IPython's object for the shell."""
        self._shell = shell
        self._folder = str(Path.cwd())  # taken now, because a cell may change the current folder later
        self._execution = ""
        """The id of the execute request of the current cell."""
        self._earlier_asks = 0
        """How many questions the current cell has asked before this one."""
        self._cells_by_message: dict[str, list[str]] = {}
        """The ids of the cells that asked each message, in their order."""
        self.on: bool | None = None
        """What the user set with `%eca lock`; None if the configuration decides."""
        self.replayed = 0
        """How many answers came from a lock file."""
        self.recorded = 0
        """How many answers were recorded."""
        self.notes: list[str] = []
        """Why the model was asked although a question was locked, in words, for each such question."""

    @property
    def notebook(self) -> str:
        """The path of the notebook. It is empty if the path is not known: nbclient, nbval and papermill do not tell the
        kernel."""
        # VS Code puts the path into the namespace, and Jupyter puts it into the environment.
        return str(self._shell.user_ns.get("__vsc_ipynb_file__") or os.environ.get("JPY_SESSION_NAME", ""))

    def create_lock(self, question: CellQuestion) -> AnswerLock:
        """Return the lock of a question, which is sent with it. Call this once for each question, in the cell that
        asks."""
        from jupyter_eca.protocol.chat import AnswerLock

        cell = self._number_question()
        return AnswerLock(
            on=True if question.lock else self.on,  # None leaves the decision to the configuration
            file=question.lock_file,
            notebook=self.notebook,
            folder=self._folder,
            cell=cell,
            occurrence=self._count_occurrence(question.message, cell),
            renew=question.renew,
        )

    def count_answer(self, turn: CellTurn, question: CellQuestion) -> None:
        """Count whether the answer was replayed or recorded, for `%eca lock`."""
        if turn.usage is not None and turn.usage.replayed:
            self.replayed += 1
        elif question.lock or self.on:
            self.recorded += 1
        if turn.why_not_replayed:
            self.notes.append(turn.why_not_replayed)

    def _number_question(self) -> str:
        """Count a question of the running cell, and return the id of the cell; empty if the page does not send it. From
        the second question of a cell on, the number of the question is added, because a cell may ask several questions,
        for example in a loop."""
        kernel = get_kernel(self._shell)
        request: dict[str, Any] = (kernel.get_parent() if kernel is not None else None) or {}
        execution = str(request.get("header", {}).get("msg_id", ""))
        self._earlier_asks = self._earlier_asks + 1 if execution and execution == self._execution else 0
        self._execution = execution
        cell = str(request.get("metadata", {}).get("cellId", ""))
        return f"{cell}.{self._earlier_asks}" if cell and self._earlier_asks else cell

    def _count_occurrence(self, message: str, cell: str) -> int:
        """Return how many other cells have asked the same message before this one. `cell` is the id of this cell, or
        "". A cell that runs again is not another cell. If cells have no ids, each run counts as another cell."""
        cells = self._cells_by_message.setdefault(message, [])
        if not cell or cell not in cells:
            cells.append(cell)
            return len(cells) - 1
        return cells.index(cell)
