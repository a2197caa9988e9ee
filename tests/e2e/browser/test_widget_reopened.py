"""What becomes of a panel when its page is reloaded, its notebook is exported, and its kernel is gone."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import SECONDS, CellPanel, put, save
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "You said: **{message}**"}]}]
WIDGETS = "window.jupyterapp.shell.currentWidget?.content?.widgets?.length === n"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES))


def test_what_is_typed_in_a_panel_survives_a_reload_and_stays_in_its_notebook(page: Page, lab: Lab) -> None:
    for name, text in (("one.ipynb", "half a thought"), ("two.ipynb", "another thought")):
        notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"], name)
        notebook.run(0)
        notebook.wait_until_run(0)
        notebook.run(1)
        panel = CellPanel(notebook, 1)
        expect(panel.box).to_have_value("")
        panel.box.fill(text)
        notebook.save()
    for name, text in (("one.ipynb", "half a thought"), ("two.ipynb", "another thought")):
        page.goto(lab.address(name))
        expect(CellPanel(notebook, 1).box).to_have_value(text)


def test_a_reloaded_panel_lives_an_exported_one_is_text_and_one_whose_kernel_is_gone_is_a_record_to_go_on_with(
    page: Page, lab: Lab, tmp_path: Path
) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"], "again.ipynb")
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    first = CellPanel(notebook, 1)
    first.ask("the first")
    first.sees("You said: the first")
    save(notebook, 1, "the first")

    page.goto(lab.address("again.ipynb"))
    reloaded = CellPanel(notebook, 1)
    reloaded.sees("You said: the first")
    reloaded.ask("after a reload")
    reloaded.sees("You said: after a reload")
    reloaded.wait_until_idle()

    export = [sys.executable, "-m", "nbconvert", "--to", "html", str(notebook.file), "--output-dir", str(tmp_path)]
    subprocess.run(export, check=True, capture_output=True)  # this Python, with a file of ours
    reader = page.context.new_page()
    reader.goto((tmp_path / "again.html").as_uri())
    expect(reader.get_by_text("A record of a chat with the assistant.")).to_be_visible()
    expect(reader.locator("strong", has_text="the first")).to_be_visible()
    expect(reader.locator("[class*=widget-view], .jupyter-widgets")).to_have_count(0)
    reader.close()

    # Another day: neither the kernel nor the server is the one that it was.
    page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.shutdown()")
    lab.restart()
    page.goto(lab.address("again.ipynb"))
    notebook.wait_until(WIDGETS, 2)
    notebook.wait_until_idle()
    record = notebook.cell(1).locator(".jp-RenderedMarkdown").last
    expect(record).to_contain_text("A record of a chat with the assistant. To continue it, run:")
    lines = record.locator("pre").first.inner_text().strip()
    put(notebook, 0, lines)
    notebook.run(0)
    resumed = CellPanel(notebook, 0)
    resumed.sees("You said: after a reload", SECONDS)
    resumed.ask("in a new kernel")
    resumed.sees("You said: in a new kernel")

    other = Notebook.open(page, lab, [lines], "other.ipynb")
    other.run(0)
    told = CellPanel(other, 0)
    expect(told.node).to_contain_text("That chat belongs to another notebook")
    told.ask("something else")
    told.sees("You said: something else")
