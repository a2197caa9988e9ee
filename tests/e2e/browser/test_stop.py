"""Stopping an answer that is still being written, from the menu of JupyterLab."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

# Two words a second for longer than any test waits.
ENDLESS = {"text": "on and " * 2000, "chunk": 7, "delay": 0.5}


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "endless.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [ENDLESS]}]}))
    models = {"endless": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/endless", "providers": {"scripted": {"models": models}}})


def test_an_answer_is_stopped_and_its_cell_ends(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%%eca\nGo on."])
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "on and")
    notebook.execute("eca:stop")
    notebook.wait_for_notification("Stopped the assistant in 1 chat.")
    notebook.wait_until_run(1)
