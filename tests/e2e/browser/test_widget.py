"""`%eca panel` in a real JupyterLab, with the server's engine and, as in a foreign front end, with none there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel, put, save
from tests.support.host_and_client import settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

# By night: the story is long, and told for two engines. `test_panel.py` of other folders are of every run.
pytestmark = [pytest.mark.browser, pytest.mark.nightly]

HOSTILE = (
    'Look: <img src="http://127.0.0.1:9/x.png" alt="a cat" onerror="document.title=\'owned\'">'
    "<script>document.title='owned'</script> [a link](javascript:document.title='owned')\n\n"
    "<svg onload=\"document.title='owned'\"></svg>\n\n```python\nanswer = 42\n```\n\nEnd of it."
)
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The sum is **{result}**."}]},
    {"message": "sum", "reply": [{"text": "I add. "},
                                 {"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "endless", "reply": [{"text": "on and " * 2000, "chunk": 7, "delay": 0.1}]},
    {"message": "hostile", "reply": [{"text": HOSTILE}]},
    {"message": "", "reply": [{"text": "You said: {message}", "chunk": 4}]},
]  # fmt: skip
WITHOUT = ("--ServerApp.jpserver_extensions=jupyter_eca=False",)


@pytest.fixture(scope="module", params=["server", "embedded"])
def lab_settings(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> LabSettings:
    eca = settings(tmp_path_factory.mktemp("script"), RULES)
    if request.param == "server":
        return LabSettings(eca=eca)
    # Without our part of the page, too.
    config = tmp_path_factory.mktemp("config")
    (config / "labconfig").mkdir()
    (config / "labconfig" / "page_config.json").write_text(json.dumps({"disabledExtensions": {"jupyter-eca": True}}))
    return LabSettings(eca=eca, env={"JUPYTER_CONFIG_PATH": str(config)}, options=WITHOUT)


def kernel(notebook: Notebook, does: str) -> None:
    notebook.page.evaluate(f"() => window.jupyterapp.shell.currentWidget.sessionContext.{does}")


def test_panels_in_cells_do_what_the_side_panel_does_and_agree_and_outlive_their_kernel_as_text(
    page: Page, lab: Lab
) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel", "%eca from a cell", "%eca panel"])
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    one = CellPanel(notebook, 1)
    one.ask("what is the sum?")
    one.button("Approve").click()
    one.sees("The sum is 45.")
    one.wait_until_idle()
    expect(one.transcript.locator("strong")).to_have_text("45")
    one.ask("endless")
    one.sees("on and on")
    one.button("Stop").click()
    one.wait_until_idle()
    title = page.title()
    one.ask("hostile")
    one.sees("End of it.")
    assert one.transcript.locator(".eca-Markdown :is(img, script, svg)").count() == 0
    assert page.title() == title
    one.box.press_sequentially("/mod")
    expect(one.node.get_by_role("option").filter(has_text="/model").first).to_be_visible(timeout=SECONDS * 1000)
    one.box.fill("")

    notebook.run(2)
    one.sees("You said: from a cell")
    notebook.run(3)
    two = CellPanel(notebook, 3)
    two.sees("The sum is 45.")
    two.ask("from the second")
    one.sees("You said: from the second")
    one.wait_until_idle()
    record = notebook.cell(1).locator(".jp-OutputArea-child").nth(1)
    expect(record).to_be_hidden()
    expect(record).to_contain_text("You said: from the second", timeout=SECONDS * 1000)

    kernel(notebook, "session.kernel.restart()")
    expect(one.gone).to_contain_text("this is a record", timeout=SECONDS * 1000)
    lines = one.gone.locator("code").inner_text()
    notebook.wait_until_idle()
    put(notebook, 3, lines)
    notebook.run(3)
    three = CellPanel(notebook, 3)
    three.sees("You said: from the second")
    said = save(notebook, 1, "You said: from the second")
    assert lines in said
    assert "The sum is **45**." in said
    assert "<img" not in said
    kernel(notebook, "shutdown()")
    page.goto(lab.address(notebook.file.name))
    page.get_by_text("A record of a chat with the assistant.").first.wait_for(timeout=SECONDS * 1000)
