"""A long run of cells in a real JupyterLab: how far it is, sent to the background while it runs, and its end."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RUN: dict[str, Any] = {"tool": "notebook_run_cells", "arguments": {"cells": ["1", "2"]}}
RULES: list[dict[str, Any]] = [
    {"result": "Started as job-", "reply": [{"text": "It runs on without me."}]},
    {
        "message": r"(?s)Background job job-\w+ is done after \S+: cells 1, 2 of",
        "reply": [{"text": "I read that it is done."}],
    },
    {"message": "run", "reply": [RUN]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "background.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"background": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/background", "providers": {"scripted": {"models": models}}})


def test_a_run_shows_how_far_it_is_goes_to_the_background_and_its_end_is_told(
    page: Page, lab: Lab, tmp_path: Path
) -> None:
    """The second cell runs until somebody writes into a pipe."""
    pipe = tmp_path / "pipe"
    source = (
        "import os, sys\n"
        "for n in (10, 20, 42):\n    sys.stdout.write(f'\\rtraining {n}%'); sys.stdout.flush()\n"
        f"os.mkfifo({str(pipe)!r}); open({str(pipe)!r}).read()"
    )
    Notebook.open(page, lab, ["print('data')", source])
    panel = Panel.show(page)
    panel.ask("run")
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    progress = panel.call("running").locator(".eca-Tool-progress")
    expect(progress).to_contain_text("cell 2 (2 of 2)", timeout=SECONDS * 1000)
    expect(progress).to_contain_text("training 42%")
    expect(progress).not_to_contain_text("training 10%")
    expect(progress.get_by_role("progressbar")).to_have_attribute("value", "1")
    keep(page, "background-running")
    progress.get_by_role("button", name="Run in background").click()
    panel.sees("It runs on without me.")
    expect(panel.node.locator(".eca-Tool-progress")).to_have_count(0)
    panel.wait_until_idle()
    with pipe.open("w") as there:
        there.write("on")
    expect(panel.transcript).to_contain_text(
        re.compile(r"Background job is done after \S+: cells 1, 2 of notebook\.ipynb"), timeout=SECONDS * 1000
    )
    panel.ask("How is it?")
    panel.sees("I read that it is done.")
    keep(page, "background-ended")
