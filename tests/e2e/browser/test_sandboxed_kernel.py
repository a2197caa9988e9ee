"""A kernel in the sandbox in a real JupyterLab: it is used as any other kernel."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from jupyter_eca.workspace.jobs.sandbox import find_sandbox_program
from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = [
    pytest.mark.browser,
    pytest.mark.nightly,
    pytest.mark.skipif(not find_sandbox_program().endswith("bwrap"), reason="this machine has no bubblewrap"),
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "sandbox.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "I hear you."}]}]}))
    models = {"it": {"script": str(script)}}
    sandbox = {"toolCall": {"sandbox": {"kernels": True}}}
    return LabSettings(eca={"defaultModel": "scripted/it", "providers": {"scripted": {"models": models}}, **sandbox})


def output_of(page: Page, cell: int) -> Locator:
    return page.locator(".jp-Cell").nth(cell).locator(".jp-OutputArea")


def test_its_cells_run_are_interrupted_and_answered_and_it_is_restarted(page: Page, lab: Lab) -> None:
    sources = [
        "print(6 * 7)",
        "open('/var/tmp/of-a-cell-in-the-sandbox', 'w')",
        "import time\nprint('begun', flush=True)\ntime.sleep(600)",
        "%load_ext jupyter_eca",
        "%%eca\nAre you there?",
    ]
    notebook = Notebook.open(page, lab, sources)
    patience = SECONDS * 1000
    for cell, text in enumerate(("42", "Read-only file system", "begun")):
        notebook.run(cell)
        expect(output_of(page, cell)).to_contain_text(text, timeout=patience)
    page.evaluate("() => window.jupyterapp.commands.execute('notebook:interrupt-kernel')")
    expect(output_of(page, 2)).to_contain_text("KeyboardInterrupt", timeout=patience)
    for cell in (3, 4):
        notebook.run(cell)
    expect(output_of(page, 4)).to_contain_text("I hear you.", timeout=patience)
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource('7 * 8')")
    notebook.run(0)
    expect(output_of(page, 0)).to_contain_text("56", timeout=patience)
