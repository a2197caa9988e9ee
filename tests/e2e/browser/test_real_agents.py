"""OpenCode and Qwen Code in the panel: each asks, edits and runs a live cell, is stopped, and is undone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.support.real_agents import find_missing, make_agent, serving_model

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab
    from tests.support.real_agents import RealAgent

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# A real agent takes up to 20 seconds to start on a busy machine.
SECONDS = 120


@pytest.fixture(scope="module", params=["opencode", "qwen"])
def agent(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealAgent]:
    if missing := find_missing(request.param):
        pytest.skip(missing)
    with serving_model() as url:
        yield make_agent(request.param, tmp_path_factory.mktemp("home"), url)


@pytest.fixture(scope="module")
def lab_settings(agent: RealAgent) -> LabSettings:
    allowed: dict[str, Any] = {"approval": {"allow": {"notebook_read": {}}}}
    return LabSettings(eca={"acpAgents": {agent.name: agent.settings}, "toolCall": allowed})


def test_it_edits_and_runs_a_live_cell_that_was_approved_is_stopped_and_undone(
    page: Page, lab: Lab, agent: RealAgent
) -> None:
    notebook = Notebook.show(page, lab, ["x = 1"], "live.ipynb")
    panel = Panel.show(page)
    panel.node.get_by_role("combobox", name="Agent", exact=True).select_option(agent.name)

    def ask(tool: str, **arguments: Any) -> None:
        panel.ask(f"TOOL {tool} {json.dumps(arguments)}")

    panel.ask("hello")
    panel.sees("Hello from the model.", SECONDS)
    panel.wait_until_idle()
    if agent.searches:
        names = ("mcp__jupyter__eca_notebook_read", "mcp__jupyter__eca_notebook_change")
        ask("tool_search", query=f"select:{','.join(names)}")
        panel.wait_until_idle()
    ask("eca_notebook_read", path="live.ipynb")
    panel.sees("x = 1", SECONDS)
    panel.wait_until_idle()
    change = {"do": "edit", "cell": "c0", "source": "print(6 * 7)"}
    ask("eca_notebook_change", path="live.ipynb", changes=[change], run=True)
    waiting = panel.call("waiting")
    expect(waiting).to_have_count(1, timeout=SECONDS * 1000)
    expect(waiting).to_contain_text("print(6 * 7)")
    keep(page, f"{agent.name}-1-asks")
    notebook.wait_for_sources(["x = 1"])
    waiting.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_sources(["print(6 * 7)"])
    expect(page.locator(".jp-OutputArea-output").filter(has_text="42")).to_be_visible(timeout=SECONDS * 1000)
    panel.wait_until_idle()
    keep(page, f"{agent.name}-2-ran")

    ask(agent.shell, command="echo made > b.txt; tail -f b.txt", **agent.shell_arguments)
    expect(waiting).to_have_count(1, timeout=SECONDS * 1000)
    waiting.get_by_role("button", name="Approve", exact=True).click()
    expect(panel.call("running")).to_have_count(1, timeout=SECONDS * 1000)
    panel.button("Stop").click()
    panel.wait_until_idle()
    panel.ask("/undo all")
    notebook.wait_for_sources(["x = 1"])
    keep(page, f"{agent.name}-3-undone")
