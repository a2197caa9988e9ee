"""JupyterLab with ipywidgets, where our part of the page is disabled: cells and the panel in a cell do it all."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

# By night: two questions, a panel, and the engine's first imports in between.
pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The sum is {result}."}]},
    {"message": "sum", "reply": [{"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "", "reply": [{"text": "You said: {message}", "chunk": 4}]},
]
CELLS = ["%load_ext jupyter_eca", "%%eca\nwhat is the sum?", "print(total)", "%eca panel"]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    """As `jupyter labextension disable jupyter-eca` leaves it; the server's part is there."""
    script = tmp_path_factory.mktemp("script") / "page.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"page": {"script": str(script)}}
    config = tmp_path_factory.mktemp("config")
    (config / "labconfig").mkdir()
    (config / "labconfig" / "page_config.json").write_text(json.dumps({"disabledExtensions": {"jupyter-eca": True}}))
    eca = {"defaultModel": "scripted/page", "providers": {"scripted": {"models": models}}}
    return LabSettings(eca=eca, env={"JUPYTER_CONFIG_PATH": str(config)})


def test_a_cell_asks_and_is_approved_and_a_panel_in_a_cell_goes_on(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, CELLS)
    assert not page.evaluate("() => window.jupyterapp.commands.hasCommand('eca:open-panel')")
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.cell(1).get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_output(1, "The sum is 45.")
    notebook.wait_until_run(1)
    notebook.run(2)
    notebook.wait_for_output(2, "45")
    notebook.run(3)
    panel = CellPanel(notebook, 3)
    panel.sees("The sum is 45.")
    panel.ask("and in the panel")
    panel.sees("You said: and in the panel")
    panel.wait_until_idle()
    expect(page.locator(".eca-Widget")).to_have_count(1)
