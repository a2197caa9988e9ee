"""A user chooses a model, an agent and a reasoning once, and finds them again in the next chat."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.test_chat_list import ask, open_notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "You said: {message}"}]}]
RENAME: Final = "([from, to]) => window.jupyterapp.serviceManager.contents.rename(from, to).then(() => undefined)"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "choices.json"
    script.write_text(json.dumps({"rules": RULES}))
    model = {"script": str(script), "variants": {"low": {"effort": 1}, "high": {"effort": 2}}}
    models = dict.fromkeys(("usual", "large", "small"), model)
    return LabSettings(eca={"defaultModel": "scripted/usual", "providers": {"scripted": {"models": models}}})


def picker(panel: Panel, name: str) -> Locator:
    return panel.node.get_by_role("combobox", name=name, exact=True)


def choose(panel: Panel, *, model: str, agent: str, reasoning: str) -> None:
    for name, value in (("Agent", agent), ("Model", model), ("Reasoning", reasoning)):
        picker(panel, name).select_option(value)


def expect_choice(panel: Panel, *, model: str, agent: str, reasoning: str) -> None:
    for name, value in (("Agent", agent), ("Model", model), ("Reasoning", reasoning)):
        expect(picker(panel, name)).to_have_value(value, timeout=SECONDS * 1000)


def start_chat(panel: Panel) -> None:
    panel.button("New chat").click()
    expect(panel.node.get_by_role("heading", name="New chat")).to_be_visible()


LARGE: Final = {"model": "scripted/large", "agent": "plan", "reasoning": "high"}
SMALL: Final = {"model": "scripted/small", "agent": "code", "reasoning": ""}


@pytest.mark.nightly
def test_what_was_chosen_in_a_notebook_is_there_in_its_next_chat_also_after_a_reload_and_a_restart(
    page: Page, lab: Lab
) -> None:
    lab.write_notebook("second.ipynb", ["y = 2"])
    Notebook.show(page, lab, ["x = 1"], "first.ipynb")
    panel = Panel.show(page)
    expect_choice(panel, model="scripted/usual", agent="code", reasoning="")
    choose(panel, **LARGE)
    ask(panel, "with the large model", "You said: with the large model")
    start_chat(panel)
    expect_choice(panel, **LARGE)
    keep(page, "choices-1-next-chat")

    # A notebook without a choice of its own begins with the last choice of the user.
    open_notebook(page, "second.ipynb")
    expect_choice(panel, **LARGE)
    choose(panel, **SMALL)
    ask(panel, "with the small model", "You said: with the small model")
    open_notebook(page, "first.ipynb")
    expect_choice(panel, **LARGE)

    page.goto(lab.address("first.ipynb"))
    panel = Panel.show(page)
    start_chat(panel)
    expect_choice(panel, **LARGE)

    lab.restart()
    page.goto(lab.address("second.ipynb"))
    panel = Panel.show(page)
    panel.sees("You said: with the small model")
    start_chat(panel)
    expect_choice(panel, **SMALL)
    open_notebook(page, "first.ipynb")
    expect_choice(panel, **LARGE)
    start_chat(panel)
    expect_choice(panel, **LARGE)
    ask(panel, "again", "You said: again")


def test_another_browser_finds_the_choice_and_a_renamed_notebook_keeps_it(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "before.ipynb")
    panel = Panel.show(page)
    choose(panel, **LARGE)
    lab.write_notebook("other.ipynb", ["y = 2"])
    open_notebook(page, "other.ipynb")
    choose(panel, **SMALL)
    page.evaluate(RENAME, ["before.ipynb", "after.ipynb"])
    browser = page.context.browser
    assert browser is not None
    with browser.new_context() as context:
        other = context.new_page()
        other.goto(lab.address("after.ipynb"))
        expect_choice(Panel.show(other), **LARGE)
        lab.write_notebook("before.ipynb", ["x = 1"])
        other.goto(lab.address("before.ipynb"))
        expect_choice(Panel.show(other), **SMALL)


@pytest.mark.nightly
def test_cells_and_the_panel_use_the_same_choice(page: Page, lab: Lab) -> None:
    sources = ["%load_ext jupyter_eca", "%eca status", "%eca use scripted/small"]
    notebook = Notebook.open(page, lab, sources, "cells.ipynb")
    panel = Panel.show(page)
    choose(panel, **LARGE)
    notebook.run(0)
    notebook.wait_until_run(0)
    notebook.run(1)
    notebook.wait_for_output(1, "Model: scripted/large")
    notebook.run(2)
    notebook.wait_for_output(2, "Answers come from scripted/small now")
    start_chat(panel)
    expect_choice(panel, model="scripted/small", agent="plan", reasoning="")


@pytest.mark.nightly
def test_a_default_that_is_set_later_is_the_newer_decision(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "default.ipynb")
    panel = Panel.show(page)
    choose(panel, **LARGE)
    page.evaluate("() => window.jupyterapp.commands.execute('eca:open-settings', { section: 'defaults' })")
    body = page.locator(".eca-Settings-body")
    body.get_by_label("Default model", exact=True).select_option("scripted/small")
    body.get_by_role("button", name="Save: Default model").click()
    expect(body.get_by_role("status").filter(has_text="Saved.")).to_have_count(1, timeout=SECONDS * 1000)
    expect(body).to_contain_text("The assistant sends no telemetry")
    keep(page, "choices-2-defaults-light")
    page.evaluate("() => window.jupyterapp.commands.execute('apputils:change-theme', { theme: 'JupyterLab Dark' })")
    expect(page.locator("body")).to_have_attribute("data-jp-theme-name", "JupyterLab Dark")
    keep(page, "choices-3-defaults-dark")
    open_notebook(page, "default.ipynb")
    start_chat(panel)
    expect_choice(panel, model="scripted/small", agent="plan", reasoning="")
    keep(page, "choices-4-panel-dark")
