"""Edits of cells are divided into parts, and made without those that are left out. The page draws the same parts:
labextension/test/review/change_parts.test.ts runs the same cases."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jupyter_eca.protocol.content import ChangePart, MovePart
from jupyter_eca.protocol.notebook import CellType, DeleteCell, EditCell, InsertCell, MoveCell, NewCell, NotebookCell
from jupyter_eca.protocol.notebook import NotebookDocument as Document
from jupyter_eca.workspace.notebooks import cell_changes
from jupyter_eca.workspace.notebooks.change_parts import divide_changes, leave_out_parts

if TYPE_CHECKING:
    from jupyter_eca.protocol.content import FileChangeDetails

FILE = Path(__file__).parents[2] / "fixtures" / "change_parts.json"
CASES: list[dict[str, Any]] = json.loads(FILE.read_text("utf-8"))["cases"]

LINES = ["a", "b", "", "😀", "\U0001d499 = 1", "# %% cell 1 [a] code"]
SOURCES = st.lists(st.sampled_from(LINES), max_size=6).map("\n".join)


def edit(id: str, was: str, source: str) -> EditCell:
    return EditCell(cell_id=id, was=was, source=source)


def describe(*changes: cell_changes.Change, cells: dict[str, str], kind: CellType = CellType.CODE) -> FileChangeDetails:
    """What is shown of a change of a notebook with these cells."""
    before = Document(
        path="nb.ipynb", cells=tuple(NotebookCell(id=id, cell_type=kind, source=text) for id, text in cells.items())
    )
    after = before
    for change in changes:
        after = cell_changes.apply(after, change)
    details = cell_changes.describe_changes(before, after, *changes)
    return details.model_copy(update={"parts": divide_changes(changes) or None})


def get_edits(details: FileChangeDetails) -> dict[str, str]:
    return {change.cell_id: change.source for change in details.cells or () if isinstance(change, EditCell)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_what_remains_of_edits_of_several_cells(case: dict[str, Any]) -> None:
    edits = [edit(cell["id"], cell["was"], cell["source"]) for cell in case["cells"]]
    details = describe(*edits, cells={cell["id"]: cell["was"] for cell in case["cells"]})
    assert [part.as_json_object() for part in details.parts or ()] == case["parts"]
    narrowed = leave_out_parts(details, case["leftOut"])
    assert narrowed is not None
    remaining = {
        cell["id"]: text for cell, text in zip(case["cells"], case["remaining"], strict=True) if text is not None
    }
    assert get_edits(narrowed) == remaining
    assert narrowed.left_out == tuple(case["leftOut"])
    # What is shown of it is the diff of exactly this change.
    whole = describe(
        *(edit(cell["id"], cell["was"], remaining[cell["id"]]) for cell in case["cells"] if cell["id"] in remaining),
        cells={cell["id"]: cell["was"] for cell in case["cells"]},
    )
    assert list_changed_lines(narrowed) == list_changed_lines(whole)
    assert (narrowed.lines_added, narrowed.lines_removed) == (whole.lines_added, whole.lines_removed)


def list_line_parts(details: FileChangeDetails) -> list[ChangePart]:
    return [part for part in details.parts or () if isinstance(part, ChangePart)]


def list_changed_lines(details: FileChangeDetails) -> list[str]:
    return [line for line in details.diff.splitlines() if line[:1] in {"+", "-"}]


@given(SOURCES, SOURCES, SOURCES, SOURCES, st.sets(st.integers(0, 8)))
def test_parts_of_one_cell_never_change_another(a: str, a2: str, b: str, b2: str, out: set[int]) -> None:
    edits = [edit(id, was, source) for id, was, source in (("a", a, a2), ("b", b, b2)) if was != source]
    if not edits:
        return
    details = describe(*edits, cells={"a": a, "b": b})
    parts = details.parts or ()
    out = {index for index in out if index < len(parts)}
    narrowed = leave_out_parts(details, out)
    if narrowed is None:
        assert not out or len(out) == len(parts)
        return
    for id, source in (("a", a2), ("b", b2)):
        own = {index for index, part in enumerate(parts) if part.cell_id == id}
        if own <= out:
            assert id not in get_edits(narrowed)
        elif not own & out:
            assert get_edits(narrowed)[id] == source
    assert "\n+++ b/nb.ipynb\n" in narrowed.diff


def test_what_is_inserted_and_deleted_remains_in_any_case() -> None:
    insert = InsertCell(index=2, cell=NewCell(id="n", cell_type=CellType.CODE, source="new"), after="b")
    delete = DeleteCell(cell_id="c", was="z = 3")
    cells = {"a": "x = 1\nkeep\ny = 2", "b": "b", "c": "z = 3"}
    details = describe(edit("a", cells["a"], "x = 2\nkeep\ny = 3"), insert, delete, cells=cells)
    assert [part.text for part in list_line_parts(details)] == ["x = 2\n", "y = 3"]
    narrowed = leave_out_parts(details, [0, 1])
    assert narrowed is not None
    assert narrowed.cells == (insert, delete)
    assert list_changed_lines(narrowed)[2:] == [
        "-# %% cell 3 [c] code",
        "-z = 3",
        "+# %% new cell [n] code",
        "+new",
    ]
    narrowed = leave_out_parts(details, [1])
    assert narrowed is not None
    assert list_changed_lines(narrowed)[2:4] == ["-x = 1", "+x = 2"]
    assert narrowed.describe_cells() == "Change 1 cell of nb.ipynb, add 1, delete 1"


@pytest.mark.parametrize("out", [[], [2], [-1], [0, 1], [0, 7]])
def test_what_is_no_part_cannot_be_left_out(out: list[int]) -> None:
    cells = {"a": "x", "b": "y"}
    details = describe(edit("a", "x", "x2"), edit("b", "y", "y2"), cells=cells)
    assert leave_out_parts(details, out) is None
    once = leave_out_parts(details, [0, 0])
    assert once is not None
    assert once.left_out == (0,)
    assert leave_out_parts(once, [1]) is None


def test_a_cell_that_is_edited_twice_has_the_parts_of_both_edits_together() -> None:
    twice = (edit("a", "x\nk\ny", "x2\nk\ny"), edit("b", "z", "z2"), edit("a", "x2\nk\ny", "x3\nk\ny3"))
    details = describe(*twice, cells={"a": "x\nk\ny", "b": "z"})
    assert [(part.cell_id, part.text) for part in list_line_parts(details)] == [("a", "x3\n"), ("a", "y3"), ("b", "z2")]
    narrowed = leave_out_parts(details, [1])
    assert narrowed is not None
    assert narrowed.cells == (edit("a", "x\nk\ny", "x3\nk\ny"), edit("b", "z", "z2"))
    assert leave_out_parts(details, [0, 1, 2]) is None
    # One part is all that there is.
    assert divide_changes((edit("a", "x", "x2"), edit("a", "x2", "x3"))) == ()


def test_a_move_is_a_part_and_a_cell_that_is_edited_too_has_the_parts_of_its_edit() -> None:
    move = MoveCell(cell_id="c", index=0, after="")
    changes = (move, edit("c", "p = 1\nq\nr = 1", "p = 2\nq\nr = 2"), MoveCell(cell_id="b", index=0, after=""))
    details = describe(*changes, cells={"a": "x", "b": "y", "c": "p = 1\nq\nr = 1"})
    assert [part.as_json_object() for part in details.parts or ()] == [
        {"kind": "move", "cellId": "c"},
        {"start": 0, "end": 6, "text": "p = 2\n", "cellId": "c"},
        {"start": 8, "end": 13, "text": "r = 2", "cellId": "c"},
        {"kind": "move", "cellId": "b"},
    ]
    narrowed = leave_out_parts(details, [0, 2, 3])
    assert narrowed is not None
    assert narrowed.cells == (edit("c", "p = 1\nq\nr = 1", "p = 2\nq\nr = 1"),)
    assert list_changed_lines(narrowed)[2:] == ["-p = 1", "+p = 2"]
    narrowed = leave_out_parts(details, [1, 2])
    assert narrowed is not None
    assert narrowed.cells == (changes[0], changes[2])
    # What remains of a move is shown by its heading, because a move does not contain the source of the cell.
    assert list_changed_lines(narrowed)[2:] == [
        "-# %% cell 2 [b] code",
        "+# %% cell 2 [b] code, moved to 1",
        "-# %% cell 3 [c] code",
        "+# %% cell 3 [c] code, moved to 1",
    ]
    narrowed = leave_out_parts(details, [3])
    assert narrowed is not None
    assert list_changed_lines(narrowed)[2:] == [
        "-# %% cell 3 [c] code",
        "-p = 1",
        "+# %% cell 3 [c] code, moved to 1",
        "+p = 2",
        "-r = 1",
        "+r = 2",
    ]


def test_a_cell_that_is_inserted_or_deleted_too_has_no_parts() -> None:
    new = InsertCell(index=0, cell=NewCell(id="n", cell_type=CellType.CODE, source="x"))
    assert divide_changes((new, edit("n", "x", "x2"), MoveCell(cell_id="n", index=1))) == ()
    assert divide_changes((edit("a", "x", "x2"), DeleteCell(cell_id="a", was="x2"))) == ()
    assert divide_changes((edit("a", "x", "x2"),)) == ()
    assert divide_changes((MoveCell(cell_id="b", index=0),)) == ()
    assert len(divide_changes((new, MoveCell(cell_id="b", index=0)))) == 1


@given(SOURCES, SOURCES, SOURCES, st.sets(st.integers(0, 8)))
def test_what_remains_of_two_edits_and_a_move_is_what_its_parts_say(
    was: str, middle: str, last: str, out: set[int]
) -> None:
    changes = (edit("a", was, middle), MoveCell(cell_id="a", index=1, after="b"), edit("a", middle, last))
    details = describe(*changes, cells={"a": was, "b": "b"})
    out = {index for index in out if index < len(details.parts or ())}
    narrowed = leave_out_parts(details, out)
    if narrowed is None:
        assert not out or len(out) == len(details.parts or ())
        return
    moved = [part for index, part in enumerate(details.parts or ()) if index not in out and isinstance(part, MovePart)]
    assert sum(isinstance(change, MoveCell) for change in narrowed.cells or ()) == len(moved)
    source = was
    for index, part in reversed(list(enumerate(details.parts or ()))):
        if isinstance(part, ChangePart) and index not in out:
            source = source[: part.start] + part.text + source[part.end :]
    assert get_edits(narrowed).get("a", was) == source


def test_what_a_text_loads_is_told_of_what_remains() -> None:
    cells = {"a": "one\n\ntwo", "b": "three"}
    image = "![x](https://example.org/{}.png)".format
    details = describe(
        edit("a", cells["a"], f"{image(1)}\n\n{image(2)}"),
        edit("b", "three", image(3)),
        cells=cells,
        kind=CellType.MARKDOWN,
    )
    assert details.loads is not None
    narrowed = leave_out_parts(details, [1])
    assert narrowed is not None
    assert narrowed.loads is not None
    assert [str(number) in narrowed.loads for number in (1, 2, 3)] == [True, False, True]
