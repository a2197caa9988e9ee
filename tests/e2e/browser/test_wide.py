"""Ten megabytes in one line, from a model and from a tool: the page stays with its reader."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

WIDE = 10_000_000
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "The tool is done."}]},
    {"message": "model", "reply": [{"text": "x" * WIDE, "chunk": 100_000}]},
    {"message": "tool", "reply": [{"tool": "read_file", "arguments": {"path": "wide.txt"}}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "wide.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"wide": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/wide", "providers": {"scripted": {"models": models}}})


def test_ten_megabytes_in_a_line_are_shown_and_the_page_goes_on(page: Page, lab: Lab) -> None:
    (lab.root / "wide.txt").write_text("y" * WIDE)
    panel = Panel.open(page, lab)
    panel.ask("tool")
    panel.sees("The tool is done.")
    panel.wait_until_idle()
    panel.ask("model")
    expect(panel.node.locator(".eca-LongText").last).to_contain_text("xxxx", timeout=SECONDS * 1000)
    panel.wait_until_idle()
    panel.box.fill("still")
    expect(panel.box).to_have_value("still")
    panel.box.press("Enter")
    panel.sees("You said: still")
    assert page.evaluate("1 + 1") == 2
