"""A user moves a notebook in a terminal, and finds its chat again."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.test_chat_list import ask, open_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

# `tests/apps/server/test_moved_notebooks.py` has the same with a server alone.
pytestmark = [pytest.mark.browser, pytest.mark.nightly]

TYPE = "source => window.jupyterapp.shell.currentWidget.content.activeCell.model.sharedModel.setSource(source)"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "moved.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "You said: {message}"}]}]}))
    models = {"moved": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/moved", "providers": {"scripted": {"models": models}}})


def read_id(notebook: Notebook) -> str:
    return notebook.read()["metadata"]["jupyter_eca"]["id"]


def test_a_notebook_that_is_moved_by_mv_shows_its_chat_again_and_a_copy_does_not(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["x = 1"], "mice.ipynb")
    panel = Panel.show(page)
    ask(panel, "about the mice", "You said: about the mice")
    # The page opened the notebook before it had an id. So what it saves has none, and the server adds it.
    for source in ("y = 2", "y = 3"):
        page.evaluate(TYPE, source)
        notebook.save()
        assert notebook.read()["cells"][0]["source"] == [source]
    assert read_id(notebook)
    assert page.locator(".jp-Dialog").count() == 0, "the file has not changed under the page"
    keep(page, "moved-1-before")

    shutil.copy(lab.root / "mice.ipynb", lab.root / "copy.ipynb")
    (lab.root / "data").mkdir()
    # A fresh tab of the browser knows nothing of the notebook.
    browser = page.context.browser
    assert browser is not None
    page.goto("about:blank")
    with browser.new_context() as context:
        other = context.new_page()
        other.goto(lab.address("copy.ipynb"))
        # Otherwise the user asks before a notebook is in front.
        Notebook(other, lab.root / "copy.ipynb").wait_until_idle()
        copied = Panel.show(other)
        ask(copied, "about the copy", "You said: about the copy")
        assert copied.node.get_by_text("You said: about the mice").count() == 0
        subprocess.run(["mv", "mice.ipynb", "data/rats.ipynb"], cwd=lab.root, check=True)  # noqa: S607  # as the user does
        open_notebook(other, "data/rats.ipynb")
        copied.sees("You said: about the mice")
        keep(other, "moved-2-moved")
        open_notebook(other, "copy.ipynb")
        copied.sees("You said: about the copy")
    with browser.new_context() as context:
        fresh = context.new_page()
        fresh.goto(lab.address("data/rats.ipynb"))
        Panel.show(fresh).sees("You said: about the mice")
        keep(fresh, "moved-3-moved-fresh")
