"""Another program answers in the panel: it is chosen, asks, changes a live cell that was approved, and is undone."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

PROGRAM = Path(__file__).parents[2] / "support/fake_agent.py"


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "outside.json"
    script.write_text(json.dumps({"rules": [{"message": "", "reply": [{"text": "Ours."}]}]}))
    fake = {"command": sys.executable, "args": [str(PROGRAM)], "description": "A scripted agent."}
    agents = {"fake": fake, "chooser": {**fake, "args": [str(PROGRAM), "--quirk", "options"]}}
    models = {"outside": {"script": str(script)}}
    allowed: dict[str, Any] = {"approval": {"allow": {"notebook_read": {}}}}
    return LabSettings(
        eca={
            "defaultModel": "scripted/outside",
            "providers": {"scripted": {"models": models}},
            "acpAgents": agents,
            "toolCall": allowed,
        }
    )


def test_an_outside_agent_changes_a_live_cell_that_was_approved_and_the_change_is_undone(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(page, lab, ["x = 1"], "live.ipynb")
    panel = Panel.show(page)
    panel.node.get_by_role("combobox", name="Agent", exact=True).select_option("fake")
    expect(panel.node.get_by_role("combobox", name="Model")).to_have_count(0)
    expect(page.get_by_role("button", name="Assistant: fake")).to_be_visible()
    read = json.dumps({"path": "live.ipynb"})
    edit = json.dumps({"path": "live.ipynb", "changes": [{"do": "edit", "cell": "c0", "source": "x = 2"}]})
    panel.ask(
        f"DO: think Let me look.\nDO: mcp silent eca_notebook_read {read}\nDO: mcp named eca_notebook_change {edit}"
    )
    waiting = panel.call("waiting")
    expect(waiting).to_have_count(1, timeout=SECONDS * 1000)
    expect(waiting).to_contain_text("x = 2")
    keep(page, "outside-1-asks")
    notebook.wait_for_sources(["x = 1"])
    waiting.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_sources(["x = 2"])
    panel.wait_until_idle()

    panel.ask("DO: unasked echo by itself")
    expect(panel.node.get_by_text("not asked")).to_be_visible(timeout=SECONDS * 1000)
    keep(page, "outside-2-not-asked")
    panel.wait_until_idle()

    panel.ask("DO: wait")
    panel.sees("waiting")
    panel.button("Stop").click()
    panel.wait_until_idle()
    panel.ask("/undo all")
    notebook.wait_for_sources(["x = 1"])


def test_the_options_of_an_outside_agent_are_chosen_beside_its_name(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "options.ipynb")
    panel = Panel.show(page)
    panel.node.get_by_role("combobox", name="Agent", exact=True).select_option("chooser")
    panel.ask("DO: say Hello")
    panel.sees("Hello")
    panel.wait_until_idle()
    model = panel.node.get_by_role("combobox", name="Model", exact=True)
    expect(model).to_have_value("small", timeout=SECONDS * 1000)
    expect(panel.node.get_by_role("combobox", name="Effort", exact=True)).to_have_count(0)
    expect(panel.node.get_by_role("combobox", name="Never ask", exact=True)).to_have_count(0)
    model.select_option(label="Large one")
    effort = panel.node.get_by_role("combobox", name="Effort", exact=True)
    effort.select_option("high")
    expect(effort).to_have_value("high")
    keep(page, "outside-3-options")
    page.reload()
    expect(Panel(page).node.get_by_role("combobox", name="Model", exact=True)).to_have_value(
        "large", timeout=SECONDS * 1000
    )
    Panel(page).ask("DO: values")
    Panel(page).sees("model large, effort high")


def test_a_cell_that_waits_is_reached_from_a_new_chat_and_from_the_status_bar(page: Page, lab: Lab) -> None:
    notebook = Notebook.show(
        page, lab, ["%load_ext jupyter_eca", "%%eca --agent fake\nDO: codex_shell true"], "cell.ipynb"
    )
    panel = Panel.show(page)
    notebook.run(0)
    notebook.wait_until_run(0)
    panel.button("New chat").click()
    notebook.run(1)
    line = panel.node.get_by_text("A question in cell.ipynb waits for you.")
    expect(line).to_be_visible(timeout=SECONDS * 1000)
    item = page.get_by_role("button", name="waits for you")
    expect(item).to_be_visible()
    keep(page, "outside-4-cell-waits")
    panel.button("Show it").click()
    # The cell has a card of its own.
    waiting = panel.transcript.locator(".eca-Tool[data-status='waiting']")
    expect(waiting).to_have_count(1)
    expect(line).to_have_count(0)
    panel.button("New chat").click()
    item.click()
    expect(waiting).to_have_count(1)
    waiting.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("button", name="waits for you")).to_have_count(0)


def test_after_a_failure_of_an_outside_agent_another_agent_is_chosen(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "failure.ipynb")
    panel = Panel.show(page)
    picker = panel.node.get_by_role("combobox", name="Agent", exact=True)
    picker.select_option("fake")
    panel.ask("DO: die")
    another = panel.button("Choose another agent")
    expect(another).to_be_visible(timeout=SECONDS * 1000)
    expect(panel.button("Choose another model")).to_have_count(0)
    keep(page, "outside-5-failure")
    another.click()
    expect(picker).to_be_focused()
