"""What the assistant changed in cells, and wants to change, shown and decided in the cells of a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.review import AFTER, BEFORE, TEXT, bar, hunks, lab_settings, press, wait_for, write_at_the_end

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

__all__ = ["lab_settings"]
pytestmark = pytest.mark.browser


def test_edits_are_seen_and_approved_in_the_cells(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"])
    panel = Panel.show(page)
    panel.ask("change them")
    wait_for(hunks(notebook, 0), 2)
    expect(hunks(notebook, 0).locator("pre")).to_have_text(["a = 10", "e = 50"])
    expect(notebook.cell(0).locator(".eca-Hunk-line.eca-mod-removed")).to_have_text(["a = 1", "e = 5"])
    wait_for(hunks(notebook, 1), 1)
    # An edit of one part has nothing that could be left out.
    expect(hunks(notebook, 1).get_by_role("button")).to_have_count(0)
    write_at_the_end(notebook, 1, "y = 2", " # mine")
    expect(bar(notebook, 1)).to_contain_text("the cell has changed since")
    press(notebook, 1, "Reject")
    press(notebook, 0, "Approve")
    panel.sees("All is done.")
    notebook.wait_for_sources([AFTER, "y = 2 # mine"])


def test_text_shows_its_source_while_a_change_of_it_is_decided(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [TEXT, "x = 1"], "proposed.ipynb", markdown=[0])
    title = notebook.cell(0).get_by_role("heading")
    expect(title).to_contain_text("Sales")
    panel = Panel.show(page)
    panel.ask("say it better")
    wait_for(hunks(notebook, 0), 2)
    expect(hunks(notebook, 0).locator("pre")).to_have_text(["# Sales of 2026", "By month."])
    expect(hunks(notebook, 0).first).to_be_visible()
    expect(notebook.cell(0).locator(".eca-Hunk-line.eca-mod-removed")).to_have_text(["# Sales", "By year."])
    # Hidden by whoever wants to read it; one click away.
    notebook.cell(0).locator(".cm-line").first.click()
    page.keyboard.press("Control+Enter")
    expect(title).to_be_visible()
    press(notebook, 0, "Show")
    expect(hunks(notebook, 0).first).to_be_visible()
    press(notebook, 0, "Approve")
    panel.sees("All is done.")
    expect(title).to_contain_text("Sales of 2026", timeout=SECONDS * 1000)


def test_cells_that_come_go_and_move_are_shown_where_they_do_and_decided_there(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["x = 1", "y = 2", "z = 3"], "order.ipynb")
    panel = Panel.show(page)
    panel.ask("order them")
    expect(bar(notebook, 2)).to_contain_text("wants to move this cell from place 3 to 1", timeout=SECONDS * 1000)
    expect(bar(notebook, 1).filter(has_text="wants to insert a cell here").locator("pre")).to_have_text("n = 0")
    press(notebook, 1, "Reject", "wants to delete this cell")
    press(notebook, 0, "Approve", "wants to change this cell")
    moving = page.locator(".eca-CellBar", has_text="wants to move")
    button = moving.get_by_role("button", name="Approve").element_handle()
    press(notebook, 1, "Approve", "wants to insert a cell here")
    # The button stays though its bar names another place, as somebody may be about to click it.
    expect(moving).to_contain_text("from place 4 to 1")
    assert button.is_visible()
    button.click()
    panel.sees("All is done.")
    notebook.wait_for_sources(["z = 3", "x = 10", "n = 0", "y = 2"])
    expect(bar(notebook, 0)).to_contain_text("Moved by the assistant from place", timeout=SECONDS * 1000)
    expect(bar(notebook, 1)).to_contain_text("Changed by the assistant")
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(3)
    panel.wait_until_idle()
    press(notebook, 2, "Hide", "Inserted by the assistant")
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(2)
    wait_for(page.locator(".eca-CellBar"), 2)
    press(notebook, 1, "Undo")
    panel.sees("Restored: order.ipynb cell")
    notebook.wait_for_sources(["z = 3", "x = 1", "n = 0", "y = 2"])
    press(notebook, 0, "Undo")
    notebook.wait_for_sources(["x = 1", "n = 0", "y = 2", "z = 3"])
    wait_for(page.locator(".eca-CellBar"), 0)
    wait_for(page.locator(".jp-Cell.eca-mod-changed"), 0)
