"""What the model is told is wrong with the notebook that is open in the page: as it is there, with its kernel."""

from __future__ import annotations

import importlib.util
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
    {"result": "(?P<all>(.|\n)*)", "reply": [{"text": "$all"}]},
    {"message": "", "reply": [{"tool": "editor_diagnostics", "arguments": {"path": "notebook.ipynb"}}]},
]

# Language servers are off in Lab until somebody turns them on.
TURN_ON = """() => window.jupyterapp.serviceManager.settings.save(
    '@jupyterlab/lsp-extension:plugin', JSON.stringify({activate: 'on'}))"""


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "tools.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"tools": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/tools", "providers": {"scripted": {"models": models}}})


def edit(notebook: Notebook, n: int, source: str) -> None:
    cells = "window.jupyterapp.shell.currentWidget.content.widgets"
    notebook.page.evaluate(f"([n, source]) => {cells}[n].model.sharedModel.setSource(source)", [n, source])


@pytest.mark.nightly
def test_what_is_not_saved_and_what_only_the_kernel_has_is_told(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["gone = kept = 1", "print(gone)", "unknown"])
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    edit(notebook, 0, "kept = '1' + 1")
    panel = Panel.show(page)
    panel.ask("What is wrong?")
    panel.sees("notebook.ipynb (3 cells): 2 errors, 3 warnings, 1 info")
    for line in (
        "cell 1 [c0] 1:8: error: Operator + is not supported",
        "cell 3 [c2] 1:1: error: Undefined name unknown [ruff F821]",
        "cell 1 [c0]: warning: edited since it ran",
        "cell 2 [c1] 1:7: warning: gone is defined in no cell (any more)",
        "A restart would lose what no cell defines: gone [notebook lost-by-restart]",
        "cell 3 [c2]: info: never run [notebook never-run]",
    ):
        panel.sees(line)


@pytest.mark.nightly
@pytest.mark.skipif(
    not all(map(importlib.util.find_spec, ("jupyterlab_lsp", "pylsp", "pyflakes"))),
    reason="needs jupyterlab-lsp, python-lsp-server and pyflakes, which Lab is else tested without",
)
def test_what_a_language_server_says_in_the_page_is_told_too(page: Page, lab: Lab) -> None:
    page.goto(lab.address(""))
    page.wait_for_function("() => window.jupyterapp?.serviceManager", timeout=SECONDS * 1000)
    page.evaluate(TURN_ON)
    Notebook.open(page, lab, ["import os", "l = 1\nprint(l )"])
    expect(page.locator(".cm-lintRange").first).to_be_attached(timeout=60_000)
    panel = Panel.show(page)
    panel.ask("What is wrong?")
    panel.sees("cell 1 [c0] 1:1: warning: 'os' imported but unused [pyflakes]")
