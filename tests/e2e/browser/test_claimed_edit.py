"""A model says that it has changed a cell: the panel shows whether that is so, and not what the model claims."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

READ: dict[str, Any] = {"tool": "notebook_read"}
EDIT: dict[str, Any] = {
    "tool": "notebook_edit_cell",
    "arguments": {"cell": "c0", "source": "x = 10\nprint('y' * 90000)"},
}
ASK: dict[str, Any] = {"tool": "ask_user", "arguments": {"question": "Shall I?", "options": [{"label": "Yes"}]}}
# The model makes the same claim whatever it is told.
RULES: list[dict[str, Any]] = [
    {"message": "^change", "tool": "notebook_read", "result": "", "reply": [ASK]},
    {"message": "^change", "tool": "ask_user", "result": "", "reply": [EDIT]},
    {"message": "^change", "result": "", "reply": [{"text": "Done: x is 10 now."}]},
    {"message": "^change", "reply": [READ]},
]
BEFORE = "x = 1\nprint('y' * 90000)"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "claims.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"claims": {"script": str(script)}}
    return LabSettings(
        eca={"defaultModel": "scripted/claims", "review": "after", "providers": {"scripted": {"models": models}}}
    )


def start(page: Page, lab: Lab, name: str) -> tuple[Notebook, Panel]:
    """Open a notebook whose cell has a large output, and have the model read it."""
    notebook = Notebook.open(page, lab, [BEFORE], name)
    notebook.run(0)
    notebook.wait_until_run(0)
    panel = Panel.show(page)
    panel.ask("change it")
    expect(panel.button("Yes")).to_be_visible(timeout=SECONDS * 1000)
    return notebook, panel


def test_an_edit_that_did_not_land_is_shown_as_failed_whatever_the_model_claims(page: Page, lab: Lab) -> None:
    notebook, panel = start(page, lab, "lost.ipynb")
    mine = "x = 2  # mine"
    page.evaluate(
        "source => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource(source)", mine
    )
    panel.button("Yes").click()
    panel.sees("Done: x is 10 now.")
    panel.wait_until_idle()
    keep(page, "claimed-lost")
    expect(panel.call("failed")).to_have_count(1)
    expect(panel.node.get_by_role("region", name="Changes of this turn")).to_have_count(0)
    assert notebook.sources() == [mine]


def test_an_edit_that_is_shown_as_done_is_in_the_notebook_and_in_its_file(page: Page, lab: Lab) -> None:
    notebook, panel = start(page, lab, "landed.ipynb")
    panel.button("Yes").click()
    panel.sees("Done: x is 10 now.")
    panel.wait_until_idle()
    keep(page, "claimed-landed")
    expect(panel.call("failed")).to_have_count(0)
    expect(panel.node.get_by_role("region", name="Changes of this turn")).to_have_count(1)
    assert notebook.sources() == [BEFORE.replace("x = 1", "x = 10")]
    notebook.save()
    assert "".join(notebook.read()["cells"][0]["source"]) == BEFORE.replace("x = 1", "x = 10")
