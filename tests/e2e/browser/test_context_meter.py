"""The meter below the prompt box: how full the model's context is, what fills it, and how it is compacted."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "A long answer. " * 200}]}]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "meter.json"
    script.write_text(json.dumps({"rules": RULES, "window": 16_000}))
    models = {"meter": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/meter", "providers": {"scripted": {"models": models}}})


@pytest.mark.nightly
def test_a_click_on_the_meter_shows_what_fills_the_context_and_compacts_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    (lab.root / "notes.md").write_text("Some notes. " * 300)
    for question in ("Explain @notes.md please", "And then?"):
        panel.ask(question)
        panel.sees("A long answer.")
        panel.wait_until_idle()
    meter = panel.node.get_by_role("button", name="of 16k tokens of context used")
    expect(meter).to_be_visible(timeout=SECONDS * 1000)
    panel.box.fill("a draft")
    meter.click()
    shown = panel.node.get_by_role("dialog", name="What fills the context")
    expect(shown).to_be_focused()
    names = ["Instructions", "Tools", "Contexts", "History", "Results of tools", "Free"]
    expect(shown.get_by_role("rowheader")).to_have_text(names)
    shares = [int(text.removesuffix("%")) for text in shown.locator("td:last-child").all_inner_texts()]
    assert 98 <= sum(shares) <= 102
    assert min(shares[0], shares[2], shares[3]) > 0
    assert complaints(page, ".eca-Panel") == []

    page.keyboard.press("Escape")
    expect(shown).to_have_count(0)
    expect(meter).to_be_focused()
    meter.press("Enter")
    shown.get_by_role("button", name="Compact").click()
    expect(shown).to_have_count(0)
    expect(panel.message("/compact")).to_have_count(1)
    panel.sees("it goes on with a summary")
    expect(panel.box).to_have_value("a draft")
