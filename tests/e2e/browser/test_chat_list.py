"""The list of chats in a real JupyterLab, and the chat that the panel shows with each notebook."""

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
from tests.e2e.browser.pictures import keep

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
    {"message": "long story", "reply": [{"text": "A line.\n\n" * 60 + "The end of it."}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]

OPEN = "path => window.jupyterapp.commands.execute('docmanager:open', { path }).then(() => undefined)"


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


def open_notebook(page: Page, path: str) -> None:
    page.evaluate(OPEN, path)
    page.wait_for_function(
        "path => window.jupyterapp.shell.currentWidget?.context?.path === path", arg=path, timeout=SECONDS * 1000
    )


def group(panel: Panel, name: str) -> Locator:
    return panel.node.get_by_role("region", name=name, exact=True)


def test_the_panel_shows_the_chat_of_the_notebook_in_front_unless_it_is_pinned(page: Page, lab: Lab) -> None:
    lab.write_notebook("second.ipynb", ["y = 2"])
    Notebook.show(page, lab, ["x = 1"], "first.ipynb")
    panel = Panel.show(page)
    ask(panel, "about the first", "You said: about the first")
    open_notebook(page, "second.ipynb")
    expect(panel.node.get_by_role("heading", name="New chat")).to_be_visible()
    ask(panel, "about the second", "You said: about the second")
    panel.box.fill("half a thought")
    open_notebook(page, "first.ipynb")
    panel.sees("You said: about the first")
    expect(panel.box).to_have_value("")
    open_notebook(page, "second.ipynb")
    expect(panel.box).to_have_value("half a thought")

    pin = panel.node.get_by_role("button", name="Pin this chat")
    expect(pin).to_have_attribute("aria-pressed", "false")
    pin.focus()
    page.keyboard.press("Enter")
    expect(pin).to_have_attribute("aria-pressed", "true")
    open_notebook(page, "first.ipynb")
    panel.sees("You said: about the second")
    pin.click()
    panel.sees("You said: about the first")

    # Another browser knows only what the server stores.
    other = page.context.new_page()
    other.goto(lab.address("second.ipynb"))
    panel = Panel.show(other)
    panel.sees("You said: about the second")


def test_the_panel_shows_the_chat_that_a_cell_of_the_notebook_begins(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["%load_ext jupyter_eca", "%%eca\nfrom a cell"], "cells.ipynb")
    panel = Panel.show(page)
    expect(panel.node.get_by_role("heading", name="New chat")).to_be_visible()
    notebook.wait_until_idle()
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    panel.sees("You said: from a cell")


def test_a_pinned_chat_is_at_the_top_of_the_list_also_after_a_reload(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for words in ("keep this one", "a newer one"):
        ask(panel, words, f"You said: {words}")
        panel.button("New chat").click()
    panel.button("All chats").click()
    pin = panel.node.get_by_role("button", name="Pin keep this one")
    with page.expect_response("**/api/settings/**", timeout=SECONDS * 1000):
        pin.focus()
        page.keyboard.press("Enter")
    expect(group(panel, "Pinned").locator(".eca-Chats-title")).to_have_text(["keep this one"])
    page.reload()
    panel = Panel.show(page)
    panel.button("All chats").click()
    expect(panel.node.get_by_role("region").locator(".eca-Chats-title").first).to_have_text("keep this one")
    expect(pin).to_have_attribute("aria-pressed", "true")
    pin.click()
    expect(group(panel, "Pinned")).to_have_count(0)


@pytest.mark.nightly
def test_a_question_about_one_notebook_is_not_asked_in_the_chat_of_another(page: Page, lab: Lab) -> None:
    lab.write_notebook("later.ipynb", ["y = 2"])
    Notebook.show(page, lab, ["x = 1"], "earlier.ipynb")
    panel = Panel.show(page)
    ask(panel, "about the earlier one", "You said: about the earlier one")
    # The button below an error does the same. The notebook has come to the front a moment before.
    page.evaluate(
        """async path => {
          await window.jupyterapp.commands.execute('docmanager:open', { path });
          await window.jupyterapp.commands.execute('eca:open-panel', { message: 'fix the later one' });
        }""",
        "later.ipynb",
    )
    panel.sees("You said: fix the later one")
    expect(panel.message("about the earlier one")).to_have_count(0)


def test_a_chat_is_found_by_a_sentence_of_its_answer(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "Why does the merge lose them?", "ROWS are lost.")
    ask(panel, "A long story, please", "The end of it.")
    expect(panel.message("Why does the merge lose them?")).not_to_be_in_viewport()
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
    # The chat opens at the message that was found, and not at its end.
    found = panel.node.locator(".eca-mod-found")
    expect(found).to_contain_text("So unmatched ROWS are lost.")
    expect(found).to_be_in_viewport()
    keep(page, "found-message")
    assert page.evaluate("() => [...CSS.highlights.get('eca-found')].map(String)") == ["unmatched"]
    panel.button("Jump to the end").click()
    expect(found).not_to_be_in_viewport()


def test_enter_in_the_search_opens_the_first_chat_that_is_found(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    ask(panel, "Where are the quinces?", "You said: Where are the quinces?")
    panel.button("New chat").click()
    ask(panel, "Something newer", "You said: Something newer")
    panel.button("All chats").click()
    box = page.get_by_role("searchbox", name="Find a chat")
    page.keyboard.press("Enter")
    expect(box).to_be_focused()
    box.press_sequentially("quinces")
    expect(panel.node.locator(".eca-Chats-open")).to_have_count(1, timeout=SECONDS * 1000)
    page.keyboard.press("Enter")
    panel.sees("You said: Where are the quinces?")


@pytest.mark.nightly
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


def test_a_deleted_chat_comes_back_by_undo_in_all_pages_and_stays_away_without_it(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for text in ("tulips", "crocuses"):
        panel.button("New chat").click()
        ask(panel, text, f"You said: {text}")
    panel.box.fill("half a thought")
    panel.button("All chats").click()
    other_page = page.context.new_page()
    other = Panel.open(other_page, lab)
    other.button("All chats").click()
    row, other_row = (it.node.locator(".eca-Chats li", has_text="crocuses") for it in (panel, other))
    expect(other_row).to_have_count(1)

    # The panel shows this chat behind its list.
    page.bring_to_front()
    row.hover()
    panel.button("Delete crocuses").click()
    expect(row).to_have_count(0)
    notice = panel.node.get_by_role("status").filter(has_text="Deleted: crocuses")
    expect(notice).to_have_count(1)
    expect(other_row).to_have_count(0)
    assert complaints(page, ".eca-Panel") == []
    undo = notice.get_by_role("button", name="Undo", exact=True)
    undo.focus()
    keep(page, "deleted")
    page.keyboard.press("Enter")
    expect(row).to_have_count(1)
    expect(notice).to_have_count(0)
    expect(other_row).to_have_count(1)
    panel.button("Back to the chat").click()
    panel.sees("You said: crocuses")
    expect(panel.box).to_have_value("half a thought")

    panel.button("All chats").click()
    tulips = panel.node.locator(".eca-Chats li", has_text="tulips")
    panel.button("Delete tulips").focus()
    page.keyboard.press("Enter")
    expect(panel.node.get_by_role("status").filter(has_text="Deleted: tulips")).to_have_count(1)
    expect(tulips).to_have_count(0)
    page.keyboard.press("Control+z")
    expect(tulips).to_have_count(1)
    panel.button("Delete tulips").click()
    expect(panel.node.get_by_role("status").filter(has_text="Deleted: tulips")).to_have_count(1)
    page.reload()
    panel = Panel.show(page)
    panel.button("All chats").click()
    expect(row).to_have_count(1)
    expect(tulips).to_have_count(0)
