"""The panel for people who use no mouse, or do not see it: judged by axe-core in its states, used by keys alone."""

from __future__ import annotations

import json
import os
from pathlib import Path
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

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "ode.txt", "content": "larks\n"}}
ASK: dict[str, Any] = {"tool": "ask_user", "arguments": {"question": "Which colour?", "options": [{"label": "Red"}]}}
ANSWER = """# A title

Some **words**, `code`, $x^2$ and [a site](https://example.org/).

```python
x = 1
```

| a |
|---|
| 1 |
"""
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "It is so."}]},
    {"message": "ode", "reply": [{"reasoning": "Larks, then."}, {"text": "I write it. "}, WRITE]},
    {"message": "colour", "reply": [ASK]},
    {"message": "endless", "reply": [{"text": "on and " * 2000, "chunk": 7, "delay": 0.1}]},
    {"message": "", "reply": [{"reasoning": "A greeting."}, {"text": ANSWER}]},
]
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
# Colours are not judged while they change, nor what only the mouse uncovers.
STILL = "*, ::before, ::after { animation: none !important; transition: none !important; }"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "access.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"access": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/access", "providers": {"scripted": {"models": models}}})


def picture(page: Page, name: str) -> None:
    if folder := os.environ.get("CI_ARTIFACTS"):
        page.locator(".eca-Panel").screenshot(path=Path(folder) / f"access-{name}.png")


@pytest.mark.parametrize("theme", ["JupyterLab Light", pytest.param("JupyterLab Dark", marks=pytest.mark.nightly)])
def test_axe_finds_nothing_wrong_with_the_panel_in_any_of_its_states(page: Page, lab: Lab, theme: str) -> None:
    panel = Panel.open(page, lab)
    page.evaluate(THEME, theme)
    page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
    page.add_style_tag(content=STILL)
    found: dict[str, list[str]] = {}

    def judge(state: str) -> None:
        picture(page, f"{state}-{theme.split()[-1]}")
        for complaint in complaints(page, ".eca-Panel"):
            found.setdefault(complaint, []).append(state)

    judge("empty")
    panel.ask("Hello")
    panel.sees("A title")
    panel.wait_until_idle()
    panel.node.locator(".eca-Reason summary").click()
    judge("answered")
    panel.button("Export this chat").click()
    judge("exporting")
    page.keyboard.press("Escape")
    panel.box.fill("/")
    expect(panel.node.get_by_role("listbox")).to_be_visible()
    judge("completing")
    panel.box.fill("")
    panel.ask("an ode")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    judge("approving")
    panel.button("Reject…").click()
    judge("rejecting")
    page.keyboard.press("Enter")
    panel.sees("It is so.")
    panel.wait_until_idle()
    panel.ask("a colour")
    expect(panel.node.get_by_text("Which colour?").first).to_be_visible(timeout=SECONDS * 1000)
    judge("questioned")
    panel.node.get_by_role("button", name="Red").click()
    panel.wait_until_idle()
    panel.ask("endless")
    panel.sees("on and")
    panel.ask("a steer")
    panel.box.fill("later")
    panel.box.press("Alt+Enter")
    judge("running")
    panel.button("Stop").click()
    panel.wait_until_idle()
    panel.box.fill("")
    panel.button("All chats").click()
    judge("chats")
    assert not found, "\n".join(f"{complaint} (in: {', '.join(states)})" for complaint, states in found.items())


def test_axe_finds_nothing_wrong_with_the_settings(page: Page, lab: Lab) -> None:
    Panel.open(page, lab)
    page.add_style_tag(content=STILL)
    found: dict[str, list[str]] = {}
    for section in ("servers", "providers", "rules", "agents", "skills", "jobs", "costs"):
        page.evaluate("section => window.jupyterapp.commands.execute('eca:open-settings', { section })", section)
        expect(page.locator(f"[role=tab][id$='-{section}'][aria-selected=true]")).to_have_count(1)
        for complaint in complaints(page, ".eca-Settings"):
            found.setdefault(complaint, []).append(section)
    assert not found, "\n".join(f"{complaint} (in: {', '.join(sections)})" for complaint, sections in found.items())


@pytest.mark.nightly
def test_who_wants_no_motion_sees_none_and_a_page_from_right_to_left_has_a_panel_that_is(page: Page, lab: Lab) -> None:
    page.emulate_media(reduced_motion="reduce")
    panel = Panel.open(page, lab)
    panel.ask("Hello")
    panel.sees("A title")
    panel.ask("endless")
    panel.sees("on and")
    moving = """node => [node, ...node.querySelectorAll('*')].flatMap(one => {
      const { animationName, transitionDuration } = getComputedStyle(one);
      return animationName !== 'none' || /[1-9]/.test(transitionDuration) ? [one.className] : [];
    })"""
    assert panel.node.evaluate(moving) == []
    page.evaluate("() => { document.documentElement.dir = 'rtl'; }")
    picture(page, "from-the-right")
    box = panel.node.evaluate("node => [node.scrollWidth, node.clientWidth]")
    assert box[0] <= box[1]
    assert panel.node.evaluate("node => getComputedStyle(node).direction") == "rtl"
    code = panel.node.locator(".eca-Code pre").first
    assert code.evaluate("node => getComputedStyle(node).direction") == "ltr"
    sides = "node => node.getBoundingClientRect().left"
    assert panel.button("All chats").evaluate(sides) > panel.button("New chat").evaluate(sides)
    panel.button("Stop").click()
    panel.wait_until_idle()


def test_everything_is_done_by_keys_alone(page: Page, lab: Lab) -> None:
    """Asked, queued, stopped, approved, changed and asked again, renamed, found and deleted."""
    panel = Panel.open(page, lab)
    page.keyboard.press("Control+Alt+i")
    expect(panel.box).to_be_focused(timeout=SECONDS * 1000)
    page.keyboard.type("an ode")
    page.keyboard.press("Enter")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    tab_to(page, "Approve", backwards=True)
    page.keyboard.press("Enter")
    panel.sees("It is so.")
    panel.wait_until_idle()
    assert (lab.root / "ode.txt").read_text() == "larks\n"

    tab_to(page, "Message to the assistant")
    page.keyboard.type("endless")
    page.keyboard.press("Enter")
    panel.sees("on and")
    page.keyboard.type("a steer")
    page.keyboard.press("Tab")
    tab_to(page, "Stop")
    page.keyboard.press("Enter")
    panel.wait_until_idle()

    tab_to(page, "All chats", backwards=True)
    page.keyboard.press("Enter")
    expect(page.get_by_role("searchbox", name="Find a chat")).to_be_focused()
    tab_to(page, "Rename an ode")
    page.keyboard.press("Enter")
    page.keyboard.type("Larks")
    page.keyboard.press("Enter")
    expect(panel.node.locator(".eca-Chats-open", has_text="Larks")).to_have_count(1, timeout=SECONDS * 1000)
    page.keyboard.press("Escape")
    expect(panel.node.get_by_role("heading", name="Larks")).to_be_visible()


# Notes what a screen reader would say: the text of each live region of the panel whenever it has changed.
LISTEN = """() => {
  window.said = [];
  const regions = '[role=status], [role=alert], [role=log], [aria-live]';
  new MutationObserver(changes => {
    const changed = new Set(changes.map(({ target }) =>
      (target.nodeType === Node.TEXT_NODE ? target.parentElement : target)?.closest(regions)));
    for (const region of changed) {
      const text = region?.getAttribute('aria-live') === 'off' ? '' : region?.textContent.trim() ?? '';
      if (text !== '' && region.isConnected) window.said.push(text);
    }
  }).observe(document.querySelector('.eca-Panel'), { subtree: true, childList: true, characterData: true });
}"""


def test_a_screen_reader_says_once_what_the_assistant_does_and_no_words_of_a_streamed_answer(
    page: Page, lab: Lab
) -> None:
    panel = Panel.open(page, lab)
    page.evaluate(LISTEN)
    panel.ask("Hello")
    panel.sees("A title")
    panel.wait_until_idle()
    page.wait_for_function("() => window.said.includes('The assistant is done.')")
    assert page.evaluate("() => window.said") == ["The assistant is working.", "The assistant is done."]


# The key that a button shows is no part of its name.
NAME_OF_FOCUS = """() => {
  const focused = document.activeElement;
  const copy = focused.cloneNode(true);
  copy.querySelectorAll('[aria-hidden=true]').forEach(node => node.remove());
  return focused.getAttribute('aria-label') ?? copy.innerText.trim();
}"""


def tab_to(page: Page, name: str, *, backwards: bool = False) -> None:
    """Raises: AssertionError when it is not among the next forty places."""
    key = "Shift+Tab" if backwards else "Tab"
    passed: list[str] = []
    for _ in range(40):
        passed.append(page.evaluate(NAME_OF_FOCUS))
        if passed[-1] == name:
            return
        page.keyboard.press(key)
    raise AssertionError(f"{name!r} is not among {passed}")
