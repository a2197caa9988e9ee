"""What the assistant changed in cells, and wants to change, shown and decided in the cells of a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.review import (
    AFTER,
    BEFORE,
    PICTURE,
    TEXT,
    bar,
    hunks,
    lab_settings,
    press,
    wait_for,
    write_at_the_end,
)

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
    # The card in the panel says so, too, and what helps.
    warning = panel.call("waiting").locator(".eca-Tool-warning")
    expect(warning).to_contain_text("has changed since the call was proposed")
    expect(warning.get_by_role("button", name="Ask again")).to_be_visible()
    press(notebook, 1, "Reject")
    press(notebook, 0, "Approve")
    panel.sees("All is done.")
    notebook.wait_for_sources([AFTER, "y = 2 # mine"])


@pytest.mark.nightly
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


@pytest.mark.nightly
def test_parts_of_a_change_of_two_cells_are_left_out_in_the_cells_and_approved_in_the_chat(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "parts.ipynb")
    panel = Panel.show(page)
    panel.ask("both at once")
    wait_for(hunks(notebook, 0), 2)
    expect(hunks(notebook, 1).locator("pre")).to_have_text(["y = 20"])
    expect(bar(notebook, 1)).to_contain_text("It is one of 2 changes")
    added = panel.call("waiting").locator(".eca-Diff .eca-mod-add .eca-Diff-text")
    expect(added).to_have_count(3)
    overview = page.locator(".eca-ReviewBar-words")
    expect(overview).to_have_text("3 proposed changes")
    hunks(notebook, 0).last.get_by_role("button", name="Leave out").click()
    expect(panel.button("Approve 2 of 3 parts")).to_be_visible()
    # The chat shows what is left, and the line below the notebook counts it.
    expect(added).to_have_count(2)
    expect(overview).to_have_text("2 proposed changes · 1 left out")
    # A second press of Enter must not approve: the head of the card gets the focus.
    bar(notebook, 1).get_by_role("button", name="Decide in the chat").focus()
    page.keyboard.press("Enter")
    expect(panel.call("waiting").locator(".eca-Tool-head")).to_be_focused()
    page.keyboard.press("Enter")
    expect(panel.button("Approve 2 of 3 parts")).to_be_visible()
    hunks(notebook, 1).get_by_role("button", name="Leave out").click()
    hunks(notebook, 0).first.get_by_role("button", name="Leave out").click()
    # Nothing would remain.
    expect(panel.button("Approve 0 of 3 parts")).to_be_disabled()
    expect(panel.call("waiting")).to_contain_text("All parts are left out.")
    hunks(notebook, 0).first.get_by_role("button", name="Take in again").click()
    approve = panel.button("Approve 1 of 3 parts")
    approve.focus()
    page.keyboard.press("Enter")
    panel.sees("All is done.")
    notebook.wait_for_sources([BEFORE.replace("a = 1", "a = 10"), "y = 2"])
    panel.wait_until_idle()
    expect(bar(notebook, 0)).to_contain_text("Changed by the assistant")
    wait_for(page.locator(".eca-CellBar"), 1)
    card = panel.call("done").filter(has_text="Change 1 cell of parts.ipynb")
    card.get_by_role("button").first.click()
    expect(card.locator(".eca-Diff .eca-mod-add .eca-Diff-text")).to_have_text(["added: a = 10"])


@pytest.mark.nightly
def test_what_was_left_out_is_left_out_after_a_reload(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "reload.ipynb")
    panel = Panel.show(page)
    panel.ask("both at once")
    wait_for(hunks(notebook, 0), 2)
    hunks(notebook, 0).last.get_by_role("button", name="Leave out").click()
    expect(panel.button("Approve 2 of 3 parts")).to_be_visible()
    page.reload()
    panel = Panel.show(page)
    expect(panel.button("Approve 2 of 3 parts")).to_be_visible(timeout=SECONDS * 1000)
    expect(panel.call("waiting").locator(".eca-Diff .eca-mod-add .eca-Diff-text")).to_have_count(2)
    expect(hunks(notebook, 0).last).to_contain_text("Left out")


@pytest.mark.nightly
def test_a_cell_that_is_moved_and_edited_shows_both_and_each_can_be_left_out(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["y = 2", BEFORE], "moved.ipynb")
    panel = Panel.show(page)
    panel.ask("move and edit")
    wait_for(hunks(notebook, 1), 2)
    wait_for(bar(notebook, 1), 2)
    move = "The assistant wants to move this cell from place 2 to 1"
    press(notebook, 1, "Leave out", move)
    expect(bar(notebook, 1).filter(has_text=f"Left out: {move}")).to_be_visible()
    hunks(notebook, 1).last.get_by_role("button", name="Leave out").click()
    keep(page, "notebook-change-moved")
    expect(panel.button("Approve 1 of 3 parts")).to_be_visible()
    press(notebook, 1, "Take in again", "Left out")
    panel.button("Approve 2 of 3 parts").click()
    panel.sees("All is done.")
    notebook.wait_for_sources([BEFORE.replace("a = 1", "a = 10"), "y = 2"])


@pytest.mark.nightly
def test_several_changes_and_a_run_are_one_card_and_one_key_and_are_undone_together(page: Page, lab: Lab) -> None:
    before = ["prices = [1, 2]", "print(sum(prices))", "prices"]
    notebook = Notebook.open(page, lab, before, "sales.ipynb")
    panel = Panel.show(page)
    panel.ask("improve and run")
    card = panel.call("waiting")
    expect(card.locator(".eca-Tool-title")).to_have_text(
        "Change 2 cells of sales.ipynb, add 1, delete 1, run 3 in Python 3 (ipykernel)", timeout=SECONDS * 1000
    )
    removed = card.locator(".eca-Diff .eca-mod-remove .eca-Diff-text")
    expect(removed).to_have_text([f"removed: {line}" for line in (before[0], before[1], "Cell 3 · code", before[2])])
    expect(card.get_by_role("group", name="Cells that run").locator("dt")).to_have_text(["Cell 1", "Cell 2", "Cell 3"])
    keep(page, "notebook-change-card")
    panel.box.press("Control+Enter")
    panel.sees("All is done.")
    after = ["prices = [2, 3]", "print('total', sum(prices))", PICTURE]
    notebook.wait_for_sources(after)
    notebook.wait_for_output(1, "total 5")
    expect(notebook.cell(2).locator("img")).to_be_visible()
    panel.wait_until_idle()
    keep(page, "notebook-change-run")
    listed = panel.node.get_by_role("region", name="Changes of this turn")
    listed.get_by_role("button", name="Undo all").click()
    notebook.wait_for_sources(before)
    wait_for(page.locator(".eca-CellBar"), 0)
    assert notebook.output(1) == ""
