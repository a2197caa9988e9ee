"""What every answer to `workspace.base.Notebooks` does, whoever has the notebook: a file, a page, a shared document.

The tests of whatever module takes all names from here and has the answer in a fixture `at` of its own.
"""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.notebook import (
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NewCell,
    PutCell,
    RunStatus,
)
from tests.workspace.notebooks.books import PICTURE, book, code, text, usual

if TYPE_CHECKING:
    from tests.workspace.notebooks.answers import Answer

# A kernel starts here, on a machine that may be busy with other things.
PATIENCE = 60

_paths = (f"book-{number}.ipynb" for number in itertools.count())


@pytest.fixture
def runs(at: Answer) -> None:
    if not at.runs:
        pytest.skip("the kernel is busy with the cell that asks")


async def given(at: Answer, content: dict[str, Any]) -> str:
    """The path of a notebook that was read once, as by whoever means to change it."""
    path = next(_paths)
    await at.give(path, content)
    await at.notebooks.read(path)
    return path


async def sources(at: Answer, path: str) -> list[str]:
    return [cell.source for cell in (await at.now(path)).cells]


def new(id: str, source: str, kind: CellType = CellType.CODE) -> NewCell:
    return NewCell(id=id, cell_type=kind, source=source)


async def test_a_notebook_is_read_with_all_that_a_reader_sees(at: Answer) -> None:
    read = await at.notebooks.read(await given(at, usual()))
    intro, ran, fresh = read.cells
    assert (read.language, [cell.id for cell in read.cells]) == ("python", ["intro", "ran", "new"])
    assert (intro.cell_type, intro.attachments) == (CellType.MARKDOWN, PICTURE)
    assert (ran.source, ran.execution_count, ran.metadata["tags"]) == ("print('hé')\n2", 7, ["mine"])
    assert [output["output_type"] for output in ran.outputs] == ["stream", "execute_result"]
    assert (ran.outputs[0]["text"], ran.outputs[1]["data"]) == ("hé\n", {"text/plain": "2"})
    assert (fresh.source, fresh.execution_count, fresh.outputs) == ("1 + 1", None, ())


async def test_changes_are_made_in_their_order_and_what_is_then_there_is_told(at: Answer) -> None:
    path = await given(at, usual())
    told = await at.notebooks.edit(
        "chat",
        path,
        (
            InsertCell(index=1, cell=new("added", "import os")),
            EditCell(cell_id="new", was="1 + 1", source="2 + 2"),
            MoveCell(cell_id="intro", index=3),
            InsertCell(index=99, cell=new("end", "*the end*", CellType.MARKDOWN)),
            DeleteCell(cell_id="added", was="import os"),
        ),
    )
    assert [cell.id for cell in told.cells] == ["ran", "new", "intro", "end"]
    assert [cell.source for cell in told.cells] == await sources(at, path)
    assert (await sources(at, path))[1] == "2 + 2"
    assert (await at.now(path)).cells[3].cell_type == "markdown"


async def test_what_no_change_names_stays_as_it_is(at: Answer) -> None:
    path = await given(at, usual() | {"metadata": usual()["metadata"] | {"mine": {"deep": [1, 2.5, None]}}})
    before = await at.now(path)
    await at.notebooks.edit("chat", path, (EditCell(cell_id="new", was="1 + 1", source="3"),))
    after = await at.now(path)
    assert after.cells[:2] == before.cells[:2]
    assert (after.metadata, after.nbformat_minor) == (before.metadata, before.nbformat_minor)
    assert after.metadata["mine"] == {"deep": [1, 2.5, None]}


async def test_what_the_assistant_has_written_is_marked_where_a_change_wants_it(at: Answer) -> None:
    path = await given(at, usual())
    changes = (
        InsertCell(index=99, cell=new("added", "x"), marks=True),
        EditCell(cell_id="ran", was="print('hé')\n2", source="3", marks=True),
        EditCell(cell_id="new", was="1 + 1", source="4"),
    )
    await at.notebooks.edit("chat", path, changes)
    found = {cell["id"]: cell["metadata"] for cell in (await at.now(path)).cells}
    assert [found[id].get("jupyter_eca") for id in ("added", "ran", "new")] == [{"written": True}] * 2 + [None]
    assert found["ran"]["tags"] == ["mine"]


async def test_an_edit_of_a_cell_that_ran_leaves_the_outputs_of_what_ran(at: Answer) -> None:
    path = await given(at, usual())
    told = await at.notebooks.edit("chat", path, (EditCell(cell_id="ran", was="print('hé')\n2", source="🙂 = 1\r"),))
    assert (told.cells[1].source, told.cells[1].execution_count, len(told.cells[1].outputs)) == ("🙂 = 1\r", 7, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        EditCell(cell_id="new", was="something else", source="3"),
        DeleteCell(cell_id="new", was="something else"),
        EditCell(cell_id="gone", was="", source="3"),
        MoveCell(cell_id="gone", index=0),
        InsertCell(index=0, cell=new("ran", "twice")),
    ],
    ids=["edited meanwhile", "deleted meanwhile", "gone", "gone before a move", "twice the same id"],
)
async def test_a_change_that_cannot_be_made_undoes_those_before_it(at: Answer, wrong: Any) -> None:
    path = await given(at, usual())
    before = await at.now(path)
    with pytest.raises(ToolError):
        await at.notebooks.edit("chat", path, (InsertCell(index=0, cell=new("first", "1")), wrong))
    assert await at.now(path) == before


@pytest.mark.parametrize("id", ["intro", "ran"])
async def test_a_deleted_cell_is_put_back_with_all_it_had(at: Answer, id: str) -> None:
    path = await given(at, usual())
    before, cell = await at.now(path), (await at.notebooks.read(path)).find_cell(id)
    assert cell is not None
    await at.notebooks.edit("chat", path, (DeleteCell(cell_id=id, was=cell.source),))
    assert len((await at.now(path)).cells) == 2
    await at.notebooks.edit("chat", path, (PutCell(index=["intro", "ran"].index(id), cell=cell),))
    assert await at.now(path) == before


async def test_a_changed_cell_is_put_back_in_its_place(at: Answer) -> None:
    path = await given(at, usual())
    before, cell = await at.now(path), (await at.notebooks.read(path)).find_cell("ran")
    assert cell is not None
    changes = (EditCell(cell_id="ran", was=cell.source, source="other"), MoveCell(cell_id="intro", index=2))
    await at.notebooks.edit("chat", path, changes)
    with pytest.raises(ToolError):
        await at.notebooks.edit("chat", path, (PutCell(index=0, cell=cell, was="another"),))
    await at.notebooks.edit(
        "chat", path, (PutCell(index=5, cell=cell, was="other"), MoveCell(cell_id="intro", index=0))
    )
    assert await at.now(path) == before


async def test_a_cell_that_is_of_another_type_by_now_is_put_back_as_the_one_it_was(at: Answer) -> None:
    path = await given(at, usual())
    before, cell = await at.now(path), (await at.notebooks.read(path)).find_cell("ran")
    assert cell is not None
    words = InsertCell(index=1, cell=new("ran", "*words*", CellType.MARKDOWN))
    await at.notebooks.edit("chat", path, (DeleteCell(cell_id="ran", was=cell.source), words))
    assert [cell.cell_type for cell in (await at.now(path)).cells] == ["markdown", "markdown", "code"]
    await at.notebooks.edit("chat", path, (PutCell(index=0, cell=cell, was="*words*"),))
    assert await at.now(path) == before


async def test_a_notebook_that_is_not_there_is_told(at: Answer) -> None:
    with pytest.raises(ToolError, match="none"):
        await at.notebooks.read("none.ipynb")


@pytest.mark.usefixtures("runs")
async def test_cells_run_in_the_order_given_and_their_outputs_are_in_the_notebook(at: Answer) -> None:
    path = await given(
        at,
        book(
            code("show", "print(x)\nprint(x)\nx"),
            text("words", "no code"),
            code("set", "x = 20"),
            code("rich", "from IPython.display import HTML\nHTML('<b>hi</b>')"),
        ),
    )
    async with asyncio.timeout(PATIENCE):
        done = await at.notebooks.run("chat", path, ("set", "words", "show", "rich"))
    assert (done.status, [cell.id for cell in done.ran]) == (RunStatus.OK, ["set", "words", "show", "rich"])
    show, _, assign, rich = (await at.now(path)).cells
    assert [output.output_type for output in show.outputs] == ["stream", "execute_result"]
    assert (show.outputs[0].text, show.outputs[1].data["text/plain"]) == ("20\n20\n", "20")
    assert show.outputs[1].execution_count == show.execution_count == assign.execution_count + 1
    assert rich.outputs[0].data["text/html"] == "<b>hi</b>"
    assert done.ran[2].outputs == tuple(dict(output) for output in show.outputs)


@pytest.mark.usefixtures("runs")
async def test_cells_that_nobody_has_scrolled_to_are_changed_and_run_as_all_others(at: Answer) -> None:
    path = await given(at, book(*(code(f"c{n}", f"x = {n}\n" * 20) for n in range(60))))
    await at.notebooks.edit(
        "chat",
        path,
        (
            EditCell(cell_id="c58", was="x = 58\n" * 20, source="x = 5\nprint('far down')"),
            MoveCell(cell_id="c58", index=40),
            InsertCell(index=99, cell=new("last", "x + 1")),
        ),
    )
    async with asyncio.timeout(PATIENCE):
        done = await at.notebooks.run("chat", path, ("c58", "last"))
    assert done.status is RunStatus.OK
    cells = (await at.now(path)).cells
    assert (len(cells), cells[40].id, cells[40].outputs[0].text) == (61, "c58", "far down\n")
    assert cells[60].outputs[0].data["text/plain"] == "6"


@pytest.mark.usefixtures("runs")
async def test_a_cell_that_fails_ends_the_run_with_its_traceback_in_the_notebook(at: Answer) -> None:
    path = await given(at, book(code("bad", "print('so far')\n1 / 0"), code("after", "never = 1")))
    async with asyncio.timeout(PATIENCE):
        done = await at.notebooks.run("chat", path, ("bad", "after"))
    assert (done.status, [cell.id for cell in done.ran]) == (RunStatus.ERROR, ["bad"])
    bad, after = (await at.now(path)).cells
    assert [output.output_type for output in bad.outputs] == ["stream", "error"]
    assert (bad.outputs[1].ename, after.outputs, after.execution_count) == ("ZeroDivisionError", [], None)


@pytest.mark.usefixtures("runs")
async def test_outputs_that_are_cleared_updated_or_written_over_are_as_a_page_would_show_them(at: Answer) -> None:
    source = (
        "from IPython.display import clear_output, display\nprint('old')\nclear_output(wait=True)\n"
        "shown = display({'text/plain': 'one'}, raw=True, display_id=True)\n"
        "shown.update({'text/plain': 'two'}, raw=True)"
    )
    path = await given(at, book(code("clears", source)))
    async with asyncio.timeout(PATIENCE):
        await at.notebooks.run("chat", path, ("clears",))
    (output,) = (await at.now(path)).cells[0].outputs
    assert output.data == {"text/plain": "two"}


@pytest.mark.usefixtures("runs")
async def test_cancelling_a_run_interrupts_it_and_keeps_what_was_put_out(at: Answer) -> None:
    begun = at.folder / "begun"
    begun.unlink(missing_ok=True)  # an earlier try may have left it
    source = f"import pathlib, time\nprint('before', flush=True)\npathlib.Path({str(begun)!r}).touch()\ntime.sleep(600)"
    path = await given(at, book(code("long", source), code("next", "print('never')")))
    running = asyncio.ensure_future(at.notebooks.run("chat", path, ("long", "next")))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        running.cancel()
        await asyncio.wait((running,))
        await at.settled()
    assert running.cancelled()
    long, after = (await at.now(path)).cells
    assert [output.get("text") or output["ename"] for output in long.outputs] == ["before\n", "KeyboardInterrupt"]
    assert after.outputs == []


@pytest.mark.usefixtures("runs")
async def test_a_kernel_that_dies_in_a_run_is_told_and_the_notebook_is_whole(at: Answer) -> None:
    path = await given(at, book(code("dies", "import os; os._exit(1)"), code("lives", "1 + 1")))
    async with asyncio.timeout(PATIENCE):
        with pytest.raises(ToolError, match="died"):
            await at.notebooks.run("chat", path, ("dies", "lives"))
        assert await sources(at, path) == ["import os; os._exit(1)", "1 + 1"]
        assert (await at.notebooks.run("chat", path, ("lives",))).status is RunStatus.OK


async def test_a_cell_that_is_gone_cannot_be_run(at: Answer) -> None:
    path = await given(at, usual())
    with pytest.raises(ToolError, match="gone"):
        await at.notebooks.run("chat", path, ("gone",))


@pytest.mark.usefixtures("runs")
async def test_a_cell_that_was_edited_while_it_ran_keeps_the_edit_and_gets_its_outputs(at: Answer) -> None:
    begun, end = at.folder / "running", at.folder / "end"
    begun.unlink(missing_ok=True)  # an earlier try may have left it
    end.unlink(missing_ok=True)
    source = f"""import pathlib, time
pathlib.Path({str(begun)!r}).touch()
while not pathlib.Path({str(end)!r}).exists():
    time.sleep(0.01)
print('ran')"""
    path = await given(at, book(code("slow", source), code("other", "1")))
    running = asyncio.ensure_future(at.notebooks.run("chat", path, ("slow",)))
    async with asyncio.timeout(PATIENCE):
        while not begun.exists():  # noqa: ASYNC110  # another process makes the file
            await asyncio.sleep(0.01)
        told = await at.notebooks.edit("chat", path, (EditCell(cell_id="slow", was=source, source="edited"),))
        assert told.cells[0].source == "edited"
        end.touch()
        assert (await running).status is RunStatus.OK
    after = (await at.now(path)).cells[0]
    assert (after.source, after.outputs[0].text) == ("edited", "ran\n")
