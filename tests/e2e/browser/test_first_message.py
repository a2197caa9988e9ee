"""The first message of a session is answered: right after the start, in a new chat, after a restart, and in a kernel
that is still starting. Other assistants lose it, or say that they are not connected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

RULES: list[dict[str, Any]] = [
    {"message": r"^(?P<said>\w+)", "reply": [{"text": "I heard $said. ", "chunk": 4}, {"text": "That is all."}]}
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "first.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"first": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/first", "providers": {"scripted": {"models": models}}})


def ask_at_once(page: Page, text: str) -> Panel:
    """Show the panel and send a message as soon as there is a box to write in, whether it is connected or not."""
    page.wait_for_function("() => window.jupyterapp?.commands?.hasCommand('eca:open-panel')", timeout=SECONDS * 1000)
    # Before that, Lab has not laid out its page, and nobody can open anything.
    page.evaluate("() => window.jupyterapp.restored")
    page.evaluate("() => { void window.jupyterapp.commands.execute('eca:open-panel'); }")
    panel = Panel(page)
    panel.box.fill(text, timeout=SECONDS * 1000)
    panel.box.press("Enter")
    return panel


def expect_one_answer(panel: Panel, word: str) -> None:
    """The message and its answer are there once, and nothing failed."""
    panel.sees(f"I heard {word}. That is all.", SECONDS * 2)
    panel.wait_until_idle()
    expect(panel.message(word)).to_have_count(1)
    assert panel.transcript.inner_text().count(f"I heard {word}.") == 1
    expect(panel.node.locator(".eca-Failure")).to_have_count(0)
    expect(panel.box).to_have_value("")


def test_the_first_message_after_the_start_in_a_new_chat_and_after_a_restart_is_answered(page: Page, lab: Lab) -> None:
    page.goto(lab.address(""))
    panel = ask_at_once(page, "first")
    expect_one_answer(panel, "first")

    panel.button("New chat").click()
    panel.ask("second")
    expect_one_answer(panel, "second")

    page.reload()
    panel = ask_at_once(page, "third")
    expect_one_answer(panel, "third")

    lab.restart()
    # Lab says that it was without its server, in a dialog that takes the keyboard.
    if (dialog := page.locator(".jp-Dialog")).count():
        dialog.get_by_role("button").last.click()
    panel.ask("fourth")
    expect_one_answer(panel, "fourth")

    lab.restart()
    page.goto(lab.address(""))
    panel = ask_at_once(page, "fifth")
    expect_one_answer(panel, "fifth")


def test_the_first_question_of_a_cell_in_a_kernel_that_is_still_starting_is_answered(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["%load_ext jupyter_eca", "%eca sixth"], "first.ipynb")
    notebook.wait_until("window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel != null")
    notebook.run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "I heard sixth. That is all.")
