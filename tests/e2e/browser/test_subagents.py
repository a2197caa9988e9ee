"""Subagents in the panel of a real JupyterLab: under the calls that spawned them, with their questions."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser


def _spawn(agent: str, task: str, activity: str) -> dict[str, Any]:
    return {"tool": "spawn_agent", "arguments": {"agent": agent, "task": task, "activity": activity}}


BOTH = [_spawn("explorer", "look around", "Look around"), _spawn("general", "write the poem", "Write the poem")]
WRITE: dict[str, Any] = {"tool": "write_file", "arguments": {"path": "poem.txt", "content": "roses\n"}}
RULES: list[dict[str, Any]] = [
    {"message": "look around", "reply": [{"text": "I look."}, {"tool": "directory_tree", "arguments": {"path": "."}}]},
    {"result": "", "tool": "directory_tree", "reply": [{"text": "There is nothing to speak of."}]},
    {"message": "write the poem", "reply": [{"text": "I write."}, WRITE]},
    {"result": "", "tool": "write_file", "reply": [{"text": "It is written."}]},
    {"message": "share", "reply": [{"text": "Two of us. "}, *BOTH]},
    {"result": "", "tool": "spawn_agent", "reply": [{"text": "Both are back."}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "subagents.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"subagents": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/subagents", "providers": {"scripted": {"models": models}}})


def test_subagents_work_under_their_calls_and_ask_there(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("share the work")
    poem = panel.node.locator(".eca-Tool").filter(has_text="(general) Write the poem").first
    inside = poem.get_by_role("group", name="What the subagent did")
    expect(inside).to_contain_text("I write.", timeout=SECONDS * 1000)
    keep(page, "subagents-ask")
    inside.get_by_role("button", name="Approve", exact=True).click()
    panel.sees("Both are back.")
    panel.wait_until_idle()
    assert (lab.root / "poem.txt").read_text() == "roses\n"
    # It stays as it was until somebody unfolds it.
    expect(inside).to_have_count(0)
    poem.get_by_role("button").first.click()
    expect(inside).to_contain_text("It is written.")
    keep(page, "subagents-ended")
    page.reload()
    panel = Panel.show(page)
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open").first.click()
    panel.sees("Both are back.")
    expect(panel.node.locator(".eca-Tool").filter(has_text="Write the poem")).to_have_count(1)
    poem.get_by_role("button").first.click()
    expect(inside).to_contain_text("It is written.")
