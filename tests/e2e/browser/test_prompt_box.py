"""The prompt box and the transcript above it: what is typed is kept, and so are the focus and the place."""

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

pytestmark = pytest.mark.browser

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "lines.txt", "content": "one\n"}}
RULES: list[dict[str, Any]] = [
    {"result": "rejected", "reply": [{"text": "I leave it."}]},
    {"result": "", "reply": [{"text": "It is written."}]},
    {"message": "write", "reply": [{"text": "I write it. "}, WRITE]},
    {"message": "endless", "reply": [{"text": "on and " * 2000, "chunk": 7, "delay": 0.1}]},
    {"message": "many", "reply": [{"text": "".join(f"Paragraph {n}.\n\n" for n in range(200))}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "box.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"box": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/box", "providers": {"scripted": {"models": models}}})


def ask(panel: Panel, words: str) -> None:
    """Ask and wait for the whole answer."""
    panel.ask(words)
    panel.sees(f"You said: {words}")
    panel.wait_until_idle()


def test_enter_runs_the_command_that_is_typed_in_full(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.box.press_sequentially("/go")
    first = panel.node.get_by_role("option").first
    expect(first).to_contain_text("/go", timeout=SECONDS * 1000)
    panel.box.press("Enter")
    panel.sees("There is no plan to carry out here.")
    expect(panel.message("/go")).to_have_count(1)


@pytest.mark.nightly
def test_a_command_that_is_typed_faster_than_the_list_comes_is_the_one_that_runs(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.box.press_sequentially("/")
    expect(panel.node.get_by_role("option").first).to_be_visible(timeout=SECONDS * 1000)
    page.context.set_offline(True)  # No newer list can come.
    panel.box.evaluate("box => box.setSelectionRange(1, 1)")
    page.keyboard.insert_text("go")
    expect(panel.node.get_by_role("option").first).to_contain_text("/go")
    expect(panel.node.get_by_role("option", name="/compact")).to_have_count(0)


def test_what_is_typed_is_kept_in_its_chat_and_over_a_reload(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "first topic")
    panel.box.fill("half a thought")
    panel.button("All chats").click()
    panel.button("Back to the chat").click()
    expect(panel.box).to_have_value("half a thought")

    panel.button("New chat").click()
    expect(panel.box).to_have_value("")
    ask(panel, "second topic")
    panel.box.fill("another thought")
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open", has_text="first topic").click()
    expect(panel.box).to_have_value("half a thought")

    page.reload()
    panel = Panel.show(page)
    expect(panel.box).to_have_value("half a thought")
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open", has_text="second topic").click()
    expect(panel.box).to_have_value("another thought")
    panel.box.press("Enter")
    panel.sees("You said: another thought")
    panel.wait_until_idle()
    panel.button("All chats").click()
    panel.button("Back to the chat").click()
    expect(panel.box).to_have_value("")


@pytest.mark.nightly
def test_what_is_typed_in_a_chat_that_never_began_goes_to_the_next_new_chat(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "an old chat")
    panel.button("New chat").click()
    panel.box.fill("not yet asked")
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open", has_text="an old chat").first.click()
    expect(panel.box).to_have_value("")
    panel.button("New chat").click()
    expect(panel.box).to_have_value("not yet asked")


@pytest.mark.nightly
def test_what_is_typed_in_a_chat_goes_with_the_chat_when_it_is_deleted(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "a private topic")
    panel.box.fill("a private thought")
    stored = "() => JSON.stringify({ ...sessionStorage }).includes('a private thought')"
    page.wait_for_function(stored)
    panel.button("New chat").click()
    panel.button("All chats").click()
    row = panel.node.locator(".eca-Chats li", has_text="a private topic")
    row.hover()
    row.get_by_role("button", name="Delete a private topic").click()
    expect(row).to_have_count(0, timeout=SECONDS * 1000)
    assert not page.evaluate(stored)


@pytest.mark.nightly
def test_the_focus_stays_at_the_call_when_a_reason_is_left_and_when_it_is_given(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("write")
    panel.button("Reject…").focus()
    panel.button("Reject…").press("Enter")
    reason = panel.node.get_by_role("textbox", name="Reason, sent to the assistant")
    expect(reason).to_be_focused(timeout=SECONDS * 1000)
    reason.press("Escape")
    expect(panel.call("waiting").locator(".eca-Tool-head")).to_be_focused()
    panel.button("Reject…").press("Enter")
    reason.press("Enter")
    panel.sees("I leave it.")
    expect(panel.call("rejected").last.locator(".eca-Tool-head")).to_be_focused()


def test_the_focus_stays_in_the_panel_after_a_decision_and_after_stop(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("write")
    panel.button("Approve").focus()
    panel.button("Approve").press("Enter")
    panel.sees("It is written.")
    expect(panel.call("done").locator(".eca-Tool-head")).to_be_focused()
    panel.wait_until_idle()
    panel.ask("endless")
    panel.sees("on and")
    panel.button("Stop").focus()
    panel.button("Stop").press("Enter")
    panel.wait_until_idle()
    expect(panel.box).to_be_focused()
    (lab.root / "lines.txt").unlink()


@pytest.mark.nightly
def test_the_pencil_gives_the_box_the_focus_and_cancelling_brings_back_what_was_typed(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "once")
    panel.box.fill("for later")
    panel.message("once").hover()
    panel.button("Change this message and ask again").click()
    expect(panel.box).to_be_focused()
    expect(panel.box).to_have_value("once")
    panel.box.press("Escape")
    expect(panel.box).to_have_value("for later")
    expect(panel.node.get_by_text("Changing your last message")).to_have_count(0)
    panel.message("once").hover()
    panel.button("Change this message and ask again").click()
    panel.box.fill("twice")
    panel.box.press("Enter")
    panel.sees("You said: twice")
    panel.wait_until_idle()
    expect(panel.message("once")).to_have_count(0)
    expect(panel.box).to_have_value("for later")


@pytest.mark.nightly
def test_a_message_that_is_being_changed_is_left_when_the_chat_goes_back_before_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "first")
    ask(panel, "second")
    panel.message("second").hover()
    panel.button("Change this message and ask again").click()
    expect(panel.node.get_by_text("Changing your last message")).to_be_visible()
    panel.message("first").hover()
    panel.message("first").get_by_role("button", name="Go back to before this message").click()
    panel.button("Messages only").click()
    expect(panel.message("second")).to_have_count(0)
    expect(panel.node.get_by_text("Changing your last message")).to_have_count(0)
    expect(panel.box).to_have_value("first")
    panel.box.press("Enter")
    panel.sees("You said: first")


@pytest.mark.nightly
def test_who_asks_while_reading_further_up_sees_the_new_question_and_its_answer(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("many paragraphs")
    panel.sees("Paragraph 199.")
    panel.wait_until_idle()
    panel.transcript.hover()
    page.mouse.wheel(0, -1500)
    expect(panel.button("Jump to the end")).to_be_visible()
    panel.ask("a new question")
    expect(panel.message("a new question")).to_be_in_viewport()
    expect(panel.node.get_by_text("You said: a new question")).to_be_in_viewport()
    expect(panel.button("Jump to the end")).to_have_count(0)
