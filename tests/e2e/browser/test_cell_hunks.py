"""Cells that go, texts that are rendered, pages that are loaded anew: what is proposed and was done stands where it
belongs, in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.review import (
    BEFORE,
    LINES,
    REWRITTEN,
    TEXT,
    bar,
    hunks,
    make_settings,
    press,
    wait_for,
    write_at_the_end,
)

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab, LabSettings

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    """Changes are decided after they are made."""
    return make_settings(tmp_path_factory, review="after")


@pytest.mark.nightly
def test_a_cell_that_the_assistant_deleted_leaves_its_place_and_comes_back_to_it_with_its_output(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "print(2)", "z = 3"], "deleted.ipynb")
    notebook.run(1)
    notebook.wait_for_output(1, "2")
    panel = Panel.show(page)
    panel.ask("delete it")
    expect(bar(notebook, 1)).to_contain_text("wants to delete this cell", timeout=SECONDS * 1000)
    press(notebook, 1, "Reject")
    panel.sees("All is done.")
    panel.wait_until_idle()
    wait_for(page.locator(".eca-CellBar"), 0)
    assert notebook.sources() == ["x = 1", "print(2)", "z = 3"]

    panel.ask("delete it after all")
    wait_for(bar(notebook, 1), 1)
    keep(page, "hunks-1-wants-to-delete")
    press(notebook, 1, "Approve")
    notebook.wait_for_sources(["x = 1", "z = 3"])
    ghost = bar(notebook, 1)
    expect(ghost).to_contain_text("The assistant deleted a cell here", timeout=SECONDS * 1000)
    expect(ghost.locator("pre")).to_have_text("print(2)")
    panel.wait_until_idle()
    keep(page, "hunks-2-deleted")
    # It comes back where its place is seen, whatever was inserted beside that meanwhile.
    notebook.cell(0).locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.keyboard.press("b")
    notebook.wait_for_sources(["x = 1", "", "z = 3"])
    press(notebook, 1, "Undo", "deleted a cell here")
    panel.sees("Restored: deleted.ipynb cell")
    notebook.wait_for_sources(["x = 1", "print(2)", "", "z = 3"])
    notebook.wait_for_output(1, "2")
    wait_for(page.locator(".eca-CellBar"), 0)


@pytest.mark.nightly
def test_text_that_was_changed_is_read_rendered_and_its_hunks_are_one_click_away(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [TEXT, "x = 1"], "text.ipynb", markdown=[0])
    title = notebook.cell(0).get_by_role("heading")
    expect(title).to_contain_text("Sales")
    panel = Panel.show(page)
    panel.ask("say it better")
    panel.sees("All is done.")

    expect(title).to_contain_text("Sales of 2026", timeout=SECONDS * 1000)
    expect(bar(notebook, 0)).to_contain_text("2 changes of the assistant")
    keep(page, "hunks-4-text-changed")
    press(notebook, 0, "Show")
    write_at_the_end(notebook, 0, "Of all cities.", " All!")
    hunks(notebook, 0).first.get_by_role("button", name="Undo").click()
    half = REWRITTEN.replace("# Sales of 2026", "# Sales").replace("cities.", "cities. All!")
    notebook.wait_for_sources([half, "x = 1"])
    hunks(notebook, 0).get_by_role("button", name="Keep").click()
    wait_for(page.locator(".eca-CellBar"), 0)
    notebook.wait_for_sources([half, "x = 1"])
    wait_for(panel.node.get_by_role("region", name="Changes of this turn"), 0)


@pytest.mark.nightly
def test_a_cell_that_is_half_decided_and_a_call_that_waits_are_there_again_in_a_page_that_is_loaded_anew(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "anew.ipynb")
    panel = Panel.show(page)
    panel.ask("only the first")
    wait_for(hunks(notebook, 0).get_by_role("button", name="Keep"), 2)
    write_at_the_end(notebook, 0, "c = 3", " + 0")
    hunks(notebook, 0).first.get_by_role("button", name="Keep").click()
    wait_for(hunks(notebook, 0), 1)
    panel.sees("All is done.")
    panel.ask("delete the second")
    expect(bar(notebook, 1)).to_contain_text("wants to delete this cell", timeout=SECONDS * 1000)
    notebook.save()

    page.reload()
    notebook.wait_until("window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length === 2")
    panel = Panel.show(page)
    expect(panel.message("delete the second")).to_be_visible(timeout=SECONDS * 1000)
    expect(bar(notebook, 1)).to_contain_text("wants to delete this cell", timeout=SECONDS * 1000)
    press(notebook, 1, "Reject")
    panel.wait_until_idle()
    wait_for(hunks(notebook, 0), 1)
    expect(hunks(notebook, 0).locator("pre")).to_have_text("e = 5")
    keep(page, "hunks-5-anew")
    hunks(notebook, 0).get_by_role("button", name="Undo").click()
    notebook.wait_for_sources(["\n".join(["a = 10", "b = 2", "c = 3 + 0", *LINES[3:]]), "y = 2"])
    wait_for(page.locator(".eca-CellBar"), 0)
