"""The calls with which a model changes cells and runs them: `notebook_change` where a request offers it, else a tool
for each change and one that runs cells. The tasks need not know which.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.bench.context.played_model import call

if TYPE_CHECKING:
    from collections.abc import Sequence

    from jupyter_eca.plugins.providers.scripted import ReplyPart
    from tests.bench.context.request_view import RequestView

CHANGE = "notebook_change"


@dataclass(frozen=True, slots=True)
class Insert:
    """A new cell, at the end or behind a cell."""

    source: str
    after: str = ""
    cell_type: str = "code"

    def as_step(self) -> dict[str, Any]:
        return {
            "do": "insert",
            "source": self.source,
            **({"after": self.after} if self.after else {}),
            **({"cell_type": self.cell_type} if self.cell_type != "code" else {}),
        }


@dataclass(frozen=True, slots=True)
class Edit:
    """Another text in place of one that is in the cell once."""

    cell: str
    original: str
    new: str

    def as_step(self) -> dict[str, Any]:
        return {"do": "edit", "cell": self.cell, "original_content": self.original, "new_content": self.new}


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Another source."""

    cell: str
    source: str

    def as_step(self) -> dict[str, Any]:
        return {"do": "edit", "cell": self.cell, "source": self.source}


Change = Insert | Edit | Rewrite

_TOOLS = {"insert": "notebook_insert_cell", "edit": "notebook_edit_cell"}


def change_cells(
    view: RequestView, *changes: Change, run: Sequence[int | str] = (), run_too: Sequence[int | str] = ()
) -> tuple[ReplyPart, ...]:
    """Return the calls of one answer that make the changes, and then run cells.

    `run` are cells to run that are changed here, new ones by the numbers that they then have. `run_too` are others,
    which run after them.
    """
    steps = [change.as_step() for change in changes]
    if view.offers(CHANGE):
        calls = [call(CHANGE, changes=steps, **({"run": True} if run else {}))]
        return (*calls, *([call("notebook_run_cells", cells=list(run_too))] if run_too else []))
    calls = [call(_TOOLS[step.pop("do")], **step) for step in steps]
    cells = [*run, *run_too]
    return (*calls, *([call("notebook_run_cells", cells=cells)] if cells else []))


def look(view: RequestView, *cells: int | str) -> tuple[ReplyPart, ...]:
    """Return the calls that show the model the pictures of cells which just ran; none when it has seen them."""
    return () if view.pictures else tuple(call("notebook_read", cells=str(cell)) for cell in cells)
