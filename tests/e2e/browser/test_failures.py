"""An answer that fails, in a real JupyterLab: a red card that says what happened, with the buttons that help."""

from __future__ import annotations

import json
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

REFUSED = "http://far.example refused the key. Check `providers.far.key`."
RULES: list[dict[str, Any]] = [
    {"message": "secret", "reply": [{"error": REFUSED, "status": 401}]},
    {"message": "odd", "reply": [{"error": "The server said: teapot.", "status": 418}]},
    {"message": "again", "reply": [{"error": "Payment required.", "status": 402}], "times": 1},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "failures.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"first": {"script": str(script)}, "second": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/first", "providers": {"scripted": {"models": models}}})


def card(panel: Panel) -> Locator:
    return panel.node.get_by_role("group", name="Error")


def test_a_refused_key_is_a_red_card_that_leads_to_the_sign_in(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("secret")
    expect(card(panel)).to_contain_text("There is no valid key for scripted.", timeout=SECONDS * 1000)
    expect(card(panel).get_by_text("refused the key")).to_be_hidden()
    panel.button("Show details").click()
    expect(card(panel).get_by_text("refused the key")).to_be_visible()
    assert complaints(page, ".eca-Panel") == []
    panel.button("Sign in or paste a key").click()
    expect(page.get_by_role("tab", name="Providers and keys")).to_have_attribute("aria-selected", "true")


@pytest.mark.nightly
def test_another_model_is_chosen_and_the_question_is_asked_again(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("again")
    expect(card(panel)).to_contain_text("The credit for scripted is used up.", timeout=SECONDS * 1000)
    panel.button("Choose another model").click()
    picker = panel.node.get_by_role("combobox", name="Model", exact=True)
    expect(picker).to_be_focused()
    picker.select_option("scripted/second")
    panel.button("Try again").click()
    panel.sees("You said: again")
    expect(card(panel)).to_have_count(0)


@pytest.mark.nightly
def test_a_failure_of_an_unknown_kind_is_shown_in_the_servers_words(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("odd")
    expect(card(panel).get_by_text("The server said: teapot.")).to_be_visible(timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_a_cell_that_got_no_answer_has_the_buttons_that_help(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca secret"])
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "To set a key or to sign in, run `%eca /login`.")
    bar = page.locator(".jp-Cell").nth(1).locator(".eca-Help")
    expect(bar.get_by_role("button")).to_have_text(
        ["Sign in or paste a key", "Choose another model", "Try again"], timeout=SECONDS * 1000
    )
    bar.get_by_role("button", name="Choose another model").click()
    notebook.wait_until(f"{SOURCE} === '%eca -m  secret'", 1)
    page.keyboard.press("Escape")
    page.evaluate(f"n => {SOURCE_OF}.setSource('%eca hello')", 1)
    bar.get_by_role("button", name="Try again").click()
    notebook.wait_for_output(1, "You said: hello")
    expect(bar).to_have_count(0)


SOURCE_OF = "window.jupyterapp.shell.currentWidget.content.widgets[n].model.sharedModel"
SOURCE = f"{SOURCE_OF}.source"
