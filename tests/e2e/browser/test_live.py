"""A notebook that is open in JupyterLab is read, edited and run by the assistant under the user's eyes and hands."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from jupyter_eca.protocol.base import Done
from jupyter_eca.protocol.notebook import (
    CellState,
    CellType,
    DeleteCell,
    EditCell,
    InsertCell,
    MoveCell,
    NewCell,
    NotebookOpenParams,
    NotebookRunResult,
    PutCell,
    RunStatus,
)
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.wire import Refused, Wire, ids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

_numbers = count()


def opened(page: Page, lab: Lab, sources: Sequence[str], path: str = "") -> tuple[Wire, Notebook]:
    """A notebook with a kernel of its own, which is ready, and the panel connected beside it."""
    wire = Wire(page, path or f"live{next(_numbers)}.ipynb")
    notebook = Notebook.open(page, lab, sources, wire.path)
    Panel.show(page)
    return wire, notebook


def test_a_page_says_which_notebooks_it_has_and_which_is_worked_in(page: Page, lab: Lab) -> None:
    wire, _ = opened(page, lab, ["x = 1"], "first.ipynb")
    panel = Panel(page)
    assert wire.greeting["capabilities"]["codeAssistant"]["notebook"] is True
    lab.write_notebook("sub/second.ipynb", ["y = 2"])
    wire.ask("notebook/open", NotebookOpenParams(path="sub/second.ipynb"), Done)
    assert [(info.path, info.active) for info in wire.list()] == [("sub/second.ipynb", True), ("first.ipynb", False)]
    page.get_by_role("tab", name="first.ipynb").click()
    panel.box.click()
    infos = wire.list()
    assert [(info.path, info.active, info.language) for info in infos] == [
        ("first.ipynb", True, "python"),
        ("sub/second.ipynb", False, "python"),
    ]
    assert infos[0].kernel_id is not None


def test_a_notebook_is_read_as_it_stands(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["print('hi')", "x = 1"])
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.cell(0).locator(".cm-content").click()
    page.keyboard.press("Control+a")
    document = wire.read()
    first, second = document.cells
    assert (first.state, first.execution_count) == (CellState.RAN, 1)
    assert first.outputs == ({"output_type": "stream", "name": "stdout", "text": "hi\n"},)
    assert (second.state, second.outputs) == (CellState.NEVER_RUN, ())
    assert (document.language, document.kernel_status) == ("python", "idle")
    assert document.active_cell_id == "c0"
    assert document.selection is not None
    assert document.selection.text == "print('hi')"
    page.keyboard.press("End")
    page.keyboard.type(" ")
    page.keyboard.type("# more")
    assert wire.read().cells[0].state is CellState.EDITED
    wire.path = "other.ipynb"
    with pytest.raises(Refused, match=r"^other.ipynb is not open in JupyterLab$"):
        wire.read()


def test_an_edit_is_in_the_page_at_once_marked_and_one_key_takes_it_back(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["print(1)", "x = 1", "y = 2"])
    notebook.run(0)
    notebook.wait_until_run(0)
    document = wire.edit(
        EditCell(cell_id="c0", was="print(1)", source="print(2)"),
        InsertCell(index=1, cell=NewCell(id="new", cell_type=CellType.MARKDOWN, source="# A *title*")),
        MoveCell(cell_id="c2", index=2),
        DeleteCell(cell_id="c1", was="x = 1"),
    )
    assert ids(document.cells) == ["c0", "new", "c2"]
    assert (document.cells[0].state, document.cells[0].execution_count) == (CellState.EDITED, 1)
    assert notebook.sources() == ["print(2)", "# A *title*", "y = 2"]
    assert notebook.output(0).strip() == "1"
    expect(notebook.cell(1).get_by_role("heading", name="A title")).to_be_visible()
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(3)
    notebook.cell(0).locator(".jp-InputPrompt").click()
    page.keyboard.press("z")
    assert notebook.sources() == ["print(1)", "x = 1", "y = 2"]
    page.keyboard.press("Shift+z")
    assert notebook.sources() == ["print(2)", "# A *title*", "y = 2"]


def test_ctrl_z_in_the_cell_takes_an_edit_of_it_back_and_leaves_what_was_typed(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["x = 1", "y = 2"])
    editor = notebook.cell(0).locator(".cm-content")
    editor.click()
    page.keyboard.press("End")
    page.keyboard.type("0")
    wire.edit(
        EditCell(cell_id="c0", was="x = 10", source="x = 10\nassert x"),
        EditCell(cell_id="c1", was="y = 2", source="y = 3"),
    )
    expect(editor).to_be_focused()
    assert notebook.cursor() == (0, "edit", 0)
    page.keyboard.press("Control+z")
    assert notebook.sources() == ["x = 10", "y = 3"]
    page.keyboard.press("Control+z")
    assert notebook.sources() == ["x = 1", "y = 3"]
    notebook.execute("notebook:undo-cell-action")
    assert notebook.sources() == ["x = 1", "y = 2"]


@pytest.mark.nightly
def test_an_edit_of_what_the_user_changed_meanwhile_changes_nothing(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["x = 1", "y = 2"])
    notebook.cell(1).locator(".cm-content").click()
    page.keyboard.press("End")
    page.keyboard.type("0")
    with pytest.raises(Refused, match=r"^cell c1 was changed meanwhile; it is now:\ny = 20$"):
        wire.edit(
            EditCell(cell_id="c0", was="x = 1", source="x = 5"),
            EditCell(cell_id="c1", was="y = 2", source="y = 5"),
        )
    with pytest.raises(Refused, match=r"^cell c9 is gone$"):
        wire.edit(DeleteCell(cell_id="c9", was=""))
    assert notebook.sources() == ["x = 1", "y = 20"]
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(0)
    page.keyboard.press("Control+z")
    assert notebook.sources() == ["x = 1", "y = 2"], "one key takes back what was typed, as if nothing had been asked"
    page.keyboard.press("Control+Shift+z")
    assert notebook.sources() == ["x = 1", "y = 20"]


@pytest.mark.nightly
def test_a_mark_goes_when_the_user_runs_or_edits_the_cell(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["x = 1", "y = 2", "z = 3"])
    wire.edit(
        EditCell(cell_id="c0", was="x = 1", source="x = 5"),
        EditCell(cell_id="c1", was="y = 2", source="y = 5"),
        EditCell(cell_id="c2", was="z = 3", source="z = 5"),
    )
    wire.run("c0", "c1", "c2")
    marked = page.locator(".jp-Cell.eca-mod-changed")
    expect(marked).to_have_count(3)
    notebook.run(0)
    notebook.wait_until_run(0)
    expect(marked).to_have_count(2)
    notebook.cell(1).locator(".cm-content").click()
    page.keyboard.type("# mine ")
    expect(marked).to_have_count(1)
    wire.edit(PutCell(index=2, cell=wire.read().cells[2].model_copy(update={"source": "z = 3"})))
    expect(marked).to_have_count(0)


@pytest.mark.nightly
def test_a_deleted_cell_is_put_back_with_its_output(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["print('kept')", "x = 1"])
    notebook.run(0)
    notebook.wait_until_run(0)
    before = wire.read()
    wire.edit(DeleteCell(cell_id="c0", was="print('kept')"))
    assert notebook.sources() == ["x = 1"]
    after = wire.edit(PutCell(index=0, cell=before.cells[0]))
    assert after.cells == before.cells
    notebook.wait_for_output(0, "kept")


@pytest.mark.nightly
def test_a_cell_that_was_edited_and_run_is_put_back_as_it_was(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["print('kept')", "x = 1"])
    wire.run("c0")
    before = wire.read()
    wire.edit(EditCell(cell_id="c0", was="print('kept')", source="print('lost')\n1"))
    wire.run("c0")
    notebook.wait_for_output(0, "lost")
    after = wire.edit(PutCell(index=0, cell=before.cells[0], was="print('lost')\n1"))
    assert after.cells == before.cells
    assert notebook.output(0).strip() == "kept"


@pytest.mark.nightly
def test_a_notebook_that_cannot_be_written_is_not_edited(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["x = 1"])
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.context.model.readOnly = true; }")
    with pytest.raises(Refused, match=r"is read-only$"):
        wire.edit(DeleteCell(cell_id="c0", was="x = 1"))
    assert notebook.sources() == ["x = 1"]


@pytest.mark.nightly
def test_cells_run_as_by_hand_up_to_the_first_that_fails(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["print('one')", "1 / 0", "print('three')"])
    editor = notebook.cell(2).locator(".cm-content")
    editor.click()
    result = wire.run("c0", "c1", "c2")
    assert result.status is RunStatus.ERROR
    assert ids(result.ran) == ["c0", "c1"]
    assert result.ran[0].outputs[0]["text"] == "one\n"
    assert result.ran[1].outputs[0]["ename"] == "ZeroDivisionError"
    assert notebook.output(0).strip() == "one"
    assert "ZeroDivisionError" in notebook.output(1)
    assert notebook.output(2) == ""
    expect(editor).to_be_focused()
    assert wire.run("c2").status is RunStatus.OK


@pytest.mark.nightly
def test_a_run_that_is_taken_back_interrupts_the_kernel(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["import time\nprint('begun', flush=True)\ntime.sleep(600)", "print('two')"])
    run = wire.start_run("c0", "c1")
    notebook.wait_for_output(0, "begun")
    assert wire.read().cells[0].state is CellState.RUNNING
    with pytest.raises(Refused, match="cell c0 is running"):
        wire.edit(MoveCell(cell_id="c0", index=1))
    wire.take_back(run)
    notebook.wait_for_output(0, "KeyboardInterrupt")
    notebook.wait_until_idle()
    assert notebook.output(1) == ""
    assert wire.run("c1").status is RunStatus.OK


@pytest.mark.nightly
def test_a_run_that_is_taken_back_in_the_queue_leaves_the_cell_of_the_user_alone(page: Page, lab: Lab) -> None:
    wait = (
        "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('go'): time.sleep(0.05)\nprint('went')"
    )
    wire, notebook = opened(page, lab, [wait, "time.sleep(600)"])
    notebook.run(0)
    notebook.wait_for_output(0, "begun")
    interrupts: list[str] = []
    page.on("request", lambda request: interrupts.extend([request.url] if request.url.endswith("/interrupt") else []))
    run = wire.start_run("c1")
    notebook.wait_until("window.jupyterapp.shell.currentWidget.content.widgets[1].model.executionState === 'running'")
    assert [cell.state for cell in wire.read().cells] == [CellState.RUNNING, CellState.QUEUED]
    wire.take_back(run)
    wire.read()
    assert interrupts == []
    (lab.root / "go").touch()
    notebook.wait_for_output(1, "KeyboardInterrupt")
    notebook.wait_for_output(0, "went")
    (lab.root / "go").unlink()


@pytest.mark.nightly
def test_a_cell_that_the_user_runs_anew_ends_the_run_and_is_not_taken_for_a_dead_kernel(page: Page, lab: Lab) -> None:
    wait = (
        "import os, time\nprint('begun', flush=True)\nwhile not os.path.exists('on'): time.sleep(0.05)\nprint('went')"
    )
    wire, notebook = opened(page, lab, [wait, "print('two')"])
    run = wire.start_run("c0", "c1")
    notebook.wait_for_output(0, "begun")
    notebook.run(0)
    with pytest.raises(Refused, match="somebody else ran cell c0 again"):
        wire.answer(run, NotebookRunResult)
    assert wire.read().cells[0].state is CellState.RUNNING
    (lab.root / "on").touch()
    notebook.wait_for_output(0, "went")
    assert notebook.output(1) == ""
    (lab.root / "on").unlink()


@pytest.mark.nightly
def test_a_kernel_that_dies_or_is_not_there_ends_a_run_with_an_error(page: Page, lab: Lab) -> None:
    wire, notebook = opened(page, lab, ["import os\nos._exit(1)", "print('two')"])
    with pytest.raises(Refused, match="the kernel died or was restarted while cell c0 ran"):
        wire.run("c0", "c1")
    notebook.page.get_by_role("button", name="Ok", exact=True).click()
    notebook.wait_until_idle()
    assert wire.run("c1").status is RunStatus.OK
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    with pytest.raises(Refused, match="this notebook has no kernel"):
        wire.run("c1")


@pytest.mark.nightly
def test_a_notebook_is_opened_at_a_cell_and_works_with_the_panel_closed(page: Page, lab: Lab) -> None:
    wire, _ = opened(page, lab, ["x = 1"], "first.ipynb")
    lab.write_notebook("long.ipynb", [f"# {n}" + "\n" * 20 for n in range(30)])
    page.evaluate("() => window.jupyterapp.commands.execute('application:toggle-right-area')")
    expect(page.locator(".eca-Panel")).not_to_be_visible()
    wire.ask("notebook/open", NotebookOpenParams(path="long.ipynb", cell_id="c25"), Done)
    expect(page.locator(".jp-Cell[data-windowed-list-index='25']")).to_be_in_viewport()
    page.get_by_role("tab", name="first.ipynb").click()
    wire.path = "long.ipynb"
    document = wire.edit(InsertCell(index=0, cell=NewCell(id="n", source="first")))
    assert document.cells[0].id == "n"
    assert wire.list()[0].path == "first.ipynb"
