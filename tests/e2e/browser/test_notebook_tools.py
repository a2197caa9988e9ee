"""The whole way in a real JupyterLab: a model reads the notebook that is open, edits it, runs it; the user looks on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

EDIT: dict[str, Any] = {"tool": "notebook_edit_cell", "arguments": {"cell": "2", "source": "print(x / 2)"}}
RUN: dict[str, Any] = {"tool": "notebook_run_cells", "arguments": {"cells": ["1", "2"]}}
RULES: list[dict[str, Any]] = [
    {"result": "rejected", "reply": [{"text": "Then not."}]},
    {"result": r"(?s)x = 10.*x / 0", "reply": [{"text": "By zero it cannot be divided. "}, EDIT]},
    {"result": r"5\.0", "reply": [{"text": "Now it prints 5.0."}]},
    {"result": r"print\(x / 2\)", "reply": [RUN]},
    {"message": "(?s)Fix what is wrong in cell 2", "reply": [{"tool": "notebook_read", "arguments": {}}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "tools.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"tools": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/tools", "providers": {"scripted": {"models": models}}})


def approve(panel: Panel) -> None:
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)


def source(notebook: Notebook, n: int) -> str:
    """Of a cell in the page."""
    cells = "window.jupyterapp.shell.currentWidget.content.widgets"
    return notebook.page.evaluate(f"n => {cells}[n].model.sharedModel.getSource()", n)


def broken(page: Page, lab: Lab) -> tuple[Notebook, Panel]:
    """A notebook whose second cell fails, and the fix that is asked for by one click."""
    notebook = Notebook.open(page, lab, ["x = 10", "print(x / 0)"])
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    page.locator(".eca-Help").get_by_role("button", name="Fix").click(timeout=SECONDS * 1000)
    panel = Panel(page)
    expect(panel.call("waiting")).to_contain_text("print(x / 2)", timeout=SECONDS * 1000)
    return notebook, panel


@pytest.mark.nightly
def test_an_error_is_fixed_in_the_notebook_and_the_fix_is_run(page: Page, lab: Lab) -> None:
    notebook, panel = broken(page, lab)
    assert source(notebook, 1) == "print(x / 0)", "nothing is changed before it is approved"
    approve(panel)
    expect(panel.call("waiting")).to_contain_text("Run", timeout=SECONDS * 1000)
    assert source(notebook, 1) == "print(x / 2)"
    approve(panel)
    panel.sees("Now it prints 5.0.")
    notebook.wait_for_output(1, "5.0")
    expect(page.locator(".eca-Help")).to_have_count(0)


@pytest.mark.nightly
def test_going_back_in_the_chat_takes_the_edit_in_the_notebook_back(page: Page, lab: Lab) -> None:
    notebook, panel = broken(page, lab)
    approve(panel)
    expect(panel.call("waiting")).to_contain_text("Run", timeout=SECONDS * 1000)
    panel.call("waiting").get_by_role("button", name="Reject…").click(timeout=SECONDS * 1000)
    panel.call("waiting").get_by_role("button", name="Reject", exact=True).click(timeout=SECONDS * 1000)
    panel.sees("Then not.")
    panel.wait_until_idle()
    panel.message("Fix").last.hover()
    panel.message("Fix").last.get_by_role("button", name="Go back to before this message").click()
    panel.button("Messages and changes").click()
    panel.sees("Restored: notebook.ipynb")
    assert source(notebook, 1) == "print(x / 0)"
    notebook.wait_for_output(1, "ZeroDivisionError")
