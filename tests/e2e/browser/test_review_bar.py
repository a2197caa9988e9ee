"""The bar of a notebook in which changes are undecided, and the marks beside its scroll bar, in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.review import AFTER, BEFORE, FAR, bar, hunks, make_settings, press, wait_for

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab, LabSettings

pytestmark = pytest.mark.browser

CELLS = [BEFORE, *["y = 2"] * FAR]
CHANGED = [AFTER, *["y = 2"] * (FAR - 1), "y = 20"]
# `full`: Lab removes the cells that cannot be seen from the page.
WINDOWING = """mode => {
  const { content } = window.jupyterapp.shell.currentWidget;
  content.notebookConfig = { ...content.notebookConfig, windowingMode: mode };
}"""
# Whether the element can be seen in the notebook, and is where it seems to be.
SEEN = """element => {
  const { left, top, width, height } = element.getBoundingClientRect();
  const found = document.elementFromPoint(left + width / 2, top + height / 2);
  return element === found || element.contains(found);
}"""


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    """Changes are decided after they are made."""
    return make_settings(tmp_path_factory, review="after", welcomeMessage="Bar")


def show_changed(page: Page, lab: Lab, name: str, windowing: str) -> Notebook:
    """Show a long notebook of which the first cell and the last were changed: two hunks and one."""
    notebook = Notebook.show(page, lab, CELLS, name)
    page.evaluate(WINDOWING, windowing)
    panel = Panel.show(page)
    panel.ask("far ones")
    panel.sees("All is done.")
    panel.wait_until_idle()
    notebook.wait_for_sources(CHANGED)
    return notebook


def review_bar(page: Page) -> Locator:
    return page.get_by_role("group", name="Changes of the assistant in this notebook")


@pytest.mark.parametrize("windowing", ["full", pytest.param("contentVisibility", marks=pytest.mark.nightly)])
def test_keys_go_from_change_to_change_and_keep_one_of_them(page: Page, lab: Lab, windowing: str) -> None:
    notebook = show_changed(page, lab, f"keys-{windowing}.ipynb", windowing)
    words = review_bar(page).get_by_role("status")
    expect(words).to_have_text("3 changes")
    notebook.cell(0).locator(".cm-content").click()
    page.keyboard.press("Escape")
    for number, hunk in enumerate([hunks(notebook, 0).first, hunks(notebook, 0).last, hunks(notebook, FAR)], 1):
        page.keyboard.press("Alt+F5")
        expect(words).to_have_text(f"Change {number} of 3")
        expect(hunk).to_be_focused()
        expect(hunk).to_be_in_viewport()
    keep(page, f"bar-far-{windowing}")
    page.keyboard.press("Alt+Shift+F5")
    expect(hunks(notebook, 0).last).to_be_focused()
    expect(hunks(notebook, 0).last).to_be_in_viewport()

    page.keyboard.press("Tab")
    expect(hunks(notebook, 0).last.get_by_role("button", name="Keep")).to_be_focused()
    page.keyboard.press("Enter")
    expect(words).to_have_text("2 changes")
    expect(page.locator(".jp-Notebook:focus-within")).to_have_count(1)
    page.keyboard.press("Alt+F5")
    expect(hunks(notebook, FAR)).to_be_focused()
    expect(words).to_have_text("Change 2 of 2")


@pytest.mark.nightly
def test_all_changes_are_undone_at_once_and_the_notebook_has_the_focus(page: Page, lab: Lab) -> None:
    notebook = show_changed(page, lab, "undo.ipynb", "contentVisibility")
    assert complaints(page, ".eca-ReviewBar") == []
    keep(page, "bar-changed")
    review_bar(page).get_by_role("button", name="Next change").click()
    expect(hunks(notebook, 0).first).to_be_focused()
    review_bar(page).get_by_role("button", name="Undo all").press("Enter")
    notebook.wait_for_sources(CELLS)
    wait_for(review_bar(page), 0)
    wait_for(page.locator(".eca-ScrollMap"), 0)
    wait_for(page.locator(".eca-CellBar"), 0)
    expect(page.locator(".jp-Notebook:focus-within")).to_have_count(1)


@pytest.mark.nightly
@pytest.mark.parametrize("windowing", ["full", pytest.param("contentVisibility", marks=pytest.mark.nightly)])
def test_each_changed_cell_has_a_mark_beside_the_scroll_bar_that_leads_to_it(
    page: Page, lab: Lab, windowing: str
) -> None:
    notebook = show_changed(page, lab, f"marks-{windowing}.ipynb", windowing)
    marks = page.locator(".eca-ScrollMap-mark")
    expect(marks).to_have_count(2)
    notebook.cell(0).locator(".cm-content").click()
    expect(hunks(notebook, FAR)).not_to_be_in_viewport()
    assert marks.last.evaluate(SEEN)
    # The first cell is at the top of the notebook. Lab estimates where the last one is, until it has drawn the others.
    first, last, strip = (found.bounding_box() for found in (marks.first, marks.last, page.locator(".eca-ScrollMap")))
    assert first
    assert last
    assert strip
    assert first["y"] - strip["y"] < 0.1 * strip["height"]
    assert first["y"] + first["height"] < last["y"]
    assert last["y"] + last["height"] <= strip["y"] + strip["height"]
    marks.last.click()
    expect(hunks(notebook, FAR)).to_be_focused()
    expect(hunks(notebook, FAR)).to_be_in_viewport()
    press(notebook, FAR, "Keep")
    expect(marks).to_have_count(1)
    page.keyboard.press("ControlOrMeta+Alt+Shift+K")
    wait_for(marks, 0)
    assert notebook.sources() == CHANGED


@pytest.mark.nightly
def test_proposed_changes_are_gone_through_and_are_not_approved_from_the_bar(page: Page, lab: Lab) -> None:
    """A deletion is proposed in any case."""
    notebook = Notebook.show(page, lab, ["x = 1", "y = 2"], "proposed.ipynb")
    panel = Panel.show(page)
    panel.ask("delete it")
    words = review_bar(page).get_by_role("status")
    expect(words).to_have_text("1 proposed change", timeout=SECONDS * 1000)
    expect(review_bar(page).get_by_role("button")).to_have_count(2)
    review_bar(page).get_by_role("button", name="Next change").click()
    expect(bar(notebook, 1)).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    notebook.wait_for_sources(["x = 1"])
    panel.sees("All is done.")
    # A change that was approved need not be decided again.
    wait_for(review_bar(page), 0)
