"""Texts in the panel of a cell: formulas are drawn, links to files say where they lead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.widgets import CellPanel

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab
    from tests.e2e.browser.listener import Listener

pytestmark = pytest.mark.browser

FORMULAS = (
    "Inline $a_1 * b_2 < c_3$, a price of \\$5, `$code$` and\n\n$$\\begin{matrix}a & b \\\\ c & d\\end{matrix}$$\n\n"
    "$\\style{background-image:url(URL/style)}{x}$ $x@@0@@ <img src=URL/img>$ [a@@0@@](@@1@@)\n\nEnd of it."
)


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "texts.json"
    rules: list[dict[str, Any]] = [{"message": "", "reply": [{"text": FORMULAS.replace("URL", listener.url)}]}]
    script.write_text(json.dumps({"rules": rules}))
    models = {"texts": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/texts", "providers": {"scripted": {"models": models}}})


@pytest.mark.nightly
def test_formulas_are_drawn_and_load_nothing_and_an_exported_chat_is_named(
    page: Page, lab: Lab, listener: Listener
) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca panel"], "texts.ipynb")
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    panel = CellPanel(notebook, 1)
    panel.ask("formulas")
    panel.sees("End of it.")
    panel.wait_until_idle()
    answer = panel.node.locator(".eca-Answer")
    expect(answer.locator("mjx-container")).not_to_have_count(0, timeout=SECONDS * 1000)
    expect(answer.locator("mjx-mtable")).to_have_count(1)
    expect(answer.locator("p").first.locator("mjx-container")).to_have_count(1)
    expect(answer.locator("p").first.locator("code")).to_have_text("$code$")
    assert "<em>" not in answer.locator("p").first.inner_html()
    assert answer.locator("img").count() == 0

    panel.ask("/export")
    link = panel.node.get_by_role("link", name="formulas.md")
    expect(link).to_be_visible(timeout=SECONDS * 1000)
    link.click()
    expect(panel.node.locator(".eca-Message")).to_contain_text("formulas.md")
    page.evaluate("url => fetch(url)", f"{listener.url}/last")
    assert listener.paths == ["/last"]
