"""What the assistant changed, reviewed in a real JupyterLab: accepted, rejected, undone, and there again."""

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


# The source of the first cell.
_FIRST = "window.jupyterapp.shell.currentWidget.content.widgets[0].model.sharedModel.source === n"


def edit(cell: str, source: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": cell, "source": source}}


CHANGES = [edit("c0", "x = 11"), edit("c1", "y = 22"), edit("c2", "z = 33")]
RULES: list[dict[str, Any]] = [
    {"message": "^change", "tool": "notebook_read", "result": "", "reply": CHANGES},
    {"result": "", "reply": [{"text": "All is done."}]},
    {"message": "^change", "reply": [{"tool": "notebook_read", "arguments": {}}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "changes.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"changes": {"script": str(script)}}
    allowed: dict[str, Any] = {"approval": {"allow": {"notebook_edit_cell": {}}}}
    return LabSettings(
        eca={"defaultModel": "scripted/changes", "toolCall": allowed, "providers": {"scripted": {"models": models}}}
    )


def changes(panel: Panel, wanted: str) -> Locator:
    """What a turn changed, as many as that."""
    found = panel.node.get_by_role("region", name="Changes of this turn")
    expect(found.get_by_role("button", name=wanted)).to_be_visible(timeout=SECONDS * 1000)
    return found


@pytest.mark.nightly
def test_changes_are_kept_and_undone_one_by_one_and_come_back_after_a_reload(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "y = 2", "z = 3"])
    notebook.run(0)
    notebook.wait_until_run(0)
    panel = Panel.show(page)
    panel.ask("change them")
    panel.sees("All is done.")
    assert notebook.sources() == ["x = 11", "y = 22", "z = 33"]

    review = changes(panel, "3 changes")
    review.get_by_role("button", name="3 changes").press("Enter")
    expect(review.get_by_role("listitem")).to_have_count(3)
    expect(review.get_by_role("listitem").first).to_contain_text("x = 11")
    review.get_by_role("button", name="Cell 3, notebook.ipynb", exact=True).click()

    review.get_by_role("button", name="Undo: Cell 1, notebook.ipynb").click()
    review = changes(panel, "2 changes")
    panel.sees("Restored: notebook.ipynb cell 1")
    assert notebook.sources() == ["x = 1", "y = 22", "z = 33"]
    keep = review.get_by_role("button", name="Keep: Cell 2, notebook.ipynb")
    expect(keep).to_be_enabled()  # not while the undo is on its way
    keep.press("Enter")
    review = changes(panel, "1 change")
    expect(review.get_by_role("button", name="1 change")).to_be_focused()
    assert notebook.sources() == ["x = 1", "y = 22", "z = 33"]

    notebook.cell(0).locator(".cm-content").click()
    page.keyboard.press("Escape")
    page.keyboard.press("z")
    notebook.wait_until(_FIRST, "x = 11")
    assert notebook.sources() == ["x = 11", "y = 22", "z = 33"], "undoing the change is one step to undo"
    page.keyboard.press("Shift+Z")
    notebook.wait_until(_FIRST, "x = 1")
    notebook.save()

    page.reload()
    notebook.wait_until("window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length === 3")
    panel = Panel.show(page)
    panel.button("All chats").click()
    panel.node.locator(".eca-Chats-open", has_text="change them").first.click()
    review = changes(panel, "1 change")
    review.get_by_role("button", name="Undo all").click()
    expect(panel.node.get_by_role("region", name="Changes of this turn")).to_have_count(0)
    assert notebook.sources() == ["x = 1", "y = 22", "z = 3"]
