"""What the assistant proposes in cells and changes in them, as the tests of its review have it done."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS
from tests.e2e.browser.lab import LabSettings

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser.notebook import Notebook

LINES = ["a = 1", "b = 2", "c = 3", "d = 4", "e = 5"]
BEFORE = "\n".join(LINES)
AFTER = BEFORE.replace("a = 1", "a = 10").replace("e = 5", "e = 50")
TEXT = "# Sales\n\nOf all cities.\n\nBy year."
# The number of a cell that cannot be seen together with the first one.
FAR = 40
REWRITTEN = "# Sales of 2026\n\nOf all cities.\n\nBy month."


def edit(cell: str, source: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": cell, "source": source}}


# One pixel, which a cell shows.
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
PICTURE = f"display({{'image/png': '{PIXEL}'}}, raw=True)"


def change(*changes: dict[str, Any], run: bool = False) -> dict[str, Any]:
    return {"tool": "notebook_change", "arguments": {"changes": list(changes), "run": run}}


# What it does when it is asked so, once it has read the notebook.
CALLS: dict[str, list[dict[str, Any]]] = {
    "^change": [edit("c0", AFTER), edit("c1", "y = 20")],
    "^far": [edit("c0", AFTER), edit(f"c{FAR}", "y = 20")],
    "^only the first": [edit("c0", AFTER)],
    "^now the second": [edit("c1", "y = 20")],
    "^say it better": [edit("c0", REWRITTEN)],
    "^delete": [{"tool": "notebook_delete_cell", "arguments": {"cell": "c1"}}],
    "^order": [
        edit("c0", "x = 10"),
        {"tool": "notebook_insert_cell", "arguments": {"source": "n = 0", "after": "c0"}},
        {"tool": "notebook_move_cell", "arguments": {"cell": "c2", "index": 1}},
        {"tool": "notebook_delete_cell", "arguments": {"cell": "c1"}},
    ],
    "^both at once": [
        change({"do": "edit", "cell": "c0", "source": AFTER}, {"do": "edit", "cell": "c1", "source": "y = 20"})
    ],
    "^move and edit": [
        change({"do": "move", "cell": "c1", "index": 1}, {"do": "edit", "cell": "c1", "source": AFTER}, run=True)
    ],
    "^improve and run": [
        change(
            {"do": "edit", "cell": "c0", "source": "prices = [2, 3]"},
            {"do": "edit", "cell": "c1", "source": "print('total', sum(prices))"},
            {"do": "insert", "after": "c1", "source": PICTURE},
            {"do": "delete", "cell": "c2"},
            run=True,
        )
    ],
}
RULES: list[dict[str, Any]] = [
    *[{"message": asked, "tool": "notebook_read", "result": "", "reply": calls} for asked, calls in CALLS.items()],
    {"result": "", "reply": [{"text": "All is done."}]},
    *[{"message": asked, "reply": [{"tool": "notebook_read", "arguments": {}}]} for asked in CALLS],
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    """Changes are decided before they are made. The same for all modules: they share a Lab."""
    return make_settings(tmp_path_factory)


def make_settings(tmp_path_factory: pytest.TempPathFactory, **eca: Any) -> LabSettings:
    script = tmp_path_factory.getbasetemp() / "review.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"review": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/review", "providers": {"scripted": {"models": models}}, **eca})


def bar(notebook: Notebook, n: int) -> Locator:
    return notebook.cell(n).get_by_role("group", name="Changes of the assistant")


def hunks(notebook: Notebook, n: int) -> Locator:
    return notebook.cell(n).locator(".eca-Hunk")


def wait_for(locator: Locator, count: int) -> None:
    expect(locator).to_have_count(count, timeout=SECONDS * 1000)


def press(notebook: Notebook, n: int, button: str, words: str = "") -> None:
    bar(notebook, n).filter(has_text=words).get_by_role("button", name=button, exact=True).click()


def write_at_the_end(notebook: Notebook, n: int, line: str, text: str) -> None:
    notebook.cell(n).locator(".cm-line", has_text=line).click()
    notebook.page.keyboard.press("End")
    notebook.page.keyboard.type(text)
