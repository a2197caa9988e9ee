"""Mentions in the prompt box: chips in the text where they were typed, with the keyboard, and what is sent of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.test_outside import prompts

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [{"message": "(?s)(?P<all>.*)", "reply": [{"text": "Heard: $all"}]}]
CELLS = ["# Load the orbits", "orbits = [1, 2, 3]", "1 / 0"]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "mentions.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"echo": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/echo", "providers": {"scripted": {"models": models}}})


def open_notebook(page: Page, lab: Lab, name: str) -> Panel:
    """A notebook with a heading, that has not run."""
    Notebook.show(page, lab, CELLS, name, markdown=[0])
    panel = Panel.show(page)
    panel.box.focus()
    return panel


def choose(panel: Panel, typed: str, option: str) -> None:
    """Type, and choose what the list then offers first."""
    panel.box.press_sequentially(typed)
    chosen = panel.node.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text(option, timeout=SECONDS * 1000)
    panel.box.press("Enter")
    expect(chosen).to_have_count(0)


def test_a_cell_that_is_chosen_by_its_heading_is_a_chip_in_the_text_and_in_the_chat(
    page: Page, lab: Lab, tmp_path: Path
) -> None:
    sent = prompts(page)
    panel = open_notebook(page, lab, f"{tmp_path.name}.ipynb")  # when it is tried again, it has another chat
    choose(panel, "Explain @orbits", "Load the orbits")
    expect(panel.box).to_have_value("Explain @cell:1 ")
    chip = panel.node.locator(".eca-Prompt").get_by_role("img", name="@cell:1: # Load the orbits")
    expect(chip).to_be_visible()
    expect(panel.box).to_have_accessible_description("Mentions: @cell:1: # Load the orbits")

    panel.box.press_sequentially("and its ")
    choose(panel, "@cell:2", "orbits = [1, 2, 3]")
    panel.box.press_sequentially("briefly")
    panel.box.press("Enter")
    panel.sees("Heard: Explain @cell:1 and its @cell:2 briefly")
    panel.wait_until_idle()
    # The place of the cursor is sent, too.
    assert [context["cell"] for context in sent[0] if context["type"] == "cell"][-2:] == ["c0", "c1"]
    expect(panel.box).to_have_value("")
    expect(panel.mentions).to_have_count(0)

    shown = panel.message("Explain").get_by_role("button", name="Show @cell:")
    expect(shown).to_have_text(["@cell:1", "@cell:2"])
    page.reload()
    panel = Panel.show(page)
    expect(shown).to_have_text(["@cell:1", "@cell:2"], timeout=SECONDS * 1000)

    # The message is changed and sent again, with its chips.
    panel.message("Explain").hover()
    panel.button("Change this message and ask again").click()
    expect(panel.mentions).to_have_text(["@cell:1", "@cell:2"])
    panel.box.press("End")
    panel.box.press_sequentially(" please")
    panel.box.press("Enter")
    panel.sees("briefly please")
    expect(shown).to_have_text(["@cell:1", "@cell:2"])


def test_the_keyboard_treats_a_chip_as_one_letter(page: Page, lab: Lab) -> None:
    panel = open_notebook(page, lab, "keys.ipynb")
    box = panel.box
    choose(panel, "a @cell:2", "orbits = [1, 2, 3]")
    expect(box).to_have_value("a @cell:2 ")
    caret = "box => [box.selectionStart, box.selectionEnd]"

    # The arrows pass it, and with Shift they select it whole.
    box.press("ArrowLeft")
    box.press("ArrowLeft")
    assert box.evaluate(caret) == [2, 2]
    box.press("ArrowRight")
    assert box.evaluate(caret) == [9, 9]
    expect(panel.node.locator(".eca-Completion")).to_have_count(0)
    box.press("Shift+ArrowLeft")
    assert box.evaluate(caret) == [2, 9]
    box.press("ArrowRight")

    # Backspace deletes it whole, and undo brings it back.
    box.press("Backspace")
    expect(box).to_have_value("a  ")
    expect(panel.mentions).to_have_count(0)
    box.press("Control+z")
    expect(box).to_have_value("a @cell:2 ")
    expect(panel.mentions).to_have_text(["@cell:2"])
    box.press("Control+Shift+z")
    expect(box).to_have_value("a  ")
    box.press("Control+z")
    box.press("Control+End")
    box.press("Control+Backspace")
    expect(box).to_have_value("a ")
    box.press("Control+z")
    box.press("Home")
    box.press("ArrowRight")
    box.press("ArrowRight")
    box.press("Delete")
    expect(box).to_have_value("a  ")
    box.press("Control+z")
    expect(panel.mentions).to_have_text(["@cell:2"])

    # What is cut and pasted is a chip again, and is plain text elsewhere.
    box.press("Control+a")
    box.press("Control+x")
    expect(box).to_have_value("")
    box.press("Control+v")
    box.press("Control+v")
    expect(panel.mentions).to_have_text(["@cell:2", "@cell:2"])

    # Shift+Enter breaks the line, and a mention that is typed to its end is a chip, too.
    box.press("Shift+Enter")
    box.press_sequentially("see @cell:1")
    expect(panel.node.get_by_role("option").first).to_contain_text("Load the orbits", timeout=SECONDS * 1000)
    box.press_sequentially(" and")
    expect(box).to_have_value("a @cell:2 a @cell:2 \nsee @cell:1 and")
    expect(panel.mentions).to_have_text(["@cell:2", "@cell:2", "@cell:1"])


@pytest.mark.nightly
def test_a_word_is_composed_beside_a_chip(page: Page, lab: Lab) -> None:
    panel = open_notebook(page, lab, "compose.ipynb")
    choose(panel, "@cell:2", "orbits = [1, 2, 3]")
    # The stubs do not say what it takes.
    keyboard: Any = page.context.new_cdp_session(page)
    for text in ("n", "ni", "に"):
        keyboard.send("Input.imeSetComposition", {"text": text, "selectionStart": len(text), "selectionEnd": len(text)})
        expect(panel.box).to_have_value(f"@cell:2 {text}")
        expect(panel.mentions).to_have_text(["@cell:2"])
    keyboard.send("Input.insertText", {"text": "日本"})
    expect(panel.box).to_have_value("@cell:2 日本")
    expect(panel.mentions).to_have_text(["@cell:2"])


def test_a_draft_keeps_its_chips_in_the_list_of_chats_and_over_a_reload(page: Page, lab: Lab) -> None:
    sent = prompts(page)
    panel = open_notebook(page, lab, "draft.ipynb")
    choose(panel, "later @cell:2", "orbits = [1, 2, 3]")
    panel.button("All chats").click()
    panel.button("Back to the chat").click()
    expect(panel.mentions).to_have_text(["@cell:2"])
    page.reload()
    panel = Panel.show(page)
    expect(panel.box).to_have_value("later @cell:2 ")
    expect(panel.mentions).to_have_text(["@cell:2"])
    panel.box.press("Enter")
    panel.sees("Heard: later @cell:2")
    assert [context["cell"] for context in sent[0] if context["type"] == "cell"][-1:] == ["c1"]


@pytest.mark.nightly
@pytest.mark.parametrize("width", [260, 420])
def test_the_chips_lie_below_their_words_where_lines_wrap_and_scroll(page: Page, lab: Lab, width: int) -> None:
    panel = open_notebook(page, lab, f"wrap{width}.ipynb")
    choose(panel, "@cell:2", "orbits = [1, 2, 3]")
    panel.node.evaluate("(node, width) => { node.style.width = `${width}px`; }", width)
    words = "a longer word and another, " * 40
    panel.box.fill(f"@cell:2 {words}\n\n@cell:2 {words}@cell:2 end")
    expect(panel.mentions).to_have_count(3)
    panel.box.press("Control+End")
    panel.box.press_sequentially("!")
    # The copy has the lines of the field, so both are as high as the text, and the caret is in view.
    sizes = panel.box.evaluate(
        """box => {
          const copy = box.parentElement.querySelector('.eca-Prompt-copy');
          const frame = box.parentElement;
          return {
            field: [box.scrollHeight, box.clientHeight, box.clientWidth],
            copy: [copy.scrollHeight, copy.clientHeight, copy.clientWidth],
            scrolls: frame.scrollHeight > frame.clientHeight,
            below: frame.scrollHeight - frame.clientHeight - frame.scrollTop
          };
        }"""
    )
    assert sizes["field"] == sizes["copy"]
    assert sizes["scrolls"]
    assert sizes["below"] < 10


@pytest.mark.nightly
def test_a_table_of_a_connection_is_chosen_and_its_rows_are_sent(page: Page, lab: Lab) -> None:
    source = (
        "import sqlite3\n"
        "con = sqlite3.connect(':memory:')\n"
        "con.executescript('CREATE TABLE orders (id INT, customer TEXT)')\n"
        "con.execute('INSERT INTO orders VALUES (7, ?)', ('Ada',))"
    )
    notebook = Notebook.open(page, lab, [source], "tables.ipynb")
    notebook.run(0)
    notebook.wait_until_run(0)
    panel = Panel.show(page)
    # A kernel that is slow to answer is asked again when one goes on typing.
    offer = panel.node.get_by_role("option").filter(has_text="table of con: id, customer")
    empty = panel.node.get_by_text("Nothing found.")
    panel.box.focus()
    panel.box.press_sequentially("Sum up @table:")
    expect(offer.or_(empty).first).to_be_visible(timeout=SECONDS * 1000)
    while not offer.is_visible():
        panel.box.press("Backspace")
        panel.box.press_sequentially(":")
        expect(offer.or_(empty).first).to_be_visible(timeout=SECONDS * 1000)
    panel.box.press("Enter")
    expect(panel.box).to_have_value("Sum up @table:orders ")
    expect(panel.mentions).to_have_text(["@table:orders"])
    panel.box.press("Enter")
    panel.sees("con.orders: table of sqlite3.Connection 1 x 2")
    panel.sees("row 1: 7, 'Ada'")


@pytest.mark.nightly
def test_variables_are_said_to_be_missing_while_the_kernel_is_busy_and_are_listed_when_it_is_free(
    page: Page, lab: Lab
) -> None:
    wait = "import os, time\nwhile not os.path.exists('go'): time.sleep(0.05)\nplanets = 8\nprint('went')"
    notebook = Notebook.open(page, lab, ["print('here')", wait], "busy.ipynb")
    notebook.run(0)
    notebook.wait_for_output(0, "here")
    panel = Panel.show(page)
    notebook.run(1)
    notebook.wait_until("window.jupyterapp.shell.currentWidget.content.widgets[1].model.executionState === 'running'")
    panel.box.focus()
    panel.box.press_sequentially("Count the @planets")
    expect(panel.node.locator(".eca-Completion")).to_contain_text(
        "The kernel is busy: its variables are listed when it is free.", timeout=SECONDS * 1000
    )
    (lab.root / "go").touch()
    notebook.wait_for_output(1, "went")
    option = panel.node.locator("[role=option]", has_text="planets")
    expect(option).to_have_count(1, timeout=SECONDS * 1000)
    expect(panel.node.locator(".eca-Completion .eca-Note")).to_have_count(0)
