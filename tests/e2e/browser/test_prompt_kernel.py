"""A notebook of prompts in a real JupyterLab: the kernel `eca`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The sum is in `total`: {result}"}]},
    {"message": "sum", "reply": [{"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "stream", "reply": [{"text": "tick " * 3000, "chunk": 5, "delay": 0.02}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script: Path = tmp_path_factory.mktemp("script") / "script.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"test": {"script": str(script)}}
    return LabSettings(eca={"providers": {"scripted": {"models": models}}, "defaultModel": "scripted/test"})


@pytest.mark.nightly
def test_a_prompt_is_answered_its_code_approved_and_its_variables_are_those_of_the_cells_of_code(
    page: Page, lab: Lab
) -> None:
    cells = ["# The **sum**\nof what is below ten?", "%%python\nprint('doubled', total * 2)", "stream", "%eca status"]
    notebook = Notebook.open(page, lab, cells, "prompts.ipynb", "eca")
    expect(notebook.cell(0).locator(".cm-line span").first).to_have_css("font-weight", "700")
    notebook.run(0)
    notebook.wait_for_output(0, "waits for your approval")
    page.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_output(0, "The sum is in total: 45")
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "doubled 90")
    notebook.run(2)
    notebook.wait_for_output(2, "tick tick")
    notebook.execute("notebook:interrupt-kernel")
    notebook.wait_for_output(2, "Stopped.")
    notebook.wait_until_run(2)
    notebook.run(3)
    notebook.wait_for_output(3, "The engine runs in the Jupyter server")
    notebook.save()
    saved = notebook.read()
    assert saved["metadata"]["language_info"]["name"] == "markdown"
    (run,) = saved["cells"][0]["outputs"][0]["metadata"]["jupyter_eca"]["runs"]
    assert run["code"] == "total = sum(range(10))\ntotal"


@pytest.mark.nightly
def test_a_panel_in_a_notebook_of_prompts_completes_chooses_asks_approves_counts_and_stops(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.open(page, lab, ["%eca panel"], "panel.ipynb", "eca")
    notebook.run(0)
    panel = CellPanel(notebook, 0)
    expect(panel.node.get_by_role("combobox", name="Model")).to_have_value("scripted/test")
    agent = panel.node.get_by_role("combobox", name="Agent")
    agent.select_option("plan")
    agent.select_option("code")
    panel.box.press_sequentially("what is the sum? @pan")
    panel.node.get_by_role("option").filter(has_text="panel.ipynb").first.click()
    expect(panel.mentions).to_contain_text("panel.ipynb")
    panel.box.press("Enter")
    panel.button("Approve").click()
    panel.sees("The sum is in total: 45")
    panel.wait_until_idle()
    expect(panel.node.locator(".eca-Status")).to_contain_text("↑")
    panel.ask("stream")
    panel.sees("tick tick")
    panel.button("Stop").click()
    panel.sees("Stopped.")
