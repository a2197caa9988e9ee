"""Deciding about the tool calls of a turn: all of them at once, and with keys."""

from __future__ import annotations

import json
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


def shell(command: str) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command}}


RULES: list[dict[str, Any]] = [
    {"message": "three", "result": "", "times": 1, "reply": [shell("echo later > later.txt")]},
    {"message": "three", "reply": [shell(f"echo {name} > {name}.txt") for name in ("one", "two", "three")]},
    {"message": "two", "result": "", "reply": [{"text": "That is all."}]},
    {"message": "two", "reply": [shell("echo a > a.txt"), shell("echo b > b.txt")]},
    {"result": "", "reply": [{"text": "That is all."}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "deciding.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"deciding": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/deciding", "providers": {"scripted": {"models": models}}})


def test_all_that_waits_is_approved_at_once_and_what_comes_later_is_asked_again(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("three")
    expect(panel.call("waiting")).to_have_count(3, timeout=SECONDS * 1000)
    for name in ("one", "two", "three"):
        expect(panel.call("waiting").locator("pre").filter(has_text=f"echo {name} > {name}.txt")).to_be_visible()
    button = panel.node.get_by_role("button", name="Approve all 3")
    expect(button).to_contain_text("Ctrl+Shift+Enter")
    # What runs is shown, the reason for asking only in the details.
    first = panel.call("waiting").first
    expect(first.locator(".eca-Tool-title")).to_have_text("Run a command")
    expect(first).not_to_contain_text("Asked:")
    keep(page, "deciding-1-three")
    first.locator(".eca-Tool-head").click()
    expect(first).to_contain_text("Asked: no rule matches it")
    expect(first.locator("pre").filter(has_text="echo one > one.txt")).to_be_visible()
    first.locator(".eca-Tool-head").click()
    panel.box.focus()
    expect(panel.box).to_be_focused()
    page.keyboard.press("Control+Shift+Enter")
    expect(panel.call("done")).to_have_count(3, timeout=SECONDS * 1000)
    later = panel.call("waiting")
    expect(later).to_have_count(1, timeout=SECONDS * 1000)
    expect(later).to_contain_text("echo later > later.txt")
    expect(button).to_have_count(0)
    assert sorted(file.name for file in lab.root.glob("*.txt")) == ["one.txt", "three.txt", "two.txt"]
    later.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Control+Backspace")
    panel.sees("That is all.")
    panel.wait_until_idle()
    assert not (lab.root / "later.txt").exists()


@pytest.mark.nightly
def test_a_key_is_for_the_call_that_shows_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("two")
    waiting = panel.call("waiting")
    expect(waiting).to_have_count(2, timeout=SECONDS * 1000)
    keys = waiting.locator("kbd:visible")
    waiting.first.locator(".eca-Tool-head").focus()
    expect(keys).to_have_text(["Ctrl+Enter", "Ctrl+⌫"])
    expect(waiting.first.locator("kbd:visible")).to_have_count(2)
    # A key edits the text in the box, and decides nothing. In the empty box, only the key that approves is shown.
    panel.box.focus()
    expect(keys).to_have_text(["Ctrl+Enter"])
    page.keyboard.press("Control+Backspace")
    expect(waiting).to_have_count(2)
    panel.box.fill("draft of a message")
    page.keyboard.press("Control+Backspace")
    expect(panel.box).to_have_value("draft of a ")
    panel.box.fill("")
    waiting.last.get_by_role("button", name="Approve", exact=True).focus()
    expect(waiting.last.locator("kbd:visible")).to_have_count(2)
    expect(waiting.first.locator("kbd:visible")).to_have_count(0)
    keep(page, "deciding-2-focus")
    # While a reason is written, no key approves.
    waiting.last.get_by_role("button", name="Reject…").click()
    expect(waiting.last.get_by_role("textbox")).to_be_focused()
    page.keyboard.press("Control+Enter")
    waiting.last.get_by_role("button", name="Back").focus()
    page.keyboard.press("Control+Backspace")
    expect(waiting).to_have_count(2)
    waiting.last.get_by_role("button", name="Back").click()
    waiting.last.get_by_role("button", name="Approve", exact=True).focus()
    page.keyboard.press("Control+Enter")
    # It runs in its turn: after the first one.
    expect(panel.call("ready")).to_contain_text("b.txt", timeout=SECONDS * 1000)
    expect(waiting).to_have_count(1)
    expect(waiting.locator("pre")).to_contain_text("echo a > a.txt")
    panel.box.focus()
    page.keyboard.press("Control+Enter")
    panel.sees("That is all.")
    panel.wait_until_idle()
    assert (lab.root / "a.txt").exists()
