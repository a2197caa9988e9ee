"""Help below an error of a cell in a real JupyterLab: one click, and the panel answers."""

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

RULES: list[dict[str, Any]] = [
    {"message": "(?s)Fix what is wrong in cell 2.*1 / 0.*ZeroDivisionError", "reply": [{"text": "Divide by one."}]},
    {"message": "(?s)Explain what cell 2 does.*1 / 0.*ZeroDivisionError", "reply": [{"text": "Nothing can be."}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "help.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"help": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/help", "providers": {"scripted": {"models": models}}})


def help_of(notebook: Notebook) -> Locator:
    return notebook.page.locator(".jp-Cell .eca-Help")


@pytest.mark.nightly
@pytest.mark.parametrize(("button", "answer"), [("Fix", "Divide by one."), ("Explain", "Nothing can be.")])
def test_one_click_below_an_error_asks_about_it(page: Page, lab: Lab, button: str, answer: str) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "1 / 0", "x"])
    notebook.run(1)
    help_of(notebook).get_by_role("button", name=button).click(timeout=SECONDS * 1000)
    panel = Panel(page)
    panel.sees(answer)


@pytest.mark.nightly
def test_help_is_offered_below_an_error_and_goes_with_it(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "1 / 0"])
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    expect(help_of(notebook)).to_have_count(1, timeout=SECONDS * 1000)
    expect(page.locator(".jp-Cell").nth(1).locator(".eca-Help")).to_be_visible()
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.setSource('2')")
    notebook.run(1)
    expect(help_of(notebook)).to_have_count(0, timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_below_an_error_for_a_missing_key_the_line_that_keeps_it_is_shown(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["import os\nos.environ['HOUSE_API_KEY']"])
    notebook.run(0)
    expect(help_of(notebook)).to_contain_text('"keptVariables": ["HOUSE_API_KEY"]', timeout=SECONDS * 1000)
    expect(help_of(notebook).get_by_role("button", name="Fix")).to_be_visible()


@pytest.mark.nightly
def test_help_is_offered_in_a_notebook_that_was_saved_with_its_error(page: Page, lab: Lab) -> None:
    file = lab.write_notebook("saved.ipynb", ["1 / 0"])
    book = json.loads(file.read_text())
    error = {"output_type": "error", "ename": "E", "evalue": "no", "traceback": ["E: no"]}
    book["cells"][0] |= {"outputs": [error], "execution_count": 1}
    file.write_text(json.dumps(book))
    page.goto(lab.address("saved.ipynb"))
    expect(page.locator(".jp-Cell .eca-Help")).to_have_count(1, timeout=SECONDS * 1000)
