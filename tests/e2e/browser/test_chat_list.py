"""The list of chats in a real JupyterLab."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "poem.txt", "content": "roses\n"}}
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "Done."}]},
    {"message": "poem", "reply": [WRITE]},
    {"message": "broken", "reply": [{"error": "The model is out of order."}]},
    {
        "message": "merge",
        "reply": [{"text": "An inner merge keeps common keys. So unmatched ROWS are lost.", "chunk": 3}],
    },
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "list.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"list": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/list", "providers": {"scripted": {"models": models}}})


def ask(panel: Panel, text: str, answer: str) -> None:
    panel.ask(text)
    panel.sees(answer)
    panel.wait_until_idle()


def group(panel: Panel, name: str) -> Locator:
    return panel.node.get_by_role("region", name=name, exact=True)


def test_a_chat_is_found_by_a_sentence_of_its_answer(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "Why does the merge lose them?", "ROWS are lost.")
    panel.button("New chat").click()
    ask(panel, "Something else", "You said: Something else")
    panel.button("All chats").click()
    box = page.get_by_role("searchbox", name="Find a chat")
    expect(box).to_be_focused()
    box.press_sequentially("unmatched rows")
    row = panel.node.locator(".eca-Chats-open")
    expect(row).to_have_count(1, timeout=SECONDS * 1000)
    expect(row).to_contain_text("So unmatched ROWS are lost.")
    expect(row.locator("mark")).to_have_text(["unmatched", "ROWS"])
    expect(panel.node.get_by_role("status").filter(has_text="1 chat")).to_have_count(1)
    box.fill("nobody wrote this")
    expect(panel.node.get_by_text("No chat has these words.")).to_be_visible()
    box.fill("unmatched")
    expect(row).to_have_count(1)
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    expect(row).to_be_focused()
    page.keyboard.press("Enter")
    panel.sees("So unmatched ROWS are lost.")


def test_chats_are_grouped_by_notebook_by_date_and_by_what_they_are_doing(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "grouped.ipynb")
    panel = Panel.show(page)
    ask(panel, "grouped one", "You said: grouped one")
    panel.button("New chat").click()
    panel.ask("broken, please")
    panel.wait_until_idle()
    panel.button("New chat").click()
    panel.ask("Write a poem")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)

    panel.button("All chats").click()
    own = group(panel, "grouped.ipynb")
    expect(own.locator(".eca-Chats-open")).to_have_count(3)
    expect(panel.node.locator("section").first).to_have_attribute("aria-label", "grouped.ipynb")
    expect(own.locator(".eca-Chats-open", has_text="Write a poem")).to_contain_text("waiting for you")
    expect(own.locator(".eca-Chats-open", has_text="broken")).to_contain_text("failed")

    grouping = panel.node.get_by_role("combobox", name="Group the chats by")
    grouping.select_option(label="By state")
    expect(group(panel, "Waiting for you").locator(".eca-Chats-open")).to_have_text([re.compile("Write a poem")])
    expect(group(panel, "Failed").locator(".eca-Chats-open")).to_have_text([re.compile(r"broken.*grouped\.ipynb")])
    expect(group(panel, "Done").locator(".eca-Chats-open", has_text="grouped one")).to_have_count(1)
    assert complaints(page, ".eca-Panel") == []
    grouping.select_option(label="By date")
    expect(group(panel, "Today").locator(".eca-Chats-open", has_text="grouped one")).to_contain_text("grouped.ipynb")

    # The choice is one of Lab's settings, so it is still there in the next list.
    panel.button("Back to the chat").click()
    panel.button("All chats").click()
    expect(grouping).to_have_value("date")
    grouping.select_option(label="By state")
    panel.button("Back to the chat").click()
    panel.button("Approve").click()
    panel.sees("Done.")
    panel.wait_until_idle()
    panel.button("All chats").click()
    expect(group(panel, "Done").locator(".eca-Chats-open", has_text="Write a poem")).to_have_count(1)
