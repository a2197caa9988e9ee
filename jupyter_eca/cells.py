"""Cells as they were before a turn changed them, and how they are put back: in the notebook itself, where somebody may
have it open. Nobody's later work is lost for it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pydantic import TypeAdapter

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import CellChange, DeleteCell, EditCell, PutCell
from jupyter_eca.store import CellCheckpoint
from jupyter_eca.tools.cells import id_of, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from jupyter_eca.protocol.notebook import NotebookDocument
    from jupyter_eca.workspace.base import Notebooks

_CHANGES: Final[TypeAdapter[tuple[CellChange, ...]]] = TypeAdapter(tuple[CellChange, ...])
_SOURCES: Final[TypeAdapter[dict[str, str | None]]] = TypeAdapter(dict[str, str | None])

# Outputs that are larger are data; a copy of each change would fill the disk. Sources are kept whatever their size.
MAX_BYTES: Final = 10_000_000

_CHANGED: Final = "it was changed since"


@dataclass(frozen=True, slots=True)
class Back:
    """What is as it was before, and what was left alone, with the reason."""

    done: tuple[str, ...]
    left: tuple[tuple[str, str], ...]


def checkpoint(turn: str, path: str, undo: Sequence[CellChange], left: Mapping[str, str | None]) -> CellCheckpoint:
    text = _CHANGES.dump_json(tuple(undo), by_alias=True)
    if len(text) > MAX_BYTES:
        text = _CHANGES.dump_json(tuple(map(_without_outputs, undo)), by_alias=True)
    return CellCheckpoint(turn, path, text.decode(), sources(left))


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


async def put_back(chat: str, kept: Iterable[CellCheckpoint], notebooks: Notebooks | None) -> Back:
    """Each notebook in one step, so that whoever has it open can undo that too."""
    of_path: dict[str, list[CellCheckpoint]] = {}
    for one in kept:
        of_path.setdefault(one.path, []).append(one)
    done: list[str] = []
    left: list[tuple[str, str]] = []
    for path, of_notebook in of_path.items():
        try:
            if notebooks is None:
                raise ToolError("Nobody is there who has it open.")
            before = await notebooks.read(path)
            steps, changed = _steps(before, of_notebook)
            after = await notebooks.edit(chat, path, steps) if steps else before
        except ToolError as error:
            left.append((path, str(error)))
        else:
            done += [_shown(after, id) for id in _in_order(after, map(id_of, steps))]
            left += [(_shown(after, id), _CHANGED) for id in _in_order(after, changed)]
    return Back(tuple(done), tuple(left))


def _steps(document: NotebookDocument, kept: Sequence[CellCheckpoint]) -> tuple[list[CellChange], tuple[str, ...]]:
    """What is to be done, the newest change first, and the cells that are left alone: from one change to the next, and
    now, each must be what the last one left. One that is as it was before a change needs nothing for that: it was
    never made, or was undone by hand."""
    now: dict[str, str | None] = {cell.id: cell.source for cell in document.cells}
    steps: list[CellChange] = []
    changed: dict[str, None] = {}
    for one in reversed(kept):
        left = _SOURCES.validate_json(one.left)
        for change in _CHANGES.validate_json(one.undo):
            id = id_of(change)
            before = _before(change, left.get(id))
            if now.get(id) == left.get(id):
                steps.append(_from(change, now.get(id)))
                now[id] = before
            elif now.get(id) != before:
                changed[id] = None
    return [step for step in steps if id_of(step) not in changed], tuple(changed)


def _before(undo: CellChange, left: str | None) -> str | None:
    """The source that a change makes when it is taken back."""
    match undo:
        case PutCell(cell=cell):
            return cell.source
        case EditCell(source=source):
            return source
        case DeleteCell():
            return None
        case _:
            return left


def _from(undo: CellChange, now: str | None) -> CellChange:
    return undo.model_copy(update={"was": now}) if isinstance(undo, PutCell | EditCell | DeleteCell) else undo


def _in_order(document: NotebookDocument, ids: Iterable[str]) -> list[str]:
    """Each once, those that are gone at last."""
    return sorted(dict.fromkeys(ids), key=lambda id: number(document, id) or len(document.cells) + 1)


def _shown(document: NotebookDocument, id: str) -> str:
    """One that is gone has no number."""
    return f"{document.path} cell {number(document, id) or f'[{id}]'}"
