"""One tool changes a notebook in one step, and runs what it changed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.notebook_change import notebook_change
from jupyter_eca.protocol.changes import ChangedCell
from jupyter_eca.protocol.content import FileChangeDetails, ImageContent, ToolCallRunContent
from jupyter_eca.protocol.notebook import CellState
from tests.support.host_and_client import answer
from tests.support.notebook_page import PATH, PNG, called, code, result, room, script, text, yes

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.transport.eca_client import CallDecision
    from tests.support.notebook_page import Room

pytestmark = pytest.mark.asyncio

CELLS = (text("t", "# Planets"), code("a", "x = 1"), code("b", "y = x"), code("c", "z = 3"))
THREE: list[dict[str, Any]] = [
    {"do": "edit", "cell": "a", "original_content": "1", "new_content": "2"},
    {"do": "insert", "after": "b", "source": "plot(y)"},
    {"do": "delete", "cell": "c"},
]


def change(*changes: dict[str, Any], **arguments: Any) -> dict[str, Any]:
    given = {"changes": list(changes)} if changes else {}
    return {"tool": "notebook_change", "arguments": {**given, **arguments}}


class Reader:
    """Approves everything, and keeps what was shown."""

    def __init__(self) -> None:
        self.shown: list[ToolCallRunContent] = []

    def __call__(self, call: ToolCallRunContent) -> CallDecision:
        self.shown.append(call)
        return yes(call)

    @property
    def details(self) -> FileChangeDetails:
        (call,) = self.shown
        assert isinstance(call.details, FileChangeDetails)
        return call.details


def sources(there: Room) -> list[str]:
    return [source for _, source in there.page.cells()]


async def test_several_changes_are_one_diff_one_approval_and_one_edit(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        (done,) = called(await there.ask([change(*THREE)], reader))
        assert not done.error
        assert sources(there) == ["# Planets", "x = 2", "y = x", "plot(y)"]
        assert there.page.edits == 1
        new = there.page.cells()[3][0]
        assert [line for line in reader.details.diff.splitlines() if line[:1] in "+-"][2:] == [
            "-x = 1",
            "+x = 2",
            "-# %% cell 4 [c] code",
            "-z = 3",
            f"+# %% new cell [{new}] code",
            "+plot(y)",
        ]
        assert result(done).splitlines() == [
            f"Done; {PATH} has 4 cells now.",
            "Edited cell 2 [a].",
            f"Inserted cell 4 [{new}].",
            "Deleted cell 4 [c].",
        ]


async def test_what_was_inserted_or_edited_runs_from_top_to_bottom_and_its_pictures_come_back(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        received = await there.ask([change(*reversed(THREE), run=True)], reader)
        (done,) = called(received)
        new = there.page.cells()[3][0]
        assert [(cell.number, cell.id, cell.source) for cell in reader.details.runs or ()] == [
            (2, "a", "x = 2"),
            (4, new, "plot(y)"),
        ]
        ran = [cell.source for cell in there.page.books[PATH] if cell.state is CellState.RAN and cell.execution_count]
        assert ran == ["x = 2", "plot(y)"]
        assert f"Ran in {PATH}:\n\n--- cell 2 [a]: code, execution 7 ---" in result(done)
        assert "[picture 1 of cell 4]\nran plot(y)" in result(done)
        assert [one.content.base64 for one in received if isinstance(one.content, ImageContent)] == [PNG]
        messages = (await there.table.host.turns.draft("chat")).messages
        parts = [part for message in messages for part in message.parts if isinstance(part, ToolResultPart)]
        assert [image.name for image in parts[-1].images] == ["picture 1 of cell 4"]


async def test_a_run_ends_at_the_first_cell_that_fails_and_the_changes_stay(tmp_path: Path) -> None:
    changes = [{"do": "insert", "source": "fail"}, {"do": "insert", "source": "later()"}]
    async with room(tmp_path, *CELLS) as there:
        (done,) = called(await there.ask([change(*changes, run=True)]))
        assert done.error
        assert sources(there)[4:] == ["fail", "later()"]
        assert "E: no" in result(done)
        assert result(done).endswith("Not run: cell 6.")


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (change(THREE[0], {"do": "edit", "cell": "gone", "source": "x"}), "Change 2 (edit): work/nb.ipynb has no cell"),
        (change({"do": "delete", "cell": "c"}, {"do": "edit", "cell": "c", "source": "x"}), "has no cell c"),
        (change({"do": "move", "cell": "c", "index": 1}, run=True), "run needs a code cell that is inserted or edited"),
        (change(), "Give either changes or preview"),
        (change(THREE[0], preview="abc"), "Give either changes or preview"),
        (change(preview="abc"), "There is no preview abc"),
    ],
)
async def test_what_cannot_be_done_changes_nothing_and_nobody_is_asked(
    tmp_path: Path, call: dict[str, Any], why: str
) -> None:
    async with room(tmp_path, *CELLS) as there:
        reader = Reader()
        (done,) = called(await there.ask([call], reader))
        assert done.error
        assert why in result(done)
        assert (there.page.edits, reader.shown) == (0, [])


async def test_a_cell_that_changed_between_card_and_click_leaves_all_as_it_is(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:

        def write(call: ToolCallRunContent) -> CallDecision:
            there.page.type("a", "x = 1  # mine")
            return yes(call)

        (done,) = called(await there.ask([change(*THREE, run=True)], write))
        assert done.error
        assert "# mine" in result(done)
        assert sources(there) == ["# Planets", "x = 1  # mine", "y = x", "z = 3"]
        assert all(cell.execution_count is None for cell in there.page.books[PATH])


@pytest.mark.parametrize(
    ("after", "ids"),
    [
        (2, ["first", "t", "a", "new", "b", "c"]),
        ("3", ["first", "t", "a", "b", "new", "c"]),
        (0, ["new", "first", "t", "a", "b", "c"]),
        ("", ["first", "t", "a", "b", "c", "new"]),
    ],
)
async def test_an_insertion_behind_another_call_stands_below_the_cell_that_has_the_number_now(
    tmp_path: Path, after: int | str, ids: list[str]
) -> None:
    first = change({"do": "insert", "after": 0, "source": "first"})
    second = change({"do": "edit", "cell": 2, "source": "x = 2"}, {"do": "insert", "after": after, "source": "new"})
    async with room(tmp_path, *CELLS) as there:
        assert [done.error for done in called(await there.ask([first, second]))] == [False, False]
        named = [source if source in {"first", "new"} else id for id, source in there.page.cells()]
        assert (named, dict(there.page.cells())["a"]) == (ids, "x = 2")


@pytest.mark.parametrize("moves", ["insert", "move", "delete"])
async def test_cells_that_come_and_go_between_card_and_click_change_nothing_of_what_was_shown(
    tmp_path: Path, moves: str
) -> None:
    steps = (
        {"do": "edit", "cell": 2, "original_content": "1", "new_content": "2"},
        {"do": "insert", "after": 3, "source": "new"},
        {"do": "delete", "cell": 5},
    )
    async with room(tmp_path, *CELLS) as there:
        shown: list[tuple[str, str]] = []

        def rearrange(call: ToolCallRunContent) -> CallDecision:
            assert isinstance(call.details, FileChangeDetails)
            cells = there.page.books[PATH]
            shown.extend((cell.id, cell.source) for cell in call.details.runs or ())
            match moves:
                case "insert":
                    cells.insert(0, text("mine", "mine"))
                case "move":
                    cells.append(cells.pop(1))
                case _:
                    del cells[0]
            return yes(call)

        (done,) = called(await there.ask([change(*steps, run=True)], rearrange))
        assert not done.error
        named = {source: id for id, source in there.page.cells()}
        ids = [id for id, source in there.page.cells() if source not in {"mine", "# Planets"}]
        assert ids == (["b", named["new"], "a"] if moves == "move" else ["a", "b", named["new"]])
        assert shown == [("a", "x = 2"), (named["new"], "new")]
        now = there.page.books[PATH]
        ran = {(cell.id, cell.source) for cell in now if cell.state is CellState.RAN and cell.execution_count}
        assert ran == set(shown)


async def test_a_cell_that_the_model_has_not_read_is_not_replaced(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS, read=False) as there:
        (done,) = called(await there.ask([change({"do": "edit", "cell": "a", "source": "x = 2"})]))
        assert "You have not read cell 2" in result(done)
        assert there.page.edits == 0


async def test_an_own_change_may_be_changed_again(tmp_path: Path) -> None:
    twice = [{"do": "edit", "cell": "a", "source": "x = 2"}, {"do": "edit", "cell": "a", "source": "x = 3"}]
    async with room(tmp_path, *CELLS) as there:
        first, second = called(
            await there.ask([change(*twice), change({"do": "edit", "cell": "a", "source": "x = 4"}, run=True)])
        )
        assert (first.error, second.error) == (False, False)
        assert sources(there)[1] == "x = 4"


async def test_each_cell_of_a_change_can_be_undone_alone(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        await there.ask([change(*THREE, {"do": "edit", "cell": "a", "source": "x = 3"})])
        changes = await there.table.host.changes.list("chat")
        of_a = [one.id for one in changes if isinstance(one, ChangedCell) and one.cell_id == "a"]
        await there.table.host.changes.revert("chat", of_a)
        assert sources(there) == ["# Planets", "x = 1", "y = x", "plot(y)"]
        rest = [one.id for one in await there.table.host.changes.list("chat")]
        await there.table.host.changes.revert("chat", rest)
        assert there.page.cells() == [(cell.id, cell.source) for cell in CELLS]


async def test_a_call_from_a_cell_that_waits_runs_no_cell_of_its_notebook_and_changes_nothing(tmp_path: Path) -> None:
    waiting = code("q", "%%eca go").model_copy(update={"state": CellState.RUNNING})
    async with room(tmp_path, *CELLS, waiting) as there:
        context = replace(there.table.host.tool_contexts.build("chat", None, "call"), from_cell=True)
        insert = [{"do": "insert", "source": "new"}]
        for run in (notebook_change.preview, notebook_change.run):
            with pytest.raises(ToolError, match="would only run after it; nothing was changed"):
                await run(context, {"changes": insert, "run": True, "path": PATH})
        assert there.page.edits == 0
        await notebook_change.run(context, {"changes": insert, "path": PATH})
        assert there.page.edits == 1


async def test_go_carries_out_exactly_what_was_previewed(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        script(there.table.folder, [{"tool": "preview_notebook_change", "arguments": {"changes": THREE}}])
        (planned,) = called(await answer(there.client, "Plan", yes, agent="plan"))
        id = result(planned).split('preview "', 1)[1].split('"', 1)[0]
        reader = Reader()
        script(there.table.folder, [change(preview=id, run=True)])
        (done,) = called(await answer(there.client, "go", reader, agent="code"))
        assert not done.error
        assert reader.details.cells == planned.details.cells
        assert reader.details.diff == planned.details.diff
        assert sources(there) == ["# Planets", "x = 2", "y = x", "plot(y)"]
        assert "ran plot(y)" in result(done)
        (again,) = called(await there.ask([change(preview=id)]))
        assert again.error
        assert there.page.edits == 1


async def test_a_preview_of_cells_that_changed_since_is_not_carried_out(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        script(there.table.folder, [{"tool": "preview_notebook_change", "arguments": {"changes": THREE}}])
        (planned,) = called(await answer(there.client, "Plan", yes, agent="plan"))
        id = result(planned).split('preview "', 1)[1].split('"', 1)[0]
        there.page.type("a", "x = 1  # mine")
        (done,) = called(await there.ask([change(preview=id)]))
        assert "was changed since you read it; nothing was changed" in result(done)
        assert there.page.edits == 0


async def test_the_tools_that_it_replaces_are_not_offered_but_still_work(tmp_path: Path) -> None:
    async with room(tmp_path, *CELLS) as there:
        offered = {tool.name for tool in (await there.table.host.turns.draft("chat")).tools}
        old = {f"notebook_{kind}_cell" for kind in ("insert", "edit", "delete", "move")}
        assert "notebook_change" in offered
        assert not old & offered
        assert not (await there.call("notebook_edit_cell", cell="a", source="x = 5")).error
        assert sources(there)[1] == "x = 5"


async def test_its_schema_is_short(tmp_path: Path) -> None:
    """The tools that it replaces had 3,200 characters. Each character is sent with every request."""
    async with room(tmp_path, *CELLS) as there:
        (tool,) = [
            tool for tool in (await there.table.host.turns.draft("chat")).tools if tool.name == "notebook_change"
        ]
        assert len(f"{tool.description}{tool.parameters}") < 2_400
