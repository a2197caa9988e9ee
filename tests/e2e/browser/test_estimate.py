"""What a message would send and cost, told in the panel before it is sent."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "estimate.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "You said: {message}"}]}]}))
    rates = {"cost": {"input": 3, "output": 15}, "limit": {"context": 200_000}}
    models = {"paid": {"script": str(script), **rates}}
    return LabSettings(eca={"defaultModel": "scripted/paid", "providers": {"scripted": {"models": models}}})


@pytest.mark.nightly
def test_what_a_message_would_send_is_told_before_it_is_sent(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    line = panel.node.locator(".eca-Estimate p")
    expect(line).to_have_count(0)
    panel.box.fill("Why is the sky blue?")
    expect(line).to_contain_text(re.compile(r"≈ [0-9.]+k tokens0\.0[0-9]+ USD \+ answer"), timeout=SECONDS * 1000)
    panel.button("Show the exact request").click()
    request = panel.node.get_by_role("region", name="The exact request")
    expect(request).to_contain_text("What would be sent to scripted/paid")
    expect(request).to_contain_text('"model": "scripted/paid"')
    while (more := request.get_by_text(re.compile("Show more"))).count():
        more.click()
    expect(request).to_contain_text("Why is the sky blue?")
    assert panel.transcript.count() == 0
    panel.button("Close the request").click()
    expect(request).to_have_count(0)
    panel.button("Show the exact request").click()
    expect(request).to_be_visible()
    panel.box.press("Enter")
    panel.sees("You said: Why is the sky blue?")
    expect(line).to_have_count(0)
    panel.box.fill("And at night?")
    expect(line).to_contain_text("+ answer", timeout=SECONDS * 1000)
