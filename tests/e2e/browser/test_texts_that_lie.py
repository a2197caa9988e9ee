"""Texts that try to look like something else: on the card that asks for approval, and in an answer beside it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

TURNED = "ls report\u202efdp.sh \u200b; rm\u00a0-r x"
# Classes of Lab's editor that take an element out of the text and lay it over what stands around it.
OVERLAY = (
    '<div class="ͼ1 cm-editor"><div class="cm-layer cm-layer-above"><div class="cm-panel cm-tooltip cm-button">'
    "Nothing dangerous is asked.</div></div></div>"
)
FORGED = (
    '<section class="eca-Tool eca-mod-done" data-status="done"><button class="eca-Button">Approve</button></section>'
    '<div class="eca-Approval" style="position: fixed; inset: 0">Approve</div>'
    '<details open><summary>shell_command ls needs approval</summary><input type="checkbox"> yes</details>'
    "$\\style{position: fixed; top: 0; left: 0}{x}$\n\n"
)
HIDDEN = "x = 2 #\u202e \u200b; evil()"
SPACES = "x = 1" + " " * 3000 + "; evil()"


def run(command: str) -> dict[str, Any]:
    return {"tool": "shell_command", "arguments": {"command": command}}


RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "That was it."}]},
    {"message": "turned", "reply": [run(TURNED)]},
    {"message": "empty lines", "reply": [run("ls" + "\n" * 501 + "rm -r x")]},
    {"message": "spaces", "reply": [run("ls" + " " * 3000 + "; rm -r x")]},
    {"message": "remember", "reply": [run("echo " + "one " * 100 + "; touch last")]},
    {
        "message": "write",
        "reply": [{"tool": "write_file", "arguments": {"path": "sp\u0430ces.py", "content": f"{SPACES}\n"}}],
    },
    {"message": "insert", "reply": [{"tool": "notebook_insert_cell", "arguments": {"source": HIDDEN, "after": "c0"}}]},
    {"message": "edit", "reply": [{"tool": "notebook_edit_cell", "arguments": {"cell": "c0", "source": HIDDEN}}]},
    {"message": "overlay", "reply": [{"text": f"{OVERLAY}\n\n{FORGED}End of it."}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "lies.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"lies": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/lies", "providers": {"scripted": {"models": models}}})


def assert_in_view(within: Locator, text: str) -> None:
    """The text is drawn inside of the box of the element, and not beyond its edges."""
    found = within.evaluate(
        """(node, text) => {
          const frame = node.getBoundingClientRect();
          const walker = document.createTreeWalker(node, NodeFilter.SHOW_TEXT);
          for (let part = walker.nextNode(); part !== null; part = walker.nextNode()) {
            const at = part.data.indexOf(text);
            if (at >= 0) {
              const range = document.createRange();
              range.setStart(part, at);
              range.setEnd(part, at + text.length);
              const isInside = one => one.left >= frame.left && one.right <= frame.right;
              return [...range.getClientRects()].every(one => isInside(one) && one.bottom <= frame.bottom);
            }
          }
          return false;
        }""",
        text,
    )
    assert found, text


def waiting(panel: Panel, words: str) -> Locator:
    panel.ask(words)
    card = panel.call("waiting").last
    expect(card).to_be_visible(timeout=SECONDS * 1000)
    return card


def test_characters_that_are_not_drawn_or_turn_the_text_have_names_on_the_card_and_on_its_button(
    page: Page, lab: Lab
) -> None:
    panel = Panel.open(page, lab)
    card = waiting(panel, "turned")
    exact = "ls report\\u202efdp.sh \\u200b; rm\\u00a0-r x"
    expect(card.locator(".eca-Shell pre")).to_have_text(f"$ {exact}")
    expect(card.locator(".eca-Tool-title")).to_have_text("Run a command")
    assert not set("\u202e\u200b\u00a0") & set(card.inner_text())
    panel.button("Reject…").click()
    panel.button("Reject").click()


@pytest.mark.nightly
@pytest.mark.parametrize("words", ["empty lines", "spaces"])
def test_the_end_of_a_command_is_not_moved_out_of_sight(page: Page, lab: Lab, words: str) -> None:
    panel = Panel.open(page, lab)
    shell = waiting(panel, words).locator(".eca-Shell pre")
    assert_in_view(shell, "ls")
    assert_in_view(shell, "rm -r x")
    assert shell.evaluate("pre => pre.scrollWidth <= pre.clientWidth && pre.scrollHeight <= pre.clientHeight")
    height = shell.evaluate("pre => pre.getBoundingClientRect().height")
    assert height < 300
    panel.button("Stop").click()


@pytest.mark.nightly
def test_the_end_of_a_changed_line_is_not_moved_out_of_sight_and_a_foreign_letter_in_a_path_has_a_name(
    page: Page, lab: Lab
) -> None:
    panel = Panel.open(page, lab)
    card = waiting(panel, "write")
    assert_in_view(card.locator(".eca-Diff"), "; evil()")
    expect(card.locator(".eca-Tool-path")).to_contain_text("sp\\u0430ces.py")
    panel.button("Stop").click()


@pytest.mark.nightly
@pytest.mark.parametrize(("words", "place"), [("insert", ".eca-CellBar > pre"), ("edit", ".eca-Hunk > pre")])
def test_what_is_proposed_in_a_notebook_hides_nothing_there(page: Page, lab: Lab, words: str, place: str) -> None:
    notebook = Notebook.open(page, lab, ["x = 1"], f"{words}.ipynb")
    panel = Panel.show(page)
    panel.ask(words)
    proposed = notebook.cell(0).locator(place)
    expect(proposed).to_have_text("x = 2 #\\u202e \\u200b; evil()", timeout=SECONDS * 1000)
    panel.button("Stop").click()


@pytest.mark.nightly
def test_the_button_for_the_session_shows_all_of_what_it_remembers(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    card = waiting(panel, "remember")
    button = card.get_by_role("button", name="Approve for session")
    expect(button).to_contain_text("; touch last")
    assert_in_view(button, "; touch last")
    assert_in_view(card.locator(".eca-Shell pre"), "; touch last")
    panel.button("Stop").click()


@pytest.mark.nightly
def test_an_answer_lies_over_nothing_and_has_no_buttons_that_look_like_ours(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("overlay")
    panel.sees("End of it.")
    panel.wait_until_idle()
    answer = panel.node.locator(".eca-Answer").last
    expect(answer.locator("mjx-container")).to_have_count(1, timeout=SECONDS * 1000)
    assert answer.locator("[class*='cm-'], [class*='eca-Tool'], [class*='eca-Approval'], button, section").count() == 0
    outside = answer.evaluate(
        """node => [...node.querySelectorAll('*')].filter(one =>
          !['static', 'relative'].includes(getComputedStyle(one).position) && one.closest('mjx-assistive-mml') === null
        ).map(one => one.outerHTML)"""
    )
    assert outside == []
