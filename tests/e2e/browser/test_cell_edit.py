"""A cell is rewritten to order in a real JupyterLab: the answer comes as hunks, which are accepted or rejected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

LINES = ["a = 1", "b = 2", "c = 3", "d = 4", "e = 5"]
BEFORE = "\n".join(LINES)
# Long enough that a test which waited for it would fail.
FOREVER = 600

RULES: list[dict[str, Any]] = [
    {
        "message": "(?s)<selection>\n" + BEFORE + "\n</selection>.*Instruction: times ten",
        "reply": [{"text": "```python\na = 10\nb = 2\nc = 3\nd = 4\ne = 50\n```", "chunk": 3}],
    },
    {"message": "(?s)<selection>\nb = 2\nc = 3\n</selection>.*Instruction: swap", "reply": [{"text": "c = 3\nb = 2"}]},
    {"message": "Instruction: take your time", "reply": [{"text": "z = 0\nb ="}, {"text": " 0", "delay": FOREVER}]},
    {"message": "Instruction: fail", "reply": [{"error": "overloaded", "status": 400}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "edit.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"edit": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/edit", "providers": {"scripted": {"models": models}}})


def box(notebook: Notebook) -> Locator:
    return notebook.page.get_by_role("dialog", name="Edit this cell")


def ask(notebook: Notebook, instruction: str) -> None:
    """With the keyboard alone, from where it is in the notebook."""
    notebook.page.keyboard.press("Control+Alt+e")
    field = box(notebook).get_by_role("textbox", name="Instruction")
    expect(field).to_be_focused(timeout=SECONDS * 1000)
    field.fill(instruction)
    field.press("Enter")


def hunks(notebook: Notebook, count: int) -> Locator:
    found = notebook.cell(0).locator(".eca-Hunk")
    expect(found).to_have_count(count, timeout=SECONDS * 1000)
    return found


def test_a_cell_is_edited_to_order_hunk_by_hunk_while_it_is_written_in(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"])
    notebook.cell(0).locator(".cm-line").first.click()
    ask(notebook, "times ten")
    found = hunks(notebook, 2)
    expect(found.locator("pre")).to_have_text(["a = 10", "e = 50"])
    expect(found.get_by_role("button", name="Approve")).to_have_count(2)
    assert notebook.sources() == [BEFORE, "y = 2"], "nothing is written before it is accepted"

    notebook.cell(0).locator(".cm-line", has_text="c = 3").click()
    page.keyboard.press("End")
    page.keyboard.type(" + 0")
    hunks(notebook, 2).first.get_by_role("button", name="Approve").click()
    typed = ["a = 10", "b = 2", "c = 3 + 0", *LINES[3:]]
    notebook.wait_for_sources(["\n".join(typed), "y = 2"])
    hunks(notebook, 1).get_by_role("button", name="Reject").click()
    expect(box(notebook)).to_have_count(0)
    hunks(notebook, 0)
    notebook.wait_for_sources(["\n".join(typed), "y = 2"])
    page.keyboard.press("Control+z")
    notebook.wait_for_sources(["\n".join(["a = 1", *typed[1:]]), "y = 2"])
    page.keyboard.press("Control+z")
    notebook.wait_for_sources([BEFORE, "y = 2"])


@pytest.mark.nightly
def test_the_selected_lines_are_edited_and_accepted_as_one_step_with_the_keyboard(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE])
    notebook.cell(0).locator(".cm-line", has_text="b = 2").click()
    page.keyboard.press("Home")
    page.keyboard.press("Shift+ArrowDown")
    page.keyboard.press("Shift+End")
    ask(notebook, "swap")
    approve = box(notebook).get_by_role("button", name="Approve all")
    expect(approve).to_be_focused(timeout=SECONDS * 1000)
    page.keyboard.press("Enter")
    notebook.wait_for_sources(["a = 1\nc = 3\nb = 2\nd = 4\ne = 5"])
    expect(box(notebook)).to_have_count(0)
    notebook.cell(0).locator(".cm-line").first.click()
    page.keyboard.press("Control+z")
    notebook.wait_for_sources([BEFORE])


@pytest.mark.nightly
def test_escape_stops_an_edit_and_the_cell_is_as_it_was_and_a_failure_is_told(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE])
    notebook.cell(0).locator(".cm-line").first.click()
    ask(notebook, "take your time")
    expect(hunks(notebook, 1).locator("pre")).to_have_text(["z = 0"])
    expect(box(notebook).get_by_role("button", name="Stop")).to_be_visible()
    page.keyboard.press("Escape")
    expect(box(notebook)).to_have_count(0)
    hunks(notebook, 0)
    assert notebook.sources() == [BEFORE]
    ask(notebook, "fail")
    expect(box(notebook).get_by_role("status")).to_contain_text("overloaded", timeout=SECONDS * 1000)
    page.keyboard.press("Escape")
    expect(box(notebook)).to_have_count(0)
    assert notebook.sources() == [BEFORE]


def test_a_question_about_a_cell_is_asked_in_the_panel_with_the_cell(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["x = 1", "y = 2"])
    notebook.cell(1).locator(".cm-line").first.click()
    notebook.execute("eca:ask-cell")
    panel = Panel(page)
    panel.wait_until_connected()
    expect(panel.box).to_be_focused()
    expect(panel.node.locator(".eca-Chip")).to_contain_text("cell 2")
