"""The tools that change cells, through the whole engine, on notebooks that a page has open."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.host.turn import call_preview, effect_runner
from jupyter_eca.protocol.content import FileChangeDetails, RejectReason, ToolCallRejectedContent, ToolCallRunContent
from jupyter_eca.transport.eca_client import CallDecision
from tests.support.host_and_client import tool_states
from tests.support.notebook_page import PATH, Page, called, code, printed, result, room, script, text, yes
from tests.support.timeouts import PATIENCE

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import Progress

pytestmark = pytest.mark.asyncio

CELLS = (
    text("t", "# Planets"),
    code("a", "import numpy\nx = 1", printed("old"), count=1),
    code("b", "y = x\ny", count=2),
)


async def test_an_inserted_cell_is_in_the_page_and_told_with_its_number_and_id(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        done = await there.call("notebook_insert_cell", source="z = 3", after=2)
        assert [source for _, source in there.page.cells()] == ["# Planets", CELLS[1].source, "z = 3", CELLS[2].source]
        id, _ = there.page.cells()[2]
        assert not done.error
        assert f"{PATH} has 4 cells now" in result(done)
        assert f"--- cell 3 [{id}]: code, not run ---\nz = 3" in result(done)


@pytest.mark.parametrize(("after", "place"), [("", 3), (0, 0), ("0", 0), (1, 1), ("t", 1), ("2", 2), ("b", 3)])
async def test_a_cell_is_inserted_where_it_was_wanted(tmp_path: Path, after: int | str, place: int) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.call("notebook_insert_cell", source="new", after=after, cell_type="markdown")
        assert [source for _, source in there.page.cells()].index("new") == place
        assert there.page.books[PATH][place].cell_type == "markdown"


async def test_cells_that_one_reply_appends_stand_in_its_order(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        calls = [
            {"tool": "notebook_insert_cell", "arguments": {"source": source}} for source in ("one", "two", "three")
        ]
        await there.ask(calls)
        assert [source for _, source in there.page.cells()][3:] == ["one", "two", "three"]


@pytest.mark.parametrize(
    "arguments", [{"source": "x = 2\r\n"}, {"original_content": "import numpy\nx = 1", "new_content": "x = 2\n"}]
)
async def test_an_edited_cell_keeps_its_outputs_and_is_told_as_it_then_is(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    async with room(tmp_path, *CELLS) as there:
        done = await there.call("notebook_edit_cell", cell="a", **arguments)
        assert there.page.cells()[1] == ("a", "x = 2\n")
        assert there.page.books[PATH][1].outputs == (printed("old"),)
        assert "Edited cell 2 of work/nb.ipynb." in result(done)
        assert "--- cell 2 [a]: code, execution 1, edited since it ran ---\nx = 2\n" in result(done)


async def test_a_deleted_and_a_moved_cell_are_told_with_what_is_left(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        moved = await there.call("notebook_move_cell", cell=3, index=1)
        assert [id for id, _ in there.page.cells()] == ["b", "t", "a"]
        assert "--- cell 1 [b]" in result(moved)
        deleted = await there.call("notebook_delete_cell", cell="t")
        assert [id for id, _ in there.page.cells()] == ["b", "a"]
        assert result(deleted) == f"Deleted cell 2 [t]; {PATH} has 2 cells now, and those after it one number less."


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("notebook_edit_cell", {"cell": 9, "source": "x"}, "has no cell 9; it has 3 cells"),
    ("notebook_edit_cell", {"cell": "b", "source": "y = x\ny"}, "is the source of the cell already"),
    ("notebook_edit_cell", {"cell": "b"}, "Give either source, or original_content"),
    ("notebook_edit_cell", {"cell": "b", "source": "z", "original_content": "y"}, "Give either source"),
    ("notebook_edit_cell", {"cell": "b", "original_content": "y", "new_content": "z"}, "is more than once in the cell"),
    ("notebook_edit_cell", {"cell": "b", "original_content": "none", "new_content": "z"}, "y = x\ny\n Copy from this"),
    ("notebook_insert_cell", {"source": "x", "after": "gone"}, "has no cell gone"),
    ("notebook_move_cell", {"cell": "b", "index": 7}, "is number 3 already"),
    ("notebook_move_cell", {"cell": "b", "index": 0}, "index: Input should be greater than or equal to 1"),
    ("notebook_delete_cell", {"cell": "b", "path": "other.ipynb"}, "There is no notebook other.ipynb"),
    ("notebook_delete_cell", {"cell": "b", "path": "../up.ipynb"}, "is outside of the workspace"),
]


@pytest.mark.parametrize(("tool", "arguments", "reason"), REFUSED)
async def test_what_cannot_be_done_is_told_and_changes_nothing(
    tmp_path: Path, tool: str, arguments: dict[str, Any], reason: str
) -> None:
    async with room(tmp_path, *CELLS) as there:
        done = await there.call(tool, **arguments)
        assert done.error
        assert reason in result(done)
        assert there.page.books[PATH] == list(CELLS)
        assert there.page.edits == 0


DIFF = """\
--- a/work/nb.ipynb
+++ b/work/nb.ipynb
@@ -2,7 +2,7 @@
 # Planets
 # %% cell 2 [a] code
 import numpy
-x = 1
+x = 2
 # %% cell 3 [b] code
 y = x
 y
"""


async def test_whoever_approves_sees_the_change_first_and_every_client_can_draw_it(tmp_path: Path) -> None:
    seen: list[ToolCallRunContent] = []

    def look(call: ToolCallRunContent) -> CallDecision:
        seen.append(call)
        assert there.page.books[PATH] == list(CELLS)
        return yes(call)

    async with room(tmp_path, *CELLS) as there:
        arguments = {"original_content": "x = 1", "new_content": "x = 2"}
        done = await there.call("notebook_edit_cell", look, cell=2, **arguments)
        details = seen[0].details
        assert isinstance(details, FileChangeDetails)
        assert (details.path, details.diff, details.lines_added, details.lines_removed) == (PATH, DIFF, 1, 1)
        assert done.details == details


async def test_a_rejected_change_is_not_made(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        calls = [{"tool": "notebook_delete_cell", "arguments": {"cell": "a"}}]
        received = await there.ask(calls, lambda _: CallDecision(approved=False))
        assert tool_states(received)[-1] == "toolCallRejected"
        assert there.page.books[PATH] == list(CELLS)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notebook_edit_cell", {"cell": 2, "source": "x = 2"}),
        ("notebook_edit_cell", {"cell": "a", "original_content": "x = 1", "new_content": "x = 2"}),
        ("notebook_delete_cell", {"cell": 2}),
    ],
)
async def test_a_cell_that_somebody_changed_while_approval_was_awaited_is_left_to_them(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    def meanwhile(call: ToolCallRunContent) -> CallDecision:
        there.page.type("a", "mine, x = 1")
        return yes(call)

    async with room(tmp_path, *CELLS) as there:
        done = await there.call(tool, meanwhile, **arguments)
        assert done.error
        assert "was changed since you read it" in result(done)
        assert "mine, x = 1" in result(done)
        assert there.page.cells()[1] == ("a", "mine, x = 1")
        assert there.page.edits == 0


async def test_two_changes_of_one_cell_in_one_reply_are_both_made(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        changes = [("import numpy", "import pandas"), ("x = 1", "x = 2")]
        received = await there.ask([
            {"tool": "notebook_edit_cell", "arguments": {"cell": 2, "original_content": old, "new_content": new}}
            for old, new in changes
        ])  # fmt: skip
        assert [done.error for done in called(received)] == [False, False]
        assert there.page.cells()[1] == ("a", "import pandas\nx = 2")


async def test_a_number_means_the_cell_that_was_shown_also_when_others_came_before_it_since(tmp_path: Path) -> None:
    def meanwhile(call: ToolCallRunContent) -> CallDecision:
        there.page.books[PATH].insert(0, code("new", "0"))
        return yes(call)

    async with room(tmp_path, *CELLS) as there:
        done = await there.call("notebook_edit_cell", meanwhile, cell=2, source="x = 2")
        assert dict(there.page.cells()) == {"new": "0", "t": "# Planets", "a": "x = 2", "b": "y = x\ny"}
        assert "--- cell 3 [a]" in result(done)


async def test_no_path_means_the_notebook_that_was_shown_also_when_another_is_active_since(tmp_path: Path) -> None:
    def meanwhile(call: ToolCallRunContent) -> CallDecision:
        there.page.books = dict(reversed(there.page.books.items()))
        return yes(call)

    page = Page({PATH: list(CELLS), "other.ipynb": list(CELLS)})
    async with room(tmp_path, page=page) as there:
        await there.call("notebook_edit_cell", meanwhile, cell="a", source="x = 2")
        assert (page.cells()[1], page.cells("other.ipynb")[1]) == (("a", "x = 2"), ("a", CELLS[1].source))


async def test_a_change_that_the_page_refuses_at_the_last_moment_is_told_with_what_is_there(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        there.page.before_edit = lambda: there.page.type("a", "mine")
        done = await there.call("notebook_edit_cell", cell="a", source="x = 2")
        assert done.error
        assert "Nothing was changed. The cell is now:\n--- cell 2 [a]: code, execution 1 ---\nmine" in result(done)
        assert there.page.cells()[1] == ("a", "mine")


async def test_a_notebook_that_is_not_as_it_was_wanted_is_told_as_it_is(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        there.page.after_edit = lambda: there.page.type("a", "x = 2  # formatted")
        done = await there.call("notebook_edit_cell", cell="a", source="x=2")
        assert done.error
        assert "is not as you wanted it" in result(done)
        assert "x = 2  # formatted" in result(done)


async def test_an_edit_whose_answer_was_lost_counts_when_it_is_there(tmp_path: Path) -> None:
    def fail() -> None:
        raise RuntimeError("lost")

    async with room(tmp_path, *CELLS) as there:
        there.page.after_edit = fail
        done = await there.call("notebook_edit_cell", cell="a", source="x = 2")
        assert not done.error
        assert there.page.cells()[1] == ("a", "x = 2")


async def test_in_plan_mode_nothing_can_be_changed(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        delete: dict[str, Any] = {"tool": "notebook_delete_cell", "arguments": {"cell": "a"}}
        look: dict[str, Any] = {"tool": "notebook_read", "arguments": {}}
        # What is only proposed does not keep the calls behind it from running.
        received = await there.ask([delete, look], agent="plan")
        (read,) = called(received)
        reasons = [one.content.reason for one in received if isinstance(one.content, ToolCallRejectedContent)]
        assert reasons == [RejectReason.PLAN]
        assert "# Planets" in result(read)
        assert there.page.books[PATH] == list(CELLS)


@pytest.mark.parametrize(
    ("tool", "arguments", "order"),
    [
        ("notebook_insert_cell", {"source": "new", "after": "a"}, ["mine", "t", "a", "new", "b"]),
        ("notebook_insert_cell", {"source": "new", "after": 2}, ["mine", "t", "a", "new", "b"]),
        ("notebook_insert_cell", {"source": "new", "after": 0}, ["new", "mine", "t", "a", "b"]),
        ("notebook_insert_cell", {"source": "new"}, ["mine", "t", "a", "b", "new"]),
        ("notebook_move_cell", {"cell": "t", "index": 2}, ["mine", "a", "t", "b"]),
    ],
)
async def test_an_approved_cell_stands_behind_the_cell_that_was_shown_though_cells_have_moved(
    tmp_path: Path, tool: str, arguments: dict[str, Any], order: list[str]
) -> None:
    async with room(tmp_path, *CELLS) as there:

        def add_a_cell(call: ToolCallRunContent) -> CallDecision:
            there.page.books[PATH].insert(0, text("mine", "mine"))
            return yes(call)

        done = await there.call(tool, add_a_cell, **arguments)
        assert not done.error
        assert [source if source == "new" else id for id, source in there.page.cells()] == order


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("notebook_insert_cell", {"source": "new", "after": "a"}),
        ("notebook_move_cell", {"cell": "t", "index": 2}),
    ],
)
async def test_a_cell_whose_place_is_gone_by_the_approval_is_put_nowhere_and_the_next_call_is_asked_again(
    tmp_path: Path, tool: str, arguments: dict[str, Any]
) -> None:
    async with room(tmp_path, *CELLS) as there:

        def delete_the_place(call: ToolCallRunContent) -> CallDecision:
            del there.page.books[PATH][1]
            return yes(call)

        done = await there.call(tool, delete_the_place, **arguments)
        assert done.error
        assert "The new cell was to follow the cell [a], which is gone. Nothing was changed." in result(done)
        assert [id for id, _ in there.page.cells()] == ["t", "b"]
        asked: list[str] = []

        def note(call: ToolCallRunContent) -> CallDecision:
            asked.append(call.id)
            return yes(call)

        await there.call("notebook_insert_cell", note, source="new", after="b")
        assert len(asked) == 1


async def test_a_change_is_asked_about_when_its_diff_is_there_however_long_the_page_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effect_runner, "PREVIEW_NOTE_SECONDS", 0.0)
    async with room(tmp_path, *CELLS) as there:
        held = there.page.hold_read = asyncio.Event()
        noted: list[str] = []
        asked: list[ToolCallRunContent] = []

        def note(progress: Progress) -> None:
            noted.append(progress.text)
            held.set()

        script(tmp_path, [{"tool": "notebook_edit_cell", "arguments": {"cell": "a", "source": "x = 2"}}])
        async with asyncio.timeout(PATIENCE):
            async for item in there.client.ask("chat", "go", on_progress=note):
                if isinstance(item.content, ToolCallRunContent) and item.content.manual_approval:
                    asked.append(item.content)
                    await there.client.decide("chat", item.content.id, yes(item.content))
        assert noted[0] == "Working out what this would change …"
        assert isinstance(asked[0].details, FileChangeDetails)
        assert "+x = 2" in asked[0].details.diff
        assert there.page.cells()[1] == ("a", "x = 2")


async def test_a_change_that_cannot_be_shown_is_not_asked_about_and_not_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(call_preview, "PREVIEW_SECONDS", 0.01)
    async with room(tmp_path, *CELLS) as there:
        there.page.hold_read = asyncio.Event()

        def refuse(call: ToolCallRunContent) -> CallDecision:
            raise AssertionError(f"{call.name} was asked about")

        done = await there.call("notebook_edit_cell", refuse, cell="a", source="x = 2")
        assert done.error
        assert "could not be worked out" in result(done)
        assert there.page.edits == 0


LOCKED = {
    "editable": {"editable": False},
    "a test of nbgrader": {"nbgrader": {"grade": True, "locked": True, "solution": False}},
    "an answer of nbgrader": {"nbgrader": {"grade": True, "locked": False, "solution": True}},
}


@pytest.mark.parametrize("name", LOCKED)
async def test_a_locked_cell_is_read_as_such_and_never_edited(tmp_path: Path, name: str) -> None:
    locked = code("l", "assert mean([1]) == 1").model_copy(update={"metadata": LOCKED[name]})
    async with room(tmp_path, *CELLS, locked) as there:
        assert "[l]: code, not run, locked ---" in result(await there.call("notebook_read"))
        done = await there.call("notebook_edit_cell", cell="l", source="assert True")
        assert "is locked" in result(done)
        assert there.page.books[PATH][-1].source == "assert mean([1]) == 1"


async def test_a_cell_that_must_not_be_deleted_stays_and_can_be_edited(tmp_path: Path) -> None:
    kept = code("k", "x = 1").model_copy(update={"metadata": {"deletable": False}})
    async with room(tmp_path, kept) as there:
        assert "`deletable: false`" in result(await there.call("notebook_delete_cell", cell="k"))
        await there.call("notebook_edit_cell", cell="k", source="x = 2")
        assert [source for _, source in there.page.cells()] == ["x = 2"]
