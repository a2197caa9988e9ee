"""`%eca panel` in Jupyter Notebook 7."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The sum is **{result}**."}]},
    {"message": "", "reply": [{"tool": "run_code", "arguments": {"code": "sum(range(10))"}}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return LabSettings(eca=settings(tmp_path_factory.mktemp("script"), RULES), app="notebook")


def test_a_panel_is_shown_and_acts_in_notebook_7(page: Page, lab: Lab) -> None:
    notebook = Notebook(page, lab.write_notebook("seven.ipynb", ["%load_ext jupyter_eca\n%eca panel"]))
    page.goto(f"{lab.url}notebooks/seven.ipynb?token={lab.token}")
    notebook.wait_until("window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length === n", 1)
    notebook.wait_until_idle()
    notebook.run(0)
    panel = CellPanel(notebook, 0)
    panel.ask("the sum?")
    panel.button("Approve").click()
    panel.sees("The sum is 45.")
