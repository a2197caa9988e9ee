"""What the assistant changed in cells, and wants to change, shown and decided in the cells of a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.review import BEFORE, LINES, bar, hunks, lab_settings, press, wait_for, write_at_the_end

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

__all__ = ["lab_settings"]
pytestmark = pytest.mark.browser


def test_edits_are_seen_and_approved_in_the_cells_and_then_kept_and_undone_hunk_by_hunk(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"])
    panel = Panel.show(page)
    panel.ask("change them")
    wait_for(hunks(notebook, 0), 2)
    expect(hunks(notebook, 0).locator("pre")).to_have_text(["a = 10", "e = 50"])
    expect(notebook.cell(0).locator(".eca-Hunk-line.eca-mod-removed")).to_have_text(["a = 1", "e = 5"])
    expect(hunks(notebook, 0).get_by_role("button")).to_have_count(0)
    wait_for(hunks(notebook, 1), 1)
    write_at_the_end(notebook, 1, "y = 2", " # mine")
    expect(bar(notebook, 1)).to_contain_text("the cell has changed since")
    press(notebook, 1, "Reject")
    press(notebook, 0, "Approve")
    panel.sees("All is done.")

    wait_for(hunks(notebook, 0), 2)
    expect(bar(notebook, 0)).to_contain_text("2 changes")
    expect(notebook.cell(0).locator(".eca-Hunk-line.eca-mod-added")).to_have_text(["a = 10", "e = 50"])
    expect(hunks(notebook, 0).locator("pre")).to_have_text(["a = 1", "e = 5"])
    write_at_the_end(notebook, 0, "c = 3", " + 0")
    wait_for(hunks(notebook, 0), 2)
    hunks(notebook, 0).first.get_by_role("button", name="Undo").click()
    typed = [*LINES[:2], "c = 3 + 0", *LINES[3:4], "e = 50"]
    notebook.wait_for_sources(["\n".join(typed), "y = 2 # mine"])
    wait_for(hunks(notebook, 0), 1)
    # The decision is one step, and once that is undone it is open again.
    page.keyboard.press("Control+z")
    notebook.wait_for_sources(["\n".join(["a = 10", *typed[1:]]), "y = 2 # mine"])
    wait_for(hunks(notebook, 0), 2)
    hunks(notebook, 0).first.get_by_role("button", name="Undo").click()
    hunks(notebook, 0).last.get_by_role("button", name="Keep").click()
    wait_for(page.locator(".eca-CellBar"), 0)
    notebook.wait_for_sources(["\n".join(typed), "y = 2 # mine"])
    wait_for(panel.node.get_by_role("region", name="Changes of this turn"), 0)
    wait_for(page.locator(".jp-Cell.eca-mod-changed"), 0)


def test_cells_that_come_go_and_move_are_shown_where_they_do_and_decided_there(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["x = 1", "y = 2", "z = 3"])
    panel = Panel.show(page)
    panel.ask("order them")
    expect(bar(notebook, 2)).to_contain_text("wants to move this cell from place 3 to 1", timeout=SECONDS * 1000)
    expect(bar(notebook, 1).filter(has_text="wants to insert a cell here").locator("pre")).to_have_text("n = 0")
    press(notebook, 1, "Reject", "wants to delete this cell")
    press(notebook, 0, "Approve", "wants to change this cell")
    press(notebook, 1, "Approve", "wants to insert a cell here")
    page.locator(".eca-CellBar", has_text="wants to move").get_by_role("button", name="Approve").click()
    panel.sees("All is done.")
    notebook.wait_for_sources(["z = 3", "x = 10", "n = 0", "y = 2"])
    expect(bar(notebook, 0)).to_contain_text("Moved by the assistant from place", timeout=SECONDS * 1000)
    expect(bar(notebook, 1)).to_contain_text("1 change of the assistant")
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(3)
    panel.wait_until_idle()
    press(notebook, 2, "Keep", "Inserted by the assistant")
    expect(page.locator(".jp-Cell.eca-mod-changed")).to_have_count(2)
    wait_for(page.locator(".eca-CellBar"), 2)
    press(notebook, 1, "Undo")
    panel.sees("Restored: notebook.ipynb cell")
    notebook.wait_for_sources(["z = 3", "x = 1", "n = 0", "y = 2"])
    press(notebook, 0, "Undo")
    notebook.wait_for_sources(["x = 1", "n = 0", "y = 2", "z = 3"])
    wait_for(page.locator(".eca-CellBar"), 0)
    wait_for(page.locator(".jp-Cell.eca-mod-changed"), 0)
