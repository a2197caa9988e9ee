"""Cells as they were before a turn changed them, and how they are put back: in the notebook itself, where somebody may
have it open. Nobody's later work is lost for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from jupyter_eca.engine.changes.revert import Decided, RevertPlanner, Touch, find_standing
from jupyter_eca.engine.changes.review import CHANGED
from jupyter_eca.errors import ToolError
from jupyter_eca.host.store import CellCheckpoint
from jupyter_eca.protocol.notebook import CellChange, EditCell, PutCell
from jupyter_eca.workspace.notebooks.cell_changes import find_number, get_cell_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.ports import Notebooks

    # From a notebook as it is: what to take back in it, and the cells that are left, with the reason.
    Choose = Callable[[NotebookDocument], tuple["Touches", dict[str, str]]]

_CHANGES: Final[TypeAdapter[tuple[CellChange, ...]]] = TypeAdapter(tuple[CellChange, ...])
_SOURCES: Final[TypeAdapter[dict[str, str | None]]] = TypeAdapter(dict[str, str | None])
_ORDER: Final[TypeAdapter[tuple[str, ...]]] = TypeAdapter(tuple[str, ...])
_DECIDED: Final[TypeAdapter[dict[str, Decided]]] = TypeAdapter(dict[str, Decided])

# Outputs that are larger are data; a copy of each change would fill the disk. Sources are kept whatever their size.
MAX_BYTES: Final = 10_000_000

NOBODY: Final = "Nobody is there who has it open."

Touches = dict[str, tuple[Touch, ...]]
"""By cells, in the order in which they were made."""


@dataclass(frozen=True, slots=True)
class Back:
    """What came of one cell: it is as it was before, or was left alone, and why. One that is gone has no number; of a
    whole notebook that cannot be had there is no cell."""

    path: str
    cell: str
    number: int
    why: str = ""
    touches: tuple[Touch, ...] = ()

    @property
    def shown(self) -> str:
        return f"{self.path} cell {self.number or f'[{self.cell}]'}" if self.cell else self.path


def checkpoint(
    turn: str, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None], order: Sequence[str]
) -> CellCheckpoint:
    text = _CHANGES.dump_json(tuple(undo), by_alias=True)
    if len(text) > MAX_BYTES:
        text = _CHANGES.dump_json(tuple(map(_without_outputs, undo)), by_alias=True)
    return CellCheckpoint(turn, path, text.decode(), sources(left), _ORDER.dump_json(tuple(order)).decode())


def touches(kept: Iterable[CellCheckpoint]) -> dict[str, tuple[Touch, ...]]:
    """By notebooks, in the order in which they were made."""
    found: dict[str, list[Touch]] = {}
    for one in kept:
        left, order = _SOURCES.validate_json(one.left), _ORDER.validate_json(one.order)
        decided = _DECIDED.validate_json(one.decided)
        for undo in _CHANGES.validate_json(one.undo):
            id = get_cell_id(undo)
            touch = Touch(one.id, one.turn, id, undo, left.get(id), order, decided.get(id))
            found.setdefault(one.path, []).append(touch)
    return {path: tuple(of_notebook) for path, of_notebook in found.items()}


def by_cell(of_notebook: Iterable[Touch]) -> Touches:
    found: dict[str, list[Touch]] = {}
    for touch in of_notebook:
        found.setdefault(touch.cell, []).append(touch)
    return {cell: tuple(of_cell) for cell, of_cell in found.items()}


def sources(left: Mapping[str, str | None]) -> str:
    return _SOURCES.dump_json(dict(left)).decode()


def own(left: Iterable[str]) -> dict[str, str | None]:
    """Of what changes left, one after the other, what is to be there in the end."""
    found: dict[str, str | None] = {}
    for one in left:
        found |= _SOURCES.validate_json(one)
    return found


def _without_outputs(change: CellChange) -> CellChange:
    match change:
        case PutCell(cell=cell, was=str(was)):  # those that are there stay
            return EditCell(cell_id=cell.id, was=was, source=cell.source)
        case PutCell(cell=cell):
            return change.model_copy(update={"cell": cell.model_copy(update={"outputs": ()})})
        case _:
            return change


def of_turns(every: Sequence[Touch], turns: Iterable[str]) -> Choose:
    """What stands of the last turns of a chat."""
    wanted = set(turns)

    def choose(document: NotebookDocument) -> tuple[Touches, dict[str, str]]:
        chosen: Touches = {}
        left: dict[str, str] = {}
        for cell, of_cell in by_cell(touch for touch in every if touch.turn in wanted).items():
            there = document.cell(cell)
            found = find_standing(of_cell, there.source if there else None)
            if found.broken:
                left[cell] = CHANGED
            elif found.touches:
                chosen[cell] = found.touches
        return chosen, left

    return choose


async def put_back(
    chat: str, path: str, every: Sequence[Touch], choose: Choose, notebooks: Notebooks | None
) -> list[Back]:
    """In one step, so that whoever has the notebook open can undo that too; where that is refused, cell by cell."""
    try:
        if notebooks is None:
            raise ToolError(NOBODY)
        document = await notebooks.read(path)
        chosen, left = choose(document)
        try:
            document = await _edit(chat, document, every, chosen, notebooks)
        except ToolError:
            for cell in tuple(chosen):
                try:
                    document = await notebooks.read(path)
                    again, refused = choose(document)
                    left |= {cell: why for cell, why in refused.items() if cell in chosen}
                    one = {cell: again[cell]} if cell in again else {}
                    document = await _edit(chat, document, every, one, notebooks)
                except ToolError as error:
                    left[cell] = str(error)
    except ToolError as error:
        return [Back(path, "", 0, str(error))]
    chosen = {cell: touches for cell, touches in chosen.items() if cell not in left}
    found = [Back(path, cell, find_number(document, cell), "", touches) for cell, touches in chosen.items()]
    refused = [Back(path, cell, find_number(document, cell), why) for cell, why in left.items()]
    # Those that are gone at last.
    by_number = sorted(found + refused, key=lambda one: one.number or len(document.cells) + 1)
    return sorted(by_number, key=lambda one: bool(one.why))


async def _edit(
    chat: str, document: NotebookDocument, every: Sequence[Touch], chosen: Touches, notebooks: Notebooks
) -> NotebookDocument:
    steps = RevertPlanner(document, every).plan(chosen)
    return await notebooks.edit(chat, document.path, steps) if steps else document
