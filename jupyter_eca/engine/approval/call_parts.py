"""Owns `CallPart`: one of the things that a call does, if its tool does several. Pure.

`notebook_change` inserts, edits, deletes, moves and runs cells in one call. Each of these is a part, and stands for a
call of the tool that does only this (`notebook_edit_cell`). So a rule or an approval for that tool also holds for the
part. `policy` decides about each part, and the strictest decision counts.

It must not decide: `policy` does. The changes are found in the arguments as the model wrote them. If the arguments do
not say them, for example because a call has only the id of a preview, they are found in the details, which are what the
user sees of the call. The run is different: if there are details, they say exactly which cells run, and the argument
`run` is not read. If neither says what the call does, or if a change has an unknown name, the call counts as one that
has all parts of its tool.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, cast

from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.protocol.notebook import DeleteCell, EditCell, InsertCell, MoveCell

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.engine.model.request import ToolSpec
    from jupyter_eca.protocol.content import ToolCallDetails
    from jupyter_eca.protocol.notebook import CellChange

# The argument that has the list of changes, and the key of a change that has the name of its part, such as `edit`.
CHANGES: Final = "changes"
KIND: Final = "do"

# The part that runs the changed cells, and the argument that switches it on.
RUN: Final = "run"


@dataclass(frozen=True, slots=True)
class CallPart:
    """One of the things that a call does."""

    kind: str
    """The name of the part, such as `edit`."""
    tool: ToolSpec | None
    """The tool that does only this; None if that tool is switched off."""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The arguments that this tool would get."""


def list_parts(
    tool: ToolSpec, arguments: Mapping[str, Any], details: ToolCallDetails | None = None
) -> tuple[CallPart, ...]:
    """Return the parts of a call; empty for a tool that does one thing."""
    if not tool.parts:
        return ()
    # The arguments that the tool of each part would get, such as the path of the notebook.
    common = {name: value for name, value in arguments.items() if name not in {CHANGES, RUN}}
    # The parts so far: the name of each, and its own arguments.
    found = list(_list_changes(arguments.get(CHANGES), details))
    if isinstance(details, FileChangeDetails):
        # Exactly these cells run. Rules name cells by ids or numbers.
        if details.runs:
            found.append((RUN, {"cells": [name for cell in details.runs for name in (cell.id, str(cell.number))]}))
    elif _may_run(arguments.get(RUN)):
        found.append((RUN, {}))
    # A call that says nothing, or has a change with an unknown name, may do anything.
    if not found or any(kind not in tool.parts for kind, _ in found):
        found += [(kind, {}) for kind in tool.parts]
    return tuple(CallPart(kind, tool.parts.get(kind), {**common, **own}) for kind, own in found)


def _list_changes(value: Any, details: ToolCallDetails | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the name and the arguments of each change. `value` is the argument with the list of changes. A model
    may write a single change without a list. If the argument is empty, the changes are found in the details."""
    if not value and isinstance(details, FileChangeDetails):
        yield from (_describe_change(change) for change in details.cells or ())
    for item in cast("list[Any]", value) if isinstance(value, list) else [value] if value else []:
        change = cast("dict[str, Any]", item) if isinstance(item, dict) else {}
        yield str(change.get(KIND, "")), {name: argument for name, argument in change.items() if name != KIND}


def _describe_change(change: CellChange) -> tuple[str, Mapping[str, Any]]:
    """Return the name of the part that makes a change, and the arguments that its tool would get."""
    match change:
        case InsertCell(cell=cell):
            return change.kind, {"source": cell.source, "cell_type": cell.cell_type.value}
        case EditCell(cell_id=id, source=source):
            return change.kind, {"cell": id, "source": source}
        case DeleteCell(cell_id=id) | MoveCell(cell_id=id):
            return change.kind, {"cell": id}
        case _:
            return change.kind, {}


def _may_run(value: Any) -> bool:
    """Return whether the argument `run` switches the run on. A model may write it in several ways, so every value
    except None and False counts."""
    return value is not None and value is not False
