"""Jupyter Notebook 7: the same extension, in one notebook's page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [
    {"message": "(?s)Fix what is wrong in cell 3.*ZeroDivisionError", "reply": [{"text": "Divide by one."}]},
    # The error was told with the first request, so that this one says "as before".
    {"message": "(?s)Explain what cell 3 does.*as before", "reply": [{"text": "Nothing can be."}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]
CELLS = ["%load_ext jupyter_eca", "%%eca\nHello from a cell", "1 / 0"]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES), app="notebook")


def test_cells_help_and_the_panel_are_in_notebook_7_as_well(page: Page, lab: Lab) -> None:
    notebook = Notebook(page, lab.write_notebook("seven.ipynb", CELLS))
    page.goto(f"{lab.url}notebooks/seven.ipynb?token={lab.token}")
    notebook.wait_until("window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length === n", len(CELLS))
    notebook.wait_until_idle()
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "You said: Hello from a cell")
    # The sidebar of Jupyter Notebook shows no tab for the panel, so the toolbar has a button that opens it.
    page.get_by_role("button", name="Talk with the assistant in a panel").click()
    expect(Panel(page).box).to_be_visible(timeout=SECONDS * 1000)
    notebook.run(2)
    help = page.locator(".jp-Cell .eca-Help")
    help.get_by_role("button", name="Fix").click(timeout=SECONDS * 1000)
    panel = Panel(page)
    panel.sees("Divide by one.")
    end = page.evaluate("() => document.querySelector('.eca-Panel').getBoundingClientRect().right")
    assert end <= page.evaluate("() => document.documentElement.clientWidth"), "nothing of the panel is cut off"
    panel.wait_until_idle()
    help.get_by_role("button", name="Explain").click()
    panel.sees("Nothing can be.")
    panel.wait_until_idle()
    panel.ask("And here?")
    panel.sees("You said: And here?")
    # The settings take the place of the chat, and lead back to it.
    panel.button("Settings of the assistant").click()
    page.locator(".eca-Settings").get_by_role("button", name="Back to the chat").click(timeout=SECONDS * 1000)
    panel.sees("You said: And here?")
    expect(panel.box).to_be_focused(timeout=SECONDS * 1000)
