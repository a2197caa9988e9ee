"""The administrator's policy as its users see it in JupyterLab."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from jupyter_eca.config.policy.sources import VARIABLE
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.test_settings import manage

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

CONTACT = "Ask it@uni.example."
POLICY: dict[str, Any] = {
    "contact": CONTACT,
    "locked": {"completion": {"model": "scripted/policy"}},
    "limits": {"budget": {"perDay": 2}},
    "features": {"trust": "force-off", "typedKeys": "force-off"},
}


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "policy.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "Hello."}]}]}))
    providers = {"scripted": {"models": {"policy": {"script": str(script)}}}}
    eca = {"defaultModel": "scripted/policy", "providers": providers, "budget": {"perDay": 50}}
    return LabSettings(env={VARIABLE: json.dumps(POLICY)}, eca=eca)


def test_locked_settings_say_who_locked_them_and_the_command_line_of_the_panel_tells_all(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("/doctor")
    panel.sees("Policy of the administrator")
    keep(page, "policy-doctor")
    body = manage(page, "defaults")
    locked = body.get_by_label("Model of completions", exact=True)
    expect(locked).to_be_disabled(timeout=SECONDS * 1000)
    budget = body.get_by_label("Budget of a day, in US dollars", exact=True)
    expect(budget).to_have_value("2")
    expect(body.locator(".eca-Default").get_by_text(CONTACT)).to_have_count(2)
    keep(page, "policy-defaults")
    budget.fill("5")
    body.get_by_role("button", name="Save: Budget of a day, in US dollars").click()
    expect(page.get_by_text("more than 2 for", exact=False).last).to_be_visible(timeout=SECONDS * 1000)
    keep(page, "policy-refused")
