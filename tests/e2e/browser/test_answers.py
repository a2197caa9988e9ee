"""Taking over an answer in a real JupyterLab: the whole answer from the panel, and the code of an answer in a cell."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

CODE = "Try **this**:\n\n```python\nanswer = 6 * 7\n```\n\nThat is all."
RUN: dict[str, Any] = {"tool": "list_directory", "arguments": {"path": "."}}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": CODE}]},
    {"message": "in the shell", "reply": [{"text": f"{CODE}\n\n```bash\nls -la\n```\n"}]},
    {"message": "look first", "reply": [{"text": "I look first."}, RUN]},
    {"message": "", "reply": [{"text": CODE, "chunk": 4, "delay": 0.01}]},
]
SOURCES = "window.jupyterapp.shell.currentWidget.content.widgets.map(cell => cell.model.sharedModel.source)"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "answers.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"answers": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/answers", "providers": {"scripted": {"models": models}}})


def ask_in_cell(page: Page, lab: Lab) -> tuple[Notebook, Locator]:
    """Return a notebook whose second cell has an answer, and that cell."""
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca code please", "x = 1"])
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    cell = page.locator(".jp-Cell").nth(1)
    expect(cell.locator(".eca-Code")).to_have_count(1, timeout=SECONDS * 1000)
    return notebook, cell


def test_a_whole_answer_is_copied_as_markdown(page: Page, lab: Lab) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = Panel.open(page, lab)
    panel.ask("look first")
    panel.sees("That is all.")
    panel.wait_until_idle()
    panel.button("Copy this answer as Markdown").click()
    expect(panel.button("Copied")).to_be_visible()
    assert page.evaluate("() => navigator.clipboard.readText()") == f"I look first.\n\n{CODE}"


def test_an_answer_is_rated_and_the_rating_is_there_after_a_reload_and_in_an_export(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for text in ("first", "second"):
        panel.ask(text)
        panel.wait_until_idle()
        expect(panel.button("Good answer")).to_have_count(2 if text == "second" else 1)
    good, bad = panel.button("Good answer").last, panel.button("Bad answer").last
    expect(bad).to_have_attribute("title", re.compile("not sent to the model or to anybody"))
    expect(good).to_have_attribute("aria-pressed", "false")
    good.click()
    expect(good).to_have_attribute("aria-pressed", "true")
    bad.focus()
    page.keyboard.press("Enter")
    expect(bad).to_have_attribute("aria-pressed", "true")
    expect(good).to_have_attribute("aria-pressed", "false")
    expect(bad).to_be_focused()
    first = panel.button("Good answer").first
    first.click()
    expect(first).to_have_attribute("aria-pressed", "true")
    first.click()
    expect(first).to_have_attribute("aria-pressed", "false")
    assert complaints(page, ".eca-Panel") == []

    page.reload()
    panel = Panel.show(page)
    expect(panel.button("Bad answer").last).to_have_attribute("aria-pressed", "true")
    expect(panel.node.locator(".eca-Answer-tools [aria-pressed=true]")).to_have_count(1)
    panel.ask("/export rated.md")
    panel.sees("This chat is in rated.md now.")
    assert (lab.root / "rated.md").read_text().count("*Rating of this answer: bad*") == 1


NO_CLIPBOARD = "() => Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })"


@pytest.mark.nightly
def test_without_a_clipboard_an_answer_is_copied_and_a_failure_is_said(page: Page, lab: Lab) -> None:
    """A page over plain http has no `navigator.clipboard`."""
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    panel = Panel.open(page, lab)
    panel.ask("look first")
    panel.sees("That is all.")
    panel.wait_until_idle()
    page.evaluate(NO_CLIPBOARD)
    panel.button("Copy this answer as Markdown").click()
    expect(panel.button("Copied")).to_be_visible()
    expect(panel.button("Copied")).to_be_focused()
    page.evaluate("() => delete navigator.clipboard")
    assert page.evaluate("() => navigator.clipboard.readText()") == f"I look first.\n\n{CODE}"
    page.evaluate(NO_CLIPBOARD)
    page.evaluate("() => { document.execCommand = () => false; }")
    code = panel.node.locator(".eca-Code").first
    code.hover()
    code.get_by_role("button", name="Copy", exact=True).click()
    expect(code.get_by_role("alert")).to_have_text(
        "This page may not copy. Select the text, and copy it with the keyboard."
    )
    panel.button("Copy this answer as Markdown").click()
    expect(panel.node.locator(".eca-Answer-tools").get_by_role("alert")).to_contain_text("This page may not copy.")


def test_the_bar_of_a_block_names_its_language_and_runs_only_what_a_kernel_can_run(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("in the shell")
    panel.wait_until_idle()
    bars = panel.node.locator(".eca-Code-tools")
    expect(bars).to_have_text(["python", "bash"])
    expect(bars.first.get_by_role("button", name="Run in a new cell below")).to_be_visible()
    expect(bars.last.get_by_role("button", name="Insert below the active cell")).to_be_visible()
    expect(bars.last.get_by_role("button", name="Run in a new cell below")).to_have_count(0)


def test_no_estimate_is_shown_for_a_command(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.box.fill("costs")
    expect(panel.node.locator(".eca-Estimate")).to_be_visible(timeout=SECONDS * 1000)
    panel.box.fill("/costs")
    expect(panel.node.locator(".eca-Estimate")).to_have_count(0)


@pytest.mark.nightly
def test_code_of_an_answer_in_a_cell_is_copied_and_inserted(page: Page, lab: Lab) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    notebook, cell = ask_in_cell(page, lab)
    cell.get_by_role("button", name="Copy", exact=True).click()
    page.wait_for_function("async () => (await navigator.clipboard.readText()) === 'answer = 6 * 7'")
    cell.get_by_role("button", name="Insert below the active cell").click()
    notebook.wait_until(f"{SOURCES}[2] === 'answer = 6 * 7' && {SOURCES}[3] === 'x = 1'")


def test_code_of_an_answer_in_a_cell_is_run_and_replaces_the_question(page: Page, lab: Lab) -> None:
    notebook, cell = ask_in_cell(page, lab)
    cell.get_by_role("button", name="Run in a new cell below").click()
    notebook.wait_until_run(2)
    cell.get_by_role("button", name="Replace the active cell").click()
    notebook.wait_until(f"{SOURCES}[1] === 'answer = 6 * 7'")
    notebook.execute("docmanager:save")
    assert "eca-Code" not in notebook.file.read_text()
