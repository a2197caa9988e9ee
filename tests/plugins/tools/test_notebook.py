"""The tools that read, run and make notebooks, through the whole engine; the notebooks are open in a page."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from nbformat.validator import validate

from jupyter_eca.engine.model.request import ToolResultPart
from jupyter_eca.protocol.content import FileChangeDetails, ImageContent
from jupyter_eca.protocol.notebook import CellState
from jupyter_eca.workspace.known_versions import Version, make_cell_key
from tests.support.host_and_client import PATIENCE, Notebook, answer, desk
from tests.support.notebook_page import PATH, PLOT, PNG, Page, called, code, printed, result, room, text

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.engine.model.request import ImagePart
    from jupyter_eca.protocol.notebook import NotebookCell
    from tests.support.notebook_page import Room

pytestmark = pytest.mark.asyncio

READING = """\
work/nb.ipynb: 5 cells, python, kernel idle

--- cell 1 [t]: markdown ---
# Planets

--- cell 2 [a]: code, execution 1 ---
x = 1
--- output of cell 2 ---
one

--- cell 3 [b]: code, execution 2, edited since it ran ---
plot()
--- output of cell 3 ---
<Figure>
[image/png: notebook_read of this cell alone shows it to you]

--- cell 4 [c]: code, running ---
slow()

--- cell 5 [d]: code, not run ---
later()"""


def cells() -> tuple[NotebookCell, ...]:
    edited = code("b", "plot()", PLOT, count=2).model_copy(update={"state": CellState.EDITED})
    running = code("c", "slow()").model_copy(update={"state": CellState.RUNNING})
    return (
        text("t", "# Planets"),
        code("a", "x = 1", printed("one\n"), count=1),
        edited,
        running,
        code("d", "later()"),
    )


async def test_the_notebook_that_the_user_works_in_is_read_cell_by_cell(tmp_path: Path) -> None:
    async with room(tmp_path, *cells()) as there:
        assert result(await there.call("notebook_read")) == READING


@pytest.mark.parametrize(
    ("which", "numbers"), [("3", "3"), ("b", "3"), ("2-4", "234"), ("1, 4-9", "145"), ("d,a", "25"), ("2-2,t", "12")]
)
async def test_only_the_cells_that_are_asked_for_are_read(tmp_path: Path, which: str, numbers: str) -> None:
    async with room(tmp_path, *cells()) as there:
        told = result(await there.call("notebook_read", cells=which))
        assert [number for number in "12345" if f"--- cell {number} [" in told] == list(numbers)


async def test_a_cell_read_by_itself_comes_with_its_images_and_all_of_its_output(tmp_path: Path) -> None:
    long = printed("begin" + "x" * 10_000 + "end")
    async with room(tmp_path, code("a", "f()", PLOT, long, count=1)) as there:
        received = await there.ask([{"tool": "notebook_read", "arguments": {"cells": "1"}}])
        assert [one.content.base64 for one in received if isinstance(one.content, ImageContent)] == [PNG]
        assert "x" * 10_000 in result(called(received)[0])
        assert "characters left out" in result(await there.call("notebook_read"))


async def test_of_a_long_notebook_outputs_are_cut_before_sources_and_no_cell_is_torn(tmp_path: Path) -> None:
    many = [code(f"c{n}", f"f({n})", printed("x" * 3000), count=n) for n in range(1, 61)]
    async with room(tmp_path, *many) as there:
        told = result(await there.call("notebook_read"))
        assert "[outputs are cut to 100 characters a cell]" in told
        assert all(f"\nf({n})" in told for n in range(1, 61))
    long = [code(f"c{n}", f"f({n})" + "#" * 900) for n in range(1, 201)]
    async with room(tmp_path, *long) as there:
        told = result(await there.call("notebook_read"))
        last = told.count("--- cell")
        assert told.endswith(f"[cells from {last + 1} on are left out: go on with cells={last + 1}-200]")
        assert f"--- cell {last + 1} [" in result(await there.call("notebook_read", cells=f"{last + 1}-200"))


async def test_without_an_active_notebook_the_open_ones_are_named(tmp_path: Path) -> None:
    async with room(tmp_path, page=Page({})) as there:
        done = await there.call("notebook_read")
        assert (done.error, result(done)) == (
            True,
            "You were not asked in a notebook. Give the path of one.",
        )


async def test_a_notebook_can_be_named_as_models_write_paths(tmp_path: Path) -> None:
    async with room(tmp_path, *cells()) as there:
        for path in (PATH, f"./{PATH}", str(tmp_path / PATH), "work/../work/nb.ipynb"):
            assert result(await there.call("notebook_read", path=path)) == READING


async def test_notebooks_are_not_offered_where_there_are_none(tmp_path: Path) -> None:
    rules: list[dict[str, Any]] = [{"message": "", "reply": [{"tool": "notebook_read"}]}, {"result": "", "reply": []}]
    async with desk(tmp_path, rules) as table:
        (done,) = called(await answer(await table.client(), "go"))
        assert "There is no tool 'notebook_read'" in result(done)
        assert "`notebook_read`" not in (await table.host.turns.draft("chat")).system
    async with room(tmp_path) as there:
        assert "`notebook_read`" in (await there.table.host.turns.draft("another")).system


# -- running


async def test_cells_run_in_the_notebook_and_their_outputs_are_told(tmp_path: Path) -> None:
    async with room(tmp_path, *cells(), read=False) as there:
        done = await there.call("notebook_run_cells", cells=["d", 2])
        assert not done.error
        assert "--- cell 5 [d]: code, execution 7 ---\nlater()\n--- output of cell 5 ---\nran later()" in result(done)
        assert "--- cell 2 [a]: code, execution 8 ---\nx = 1\n--- output of cell 2 ---\nran x = 1" in result(done)
        assert there.page.books[PATH][4].outputs == (printed("ran later()"),)


async def test_a_run_shows_the_source_of_a_cell_only_when_the_model_does_not_know_it(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x = 1"), code("b", "y = 2"), read=False) as there:
        await there.call("notebook_read", cells="1")
        done = await there.call("notebook_run_cells", cells=[1, 2])
        assert "--- cell 1 [a]: code, execution 7 ---\n--- output of cell 1 ---\nran x = 1" in result(done)
        assert "--- cell 2 [b]: code, execution 8 ---\ny = 2\n--- output of cell 2 ---" in result(done)
        again = await there.call("notebook_run_cells", cells=[1, 2])
        assert "\ny = 2\n--- output" not in result(again)


async def test_a_cell_that_the_user_changed_while_it_ran_is_shown_with_its_new_source(tmp_path: Path) -> None:
    page = Page({PATH: [code("a", "x = 1")]}, hold=asyncio.Event())
    async with room(tmp_path, page=page) as there:
        running = asyncio.ensure_future(there.call("notebook_run_cells", cells=[1]))
        async with asyncio.timeout(PATIENCE):
            await page.running.wait()
        page.type("a", "x = 3")
        assert page.hold is not None
        page.hold.set()
        assert "\nx = 3\n--- output" in result(await running)


async def test_the_pictures_of_a_run_are_in_its_result_each_with_its_name(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "plot()"), code("b", "x"), code("c", "plot(); fail")) as there:
        received = await there.ask([{"tool": "notebook_run_cells", "arguments": {"cells": ["a", "b", "c"]}}])
        (done,) = called(received)
        assert "<Figure>\n[picture 1 of cell 1]\nran plot()" in result(done)
        assert "<Figure>\n[picture 1 of cell 3]\nE: no" in result(done)
        assert [one.content.base64 for one in received if isinstance(one.content, ImageContent)] == [PNG, PNG]
        sent = await pictures_of_results(there)
        assert [image.name for image in sent] == ["picture 1 of cell 1", "picture 1 of cell 3"]


async def test_of_many_pictures_the_last_four_are_sent_and_the_others_can_be_read(tmp_path: Path) -> None:
    async with room(tmp_path, *(code(id, "plot()") for id in "abcdef")) as there:
        done = await there.call("notebook_run_cells", cells=list("abcdef"))
        assert result(done).count("[image/png: notebook_read of this cell alone shows it to you]") == 2
        sent = await pictures_of_results(there)
        assert [image.name for image in sent] == [f"picture 1 of cell {number}" for number in (3, 4, 5, 6)]
        assert "[picture 1 of cell 2]" in result(await there.call("notebook_read", cells="2"))


async def pictures_of_results(there: Room) -> list[ImagePart]:
    """The pictures in the results of tools that the model would read with the next prompt."""
    messages = (await there.table.host.turns.draft("chat")).messages
    parts = [part for message in messages for part in message.parts]
    return [image for part in parts if isinstance(part, ToolResultPart) for image in part.images]


async def test_a_failing_cell_ends_the_run_and_the_rest_is_told_as_not_run(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "x"), code("b", "fail"), code("c", "y")) as there:
        done = await there.call("notebook_run_cells", cells=[1, 2, 3])
        assert done.error
        assert result(done).startswith("A cell of work/nb.ipynb failed:")
        assert "--- output of cell 2 ---\nE: no" in result(done)
        assert result(done).endswith("Not run: cell 3.")


async def test_stopping_the_turn_interrupts_the_cells(tmp_path: Path) -> None:
    page = Page({PATH: [code("a", "x")]}, hold=asyncio.Event())
    async with room(tmp_path, page=page) as there:

        async def stop() -> None:
            await page.running.wait()
            await there.client.stop("chat")

        stopping = asyncio.create_task(stop())
        received = await there.ask([{"tool": "notebook_run_cells", "arguments": {"cells": [1]}}])
        await stopping
        assert called(received)[0].error
        async with asyncio.timeout(PATIENCE):
            await page.interrupted.wait()


async def test_a_cell_that_waits_for_the_answer_is_not_made_to_wait_for_ever(tmp_path: Path) -> None:
    async with room(tmp_path, *cells()) as there:
        there.client = await there.table.client(Notebook())
        done = await there.call("notebook_run_cells", cells=[5])
        assert (done.error, "Use run_code" in result(done)) == (True, True)
        assert not there.page.running.is_set()
        there.page.books[PATH].pop(3)
        assert not (await there.call("notebook_run_cells", cells=[4])).error


async def test_reading_needs_no_approval_by_default_and_running_and_editing_do(tmp_path: Path) -> None:
    from jupyter_eca.config import read_config
    from jupyter_eca.engine.approval.policy import decide

    policy = read_config((tmp_path,), home=tmp_path).tool_call.approval
    async with room(tmp_path) as there:
        specs = [
            tool.spec for name, tool in there.table.host.toolbox.get_tools().items() if name.startswith("notebook_")
        ]
        verdicts = {spec.name: decide(policy, spec, {}, frozenset()).decision for spec in specs}
        assert [name for name, verdict in verdicts.items() if verdict == "allow"] == ["notebook_read"]
        assert len(specs) == 8


# -- making


async def test_a_new_notebook_is_valid_has_the_kernel_of_the_others_and_is_shown(tmp_path: Path) -> None:
    spec = {"name": "julia-1.11", "display_name": "Julia 1.11", "language": "julia"}
    made: list[dict[str, Any]] = [{"cell_type": "markdown", "source": "# New"}, {"source": "a = 1\nb = 2\n"}]
    async with room(tmp_path, *cells()) as there:
        (tmp_path / PATH).write_text(json.dumps({"cells": [], "metadata": {"kernelspec": spec}}))
        done = await there.call("notebook_create", path="new/b.ipynb", cells=made)
        assert result(done) == "Created new/b.ipynb: 2 cells, kernel julia-1.11."
        assert isinstance(done.details, FileChangeDetails)
        assert done.details.diff.startswith("--- /dev/null\n+++ b/new/b.ipynb\n")
        assert there.page.shown == ["new/b.ipynb"]
    book: dict[str, Any] = json.loads((tmp_path / "new/b.ipynb").read_text())
    validate(book)
    assert [cell["source"] for cell in book["cells"]] == [["# New"], ["a = 1\n", "b = 2\n"]]
    assert [cell["cell_type"] for cell in book["cells"]] == ["markdown", "code"]
    assert book["metadata"]["kernelspec"] == spec


async def test_a_new_notebook_among_none_is_for_python(tmp_path: Path) -> None:
    async with room(tmp_path, page=Page({})) as there:
        assert result(await there.call("notebook_create", path="a.ipynb", cells=["1"])).endswith("kernel python3.")


@pytest.mark.parametrize(
    ("path", "reason"),
    [("old.ipynb", "exists already"), ("new.txt", "does not end with .ipynb"), ("../a.ipynb", "outside")],
)
async def test_a_new_notebook_never_takes_the_place_of_a_file(tmp_path: Path, path: str, reason: str) -> None:
    (tmp_path / "old.ipynb").write_text("mine")
    async with room(tmp_path) as there:
        done = await there.call("notebook_create", path=path)
        assert done.error
        assert reason in result(done)
        assert (tmp_path / "old.ipynb").read_text() == "mine"


async def test_a_notebook_file_is_not_edited_as_text_and_the_model_learns_what_to_use(tmp_path: Path) -> None:
    async with room(tmp_path, *cells()) as there:
        (tmp_path / PATH).write_text('{"cells": []}')
        done = await there.call("edit_file", path=PATH, original_content="[]", new_content="[1]")
        assert "notebook_change" in result(done)


async def test_a_notebook_that_is_read_or_searched_as_a_file_is_the_open_one(tmp_path: Path) -> None:
    async with room(tmp_path, code("a", "new_needle = 1"), read=False) as there:
        saved: dict[str, Any] = {
            "cell_type": "code",
            "id": "a",
            "metadata": {},
            "source": "old_needle = 1",
            "outputs": [],
        }
        (tmp_path / PATH).write_text(json.dumps({"cells": [saved], "metadata": {}, "nbformat": 4}))
        read = result(await there.call("read_file", path=PATH))
        assert "--- cell 1 [a]: code, not run ---\nnew_needle = 1" in read
        assert (
            result(await there.call("grep", pattern="needle", path="work"))
            == f"{PATH} cell 1 [a] line 1: new_needle = 1"
        )
        known = (await there.table.host.chats.load("chat")).known_versions
        assert known.compare(make_cell_key(PATH, "a"), "new_needle = 1") is Version.CURRENT
