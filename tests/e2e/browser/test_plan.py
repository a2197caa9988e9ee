"""Plan then do in a real JupyterLab: changes are seen as diffs, accepted by one click, made and ticked one by one."""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.browser

CELLS = ["import math", "radius = 2", "area = 3 * radius", "print(area)", "unused = 1"]
AFTER = ["# Areas", "import math", "radius = 2", "area = math.pi * radius**2", "print(round(area, 2))"]
TITLE: dict[str, Any] = {"source": "# Areas", "cell_type": "markdown", "after": "0"}
AREA: dict[str, Any] = {"cell": "c2", "source": AFTER[3]}
PRINT: dict[str, Any] = {"cell": "c3", "original_content": "area", "new_content": "round(area, 2)"}
UNUSED: dict[str, Any] = {"cell": "c4"}
STEPS = ["Add a title", "Use pi for the area", "Print two digits", "Delete what is not used", "Run all"]
CHANGES = [{"do": "insert", **TITLE}, {"do": "edit", **AREA}, {"do": "edit", **PRINT}, {"do": "delete", **UNUSED}]


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"tool": tool, "arguments": arguments}


def step(number: int, change: dict[str, Any]) -> dict[str, Any]:
    """Answers the results of the step before."""
    before = [call("task", op="complete", ids=[str(number - 1)])] if number > 1 else []
    start = call("task", op="start", ids=[str(number)], active_summary=f"{STEPS[number - 1]} now")
    return {"message": "accepted the plan", "result": "", "times": 1, "reply": [*before, start, change]}


RULES: list[dict[str, Any]] = [
    {"message": "^Plan", "reply": [call("notebook_read")]},
    {"result": "print\\(area\\)", "tool": "notebook_read", "reply": [call("notebook_change", changes=CHANGES)]},
    {"result": "shown it as a proposal", "reply": [call("task", op="plan", tasks=STEPS)]},
    {
        "message": "^Plan",
        "result": "",
        "reply": [{"text": "I would:\n\n" + "\n".join(f"{n}. {s}" for n, s in enumerate(STEPS, 1))}],
    },
    {"message": "accepted the plan", "reply": [call("task", op="list")]},
    step(1, call("notebook_insert_cell", **TITLE)),
    step(2, call("notebook_edit_cell", **AREA)),
    step(3, call("notebook_edit_cell", **PRINT)),
    step(4, call("notebook_delete_cell", **UNUSED)),
    step(5, call("notebook_run_cells", cells=["c0", "c1", "c2", "c3"])),
    {"message": "accepted the plan", "result": "", "times": 1, "reply": [call("task", op="complete", ids=["5"])]},
    {"message": "accepted the plan", "result": "", "reply": [{"text": "All five steps are done."}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "plan.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"plan": {"script": str(script)}}
    return LabSettings(eca={"defaultModel": "scripted/plan", "providers": {"scripted": {"models": models}}})


def test_a_plan_for_five_cells_is_previewed_accepted_and_carried_out(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, CELLS)
    panel = Panel.show(page)
    panel.node.get_by_label("Agent", exact=True).select_option("plan")
    panel.ask("Plan how to clean this notebook up")
    expect(panel.button("Carry out")).to_be_visible(timeout=SECONDS * 1000)
    preview = panel.node.locator(".eca-Tool", has_text="proposed, not run: plan mode")
    for line in ("# Areas", "math.pi * radius", "print(round(area, 2))", "unused = 1"):
        expect(preview).to_contain_text(line)
    assert notebook.sources() == CELLS, "a plan changes nothing"
    listed = panel.node.locator(".eca-PlanBar li")
    expect(listed).to_have_text(STEPS)
    keep(page, "plan-1-previewed")

    panel.button("Carry out").click()
    done = panel.node.locator(".eca-PlanBar li.eca-mod-done")
    for number in range(len(STEPS)):
        waiting = panel.call("waiting")
        waiting.locator(".eca-Tool-head").click(timeout=SECONDS * 1000)
        expect(waiting).to_contain_text("Asked: no rule matches it", timeout=SECONDS * 1000)
        expect(done).to_have_count(number)
        expect(panel.node.locator(".eca-PlanBar li.eca-mod-in-progress")).to_have_text(STEPS[number])
        if number == 2:
            keep(page, "plan-2-under-way")
        waiting.get_by_role("button", name="Approve", exact=True).click()
        expect(done).to_have_count(number + 1, timeout=SECONDS * 1000)
    panel.sees("All five steps are done.")
    panel.wait_until_idle()
    notebook.wait_for_sources(AFTER)
    notebook.wait_for_output(4, "12.57")
    expect(panel.node.get_by_label("Agent", exact=True)).to_have_value("code")
    expect(panel.button("Carry out")).to_have_count(0)
