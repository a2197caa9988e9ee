"""A key in the environment of the server is enough: the panel asks nothing, and the first prompt is answered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from jupyter_eca.plugins.providers.scripted import Script
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackAnthropic]:
    with LoopbackAnthropic(
        Script.model_validate({"rules": [{"message": "", "reply": [{"text": "I hear you."}]}]})
    ) as it:
        yield it


@pytest.fixture(scope="module")
def lab_settings(model: LoopbackAnthropic) -> LabSettings:
    # Only the address of the provider is configured: the tests must not reach the real one.
    return LabSettings(
        env={"ANTHROPIC_API_KEY": "a-key-of-the-environment"}, eca={"providers": {"anthropic": {"url": model.url}}}
    )


def test_with_a_key_in_the_environment_the_model_is_named_and_the_first_prompt_is_answered(
    page: Page, lab: Lab, model: LoopbackAnthropic
) -> None:
    panel = Panel.open(page, lab)
    chosen = panel.node.get_by_role("combobox", name="Model").locator("option:checked")
    expect(chosen).to_contain_text("anthropic/", timeout=SECONDS * 1000)
    expect(page.get_by_role("button", name="Paste a key")).to_have_count(0)
    panel.ask("Are you there?")
    panel.sees("I hear you.", SECONDS * 3)
    assert model.requests
    assert page.locator("dialog, .jp-Dialog").count() == 0
