"""What calls a user who looks at another tab: the title of the tab, and a notification of the browser."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "poem.txt", "content": "roses\n"}}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "poem", "reply": [WRITE]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]

# A headless browser draws all of its pages, and shows no notifications: the page says that it is hidden, and keeps what
# it is asked to show.
OUTSIDE = """
window.outside = { hidden: false, shown: [] };
Object.defineProperty(document, 'hidden', { get: () => window.outside.hidden });
window.Notification = class {
  static permission = 'default';
  static requestPermission() {
    this.permission = 'granted';
    return Promise.resolve('granted');
  }
  constructor(heading, { body }) {
    window.outside.shown.push([heading, body]);
    window.outside.last = this;
  }
  close() {}
};
"""
HIDE = """hidden => {
  window.outside.hidden = hidden;
  document.dispatchEvent(new Event('visibilitychange'));
}"""
MARK = re.compile("^[❗✓⋯]")


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "attention.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"attention": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/attention", "providers": {"scripted": {"models": models}}})


def test_a_user_in_another_tab_is_called_when_an_answer_waits_or_ends(page: Page, lab: Lab) -> None:
    page.add_init_script(OUTSIDE)
    panel = Panel.open(page, lab)
    offer = panel.node.get_by_role("status").filter(has_text="notify you when an answer ends")

    page.evaluate(HIDE, True)
    panel.ask("Write a poem")
    expect(page).to_have_title(re.compile("^❗ "), timeout=SECONDS * 1000)
    assert page.evaluate("window.outside.shown") == []

    # Whoever comes back is asked once, and the question lies over nothing.
    page.evaluate(HIDE, False)
    expect(offer).to_be_visible(timeout=SECONDS * 1000)
    keep(page, "notification-offer")
    panel.button("Stop").click(trial=True)
    panel.box.click(trial=True)
    offer.get_by_role("button", name="Notify me").click()
    panel.button("Approve").click()
    panel.sees("Done.")
    panel.wait_until_idle()
    expect(page).not_to_have_title(MARK)

    page.evaluate(HIDE, True)
    panel.ask("about the secret merger")
    expect(page).to_have_title(re.compile("^✓ "), timeout=SECONDS * 1000)
    ((heading, body),) = page.evaluate("window.outside.shown")
    assert heading == "The answer is ready"
    assert "merger" not in body

    page.evaluate(HIDE, False)
    expect(page).not_to_have_title(MARK)
    expect(offer).to_have_count(0)

    # A click on the notification leads to its chat.
    panel.button("New chat").click()
    expect(panel.message("about the secret merger")).to_have_count(0)
    page.evaluate("window.outside.last.onclick()")
    panel.sees("You said: about the secret merger")
