"""What a notebook asks of the assistant, in a real JupyterLab: heard once it is trusted, and changed in the panel."""

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

RULES: list[dict[str, Any]] = [
    {"message": f"\nPlot with {library}.\n", "reply": [{"text": f"With {library}, then."}]}
    for library in ("altair", "seaborn")
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "plots.json"
    script.write_text(json.dumps({"rules": [*RULES, {"message": "", "reply": [{"text": "Nobody told me."}]}]}))
    models = {"plots": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/plots", "providers": {"scripted": {"models": models}}})


def test_a_notebook_is_heard_once_it_is_trusted_and_says_what_the_panel_writes(page: Page, lab: Lab) -> None:
    file = lab.write_notebook("plots.ipynb", ["x = 1"])
    content = json.loads(file.read_text())
    content["metadata"]["jupyter_eca"] = {"instructions": "Plot with seaborn."}
    file.write_text(json.dumps(content))
    page.goto(lab.address("plots.ipynb"))
    notebook = Notebook(page, file)
    notebook.wait_until_idle()

    panel = Panel.show(page)
    instructions = panel.node.locator(".eca-Instructions")
    expect(instructions.locator("summary")).to_have_text("Instructions for plots.ipynb (not used)")
    panel.ask("one")
    panel.sees("Nobody told me.")
    panel.wait_until_idle()  # a turn still runs when its last word is there, and would take the next message

    notebook.run(0)
    notebook.wait_until_run(0)
    panel.ask("two")
    panel.sees("With seaborn, then.")
    panel.wait_until_idle()
    expect(instructions.locator("summary")).to_have_text("Instructions for plots.ipynb", timeout=SECONDS * 1000)

    instructions.locator("summary").click()
    instructions.get_by_role("textbox").fill("Plot with altair.")
    instructions.get_by_role("button", name="Save in the notebook").click()
    panel.ask("three")
    panel.sees("With altair, then.")
    notebook.execute("docmanager:save")
    assert json.loads(file.read_text())["metadata"]["jupyter_eca"]["instructions"] == "Plot with altair."
