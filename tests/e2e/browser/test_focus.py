"""The focus of somebody who uses the keyboard alone: when what has the focus is removed, it goes to something near, and
never to the page itself, where the next key would be a command of the notebook."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.states import BEFORE, make_settings

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab, LabSettings

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return make_settings(tmp_path_factory.mktemp("script"))


def press(button: Locator) -> None:
    """As with Tab and Enter."""
    button.focus()
    expect(button).to_be_focused()
    button.press("Enter")


def expect_focus_within(page: Page, selector: str) -> None:
    """Wait until something in there has the focus. Raises: AssertionError."""
    expect(page.locator(f":is({selector}):focus-within, :is({selector}):focus").first).to_be_visible(
        timeout=SECONDS * 1000
    )


def test_the_focus_stays_in_the_panel_when_its_element_is_removed(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.box.fill("Hello")
    press(panel.button("Send"))
    panel.sees("A title")
    panel.wait_until_idle()
    expect_focus_within(page, ".eca-Composer")

    for name in ("Export this chat", "Go back to before this message", "Flag this message"):
        press(panel.button(name))
        press(panel.button("Cancel"))
        expect(panel.button("Cancel")).to_have_count(0)
        expect_focus_within(page, ".eca-Panel")

    panel.ask("an ode")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    press(panel.button("Always…"))
    press(panel.button("Back"))
    expect_focus_within(page, ".eca-Tool")
    press(panel.button("Reject…"))
    press(panel.button("Back"))
    expect_focus_within(page, ".eca-Tool")
    press(panel.node.get_by_role("button", name="Approve", exact=True))
    panel.sees("It is so.")
    panel.wait_until_idle()
    expect_focus_within(page, ".eca-Panel")

    panel.ask("a colour")
    press(panel.button("Red"))
    panel.wait_until_idle()
    expect_focus_within(page, ".eca-Panel")

    panel.ask("endless")
    panel.sees("on and")
    press(panel.button("Stop"))
    panel.wait_until_idle()
    expect_focus_within(page, ".eca-Panel")

    panel.ask("a secret")
    expect(panel.node.locator(".eca-Failure")).to_have_count(1, timeout=SECONDS * 1000)
    panel.wait_until_idle()
    press(panel.button("Try again"))
    expect_focus_within(page, ".eca-Panel")


def test_what_is_typed_after_a_press_on_new_chat_is_the_first_message_of_that_chat(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("an earlier question")
    panel.wait_until_idle()
    panel.button("New chat").click()
    page.keyboard.type("a question")
    expect(panel.node.get_by_label("Message to the assistant")).to_have_value("a question")
    panel.button("All chats").click()
    panel.button("New chat").click()
    expect(panel.node.get_by_label("Message to the assistant")).to_be_focused()


def test_the_focus_stays_in_the_list_when_a_chat_is_deleted(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    for title in ("first one", "second one", "third one"):
        panel.button("New chat").click()
        panel.ask(title)
        panel.wait_until_idle()
        panel.sees("A title")
    press(panel.button("All chats"))
    row = panel.node.get_by_role("listitem").filter(has_text="second one")
    press(row.get_by_role("button", name=re.compile("^Delete ")))
    expect(row).to_have_count(0, timeout=SECONDS * 1000)
    expect_focus_within(page, ".eca-Chats li")


def test_the_focus_stays_in_the_settings_when_a_form_closes_and_when_a_rule_is_removed(page: Page, lab: Lab) -> None:
    Panel.open(page, lab)
    body = page.locator(".eca-Settings-body")
    for section, add in (("servers", "Add a server…"), ("rules", "Add a rule…")):
        page.evaluate("section => window.jupyterapp.commands.execute('eca:open-settings', { section })", section)
        press(body.get_by_role("button", name=add))
        press(body.get_by_role("button", name="Cancel"))
        expect(body.get_by_role("button", name="Cancel")).to_have_count(0)
        expect_focus_within(page, ".eca-Settings")

    press(body.get_by_role("button", name="Add a rule…"))
    body.get_by_label("Tool", exact=True).fill("eca__grep")
    press(body.get_by_role("button", name="Add the rule"))
    remove = body.get_by_role("button", name="Remove the rule eca__grep")
    expect(remove).to_have_count(1, timeout=SECONDS * 1000)
    expect_focus_within(page, ".eca-Settings")
    press(remove)
    expect(remove).to_have_count(0, timeout=SECONDS * 1000)
    expect_focus_within(page, ".eca-Settings")


def test_the_focus_stays_in_the_notebook_when_a_change_is_decided(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, [BEFORE, "y = 2"], "decided.ipynb")
    panel = Panel.show(page)
    for button in ("Keep", "Undo"):
        notebook.page.evaluate(
            "source => window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.setSource(source)",
            BEFORE,
        )
        panel.ask("improve it")
        cell_bar = notebook.cell(0).get_by_role("group", name="Changes of the assistant")
        expect(cell_bar).to_be_visible(timeout=SECONDS * 1000)
        panel.wait_until_idle()
        press(cell_bar.get_by_role("button", name=button, exact=True))
        expect(cell_bar).to_have_count(0, timeout=SECONDS * 1000)
        expect_focus_within(page, ".jp-Notebook")
    # The same in the panel, below the answer.
    panel.ask("improve it")
    changes = panel.node.get_by_role("region", name="Changes of this turn").last
    expect(changes).to_be_visible(timeout=SECONDS * 1000)
    panel.wait_until_idle()
    press(changes.get_by_role("button", name="Keep all"))
    expect(panel.node.get_by_role("region", name="Changes of this turn")).to_have_count(0, timeout=SECONDS * 1000)
    expect_focus_within(page, ".eca-Panel")
