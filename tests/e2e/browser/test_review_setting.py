"""The setting `review`, chosen in the settings page of a real JupyterLab: a change is decided once, before it is made,
afterwards, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import are_kept, keep
from tests.e2e.browser.review import (
    AFTER,
    BEFORE,
    LINES,
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

THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', {theme})"
CHOICES = {
    "before": "Ask me before each edit",
    "after": "Edit at once, I keep or undo",
    "never": "Edit at once, do not ask me",
}


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return make_settings(tmp_path_factory, welcomeMessage="Review")


def keep_in_both_themes(page: Page, name: str) -> None:
    for theme in ("JupyterLab Dark", "JupyterLab Light") if are_kept() else ():
        page.evaluate(THEME, theme)
        page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
        keep(page, f"review-{name}-{theme.split()[-1]}")


def choose(page: Page, lab: Lab, setting: str) -> None:
    Panel.open(page, lab).button("Settings of the assistant").click()
    page.get_by_role("tab", name="Approval rules").click(timeout=SECONDS * 1000)
    body = page.locator(".eca-Settings-body")
    field = body.get_by_label("Edits of cells and files", exact=True)
    field.scroll_into_view_if_needed(timeout=SECONDS * 1000)
    if field.input_value() != setting:
        field.select_option(label=CHOICES[setting])
        body.get_by_role("button", name="Save: Edits of cells and files").click()
        expect(body.locator("form", has_text="Edits of cells and files").get_by_text("Saved.")).to_be_visible()
    expect(field.locator("option:checked")).to_have_text(CHOICES[setting])
    keep_in_both_themes(page, f"setting-{setting}")


def test_before_i_approve_what_i_see_part_by_part_and_am_not_asked_again(page: Page, lab: Lab) -> None:
    choose(page, lab, "before")
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "before.ipynb")
    panel = Panel.show(page)
    panel.ask("only the first")
    wait_for(hunks(notebook, 0), 2)
    # With the keyboard; the focus stays where it is.
    leave_out = hunks(notebook, 0).last.get_by_role("button", name="Leave out")
    leave_out.focus()
    page.keyboard.press("Enter")
    again = hunks(notebook, 0).last.get_by_role("button", name="Take in again")
    expect(again).to_be_focused()
    expect(bar(notebook, 0).get_by_role("button", name="Approve 1 of 2 parts")).to_be_visible()
    expect(panel.button("Approve 1 of 2 parts")).to_be_visible()
    keep_in_both_themes(page, "before")
    # With all parts left out there is nothing to approve, and each can be taken in again.
    hunks(notebook, 0).first.get_by_role("button", name="Leave out").click()
    expect(bar(notebook, 0).get_by_role("button")).to_have_text(["Reject"])
    hunks(notebook, 0).first.get_by_role("button", name="Take in again").click()
    press(notebook, 0, "Approve 1 of 2 parts")
    panel.sees("All is done.")
    part = BEFORE.replace("a = 1", "a = 10")
    notebook.wait_for_sources([part, "y = 2"])
    panel.wait_until_idle()
    wait_for(hunks(notebook, 0), 0)
    expect(bar(notebook, 0)).to_contain_text("Changed by the assistant")
    expect(bar(notebook, 0).get_by_role("button")).to_have_text(["Undo", "Hide"])
    expect(bar(notebook, 0).get_by_title("Keep this change")).to_have_text("Hide")
    listed = panel.node.get_by_role("region", name="Changes of this turn")
    expect(listed.get_by_role("button", name="Undo all")).to_be_visible()
    expect(listed.get_by_role("button", name="Keep")).to_have_count(0)
    keep_in_both_themes(page, "before-approved")
    press(notebook, 0, "Undo")
    notebook.wait_for_sources([BEFORE, "y = 2"])
    wait_for(page.locator(".eca-CellBar"), 0)
    wait_for(page.locator(".jp-Cell.eca-mod-changed"), 0)


@pytest.mark.nightly
def test_after_edits_are_made_at_once_and_i_keep_or_undo_them_hunk_by_hunk(page: Page, lab: Lab) -> None:
    choose(page, lab, "after")
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "after.ipynb")
    panel = Panel.show(page)
    panel.ask("only the first")
    panel.sees("All is done.")
    notebook.wait_for_sources([AFTER, "y = 2"])
    wait_for(hunks(notebook, 0), 2)
    expect(bar(notebook, 0)).to_contain_text("2 changes")
    expect(notebook.cell(0).locator(".eca-Hunk-line.eca-mod-added")).to_have_text(["a = 10", "e = 50"])
    expect(hunks(notebook, 0).locator("pre")).to_have_text(["a = 1", "e = 5"])
    keep_in_both_themes(page, "after")
    write_at_the_end(notebook, 0, "c = 3", " + 0")
    wait_for(hunks(notebook, 0), 2)
    hunks(notebook, 0).first.get_by_role("button", name="Undo").click()
    typed = [*LINES[:2], "c = 3 + 0", *LINES[3:4], "e = 50"]
    notebook.wait_for_sources(["\n".join(typed), "y = 2"])
    wait_for(hunks(notebook, 0), 1)
    # The decision is one step, and once that is undone it is open again.
    page.keyboard.press("Control+z")
    notebook.wait_for_sources(["\n".join(["a = 10", *typed[1:]]), "y = 2"])
    wait_for(hunks(notebook, 0), 2)
    hunks(notebook, 0).first.get_by_role("button", name="Undo").click()
    hunks(notebook, 0).last.get_by_role("button", name="Keep").click()
    wait_for(page.locator(".eca-CellBar"), 0)
    notebook.wait_for_sources(["\n".join(typed), "y = 2"])
    wait_for(panel.node.get_by_role("region", name="Changes of this turn"), 0)
    wait_for(page.locator(".jp-Cell.eca-mod-changed"), 0)
    # What deletes something is still asked about before.
    panel.ask("delete it")
    expect(bar(notebook, 1)).to_contain_text("wants to delete this cell", timeout=SECONDS * 1000)
    press(notebook, 1, "Reject")
    panel.wait_until_idle()


@pytest.mark.nightly
def test_never_i_am_not_asked_and_can_undo(page: Page, lab: Lab) -> None:
    choose(page, lab, "never")
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "never.ipynb")
    panel = Panel.show(page)
    panel.ask("only the first")
    panel.sees("All is done.")
    notebook.wait_for_sources([AFTER, "y = 2"])
    panel.wait_until_idle()
    expect(bar(notebook, 0)).to_contain_text("Changed by the assistant", timeout=SECONDS * 1000)
    wait_for(hunks(notebook, 0), 0)
    listed = panel.node.get_by_role("region", name="Changes of this turn")
    expect(listed.get_by_role("button", name="Keep")).to_have_count(0)
    keep_in_both_themes(page, "never")
    press(notebook, 0, "Undo")
    notebook.wait_for_sources([BEFORE, "y = 2"])
    wait_for(page.locator(".eca-CellBar"), 0)
