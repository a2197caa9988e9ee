"""The parts of an answer in a cell: drawn as in the panel, and readable later in the saved notebook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook
from tests.e2e.browser.pictures import keep

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]

# A picture of one point, as a plot would be.
PLOT: Final = """import base64
from IPython.display import Image, display
display(Image(base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
), format="png", width=40, height=40))"""
ANSWER: Final = r"""The sum is $\sum_i x_i = 360$.

| city | sold |
|---|---:|
| Porto | 360 |

```mermaid
graph LR
  A[data] --> B[sum]
```

```python
total = 360
```
"""
RULES: list[dict[str, Any]] = [
    {"tool": "run_code", "result": "", "reply": [{"text": ANSWER}]},
    {"message": "", "reply": [
        {"reasoning": "I add them up."}, {"text": "I draw it. "}, {"tool": "run_code", "arguments": {"code": PLOT}},
    ]},
]  # fmt: skip


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "answer.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"answer": {"script": str(script)}}
    allowed: dict[str, Any] = {"approval": {"allow": {"run_code": {}}}}
    return LabSettings(
        eca={"defaultModel": "scripted/answer", "toolCall": allowed, "providers": {"scripted": {"models": models}}}
    )


def test_an_answer_in_a_cell_has_the_parts_of_an_answer_in_the_panel(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca Draw the sum."], "answer.ipynb")
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    cell = notebook.cell(1)
    thought = cell.locator("details", has_text="Thought")
    expect(thought).to_have_count(1, timeout=SECONDS * 1000)
    assert thought.get_attribute("open") is None, "the reasoning is folded"
    expect(cell.get_by_role("cell", name="Porto")).to_have_count(1)
    expect(cell.locator("mjx-container")).to_have_count(1, timeout=SECONDS * 1000)
    expect(cell.locator("img")).not_to_have_count(0)
    expect(cell.locator(".eca-Code")).not_to_have_count(0)
    expect(cell).to_contain_text("graph LR")

    panel = Panel.show(page)
    panel.sees("The sum is")
    expect(panel.transcript.locator("table")).to_have_count(1)
    expect(panel.transcript.locator("img")).not_to_have_count(0)

    notebook.save()
    outputs = notebook.read()["cells"][1]["outputs"]
    kinds = {kind for output in outputs for kind in output["data"]}
    assert kinds <= {"text/markdown", "text/plain", "image/png"}
    text = "".join("".join(output["data"].get("text/markdown", "")) for output in outputs)
    for part in ("| Porto | 360 |", "graph LR", "```python\ntotal = 360", "sum_i x_i = 360"):
        assert part in text


def test_a_diagram_in_a_cell_is_drawn_when_the_reader_asks_for_it(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", "%eca Draw the sum."], "diagram.ipynb")
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    notebook.save()
    outputs = notebook.read()["cells"][1]["outputs"]
    saved = "".join("".join(output["data"].get("text/markdown", "")) for output in outputs)
    assert "graph LR" in saved
    assert "```mermaid" not in saved, "JupyterLab and nbconvert would draw it unasked"
    for when in ("asked", "opened"):
        if when == "opened":
            page.goto(lab.address("diagram.ipynb"))
        cell = notebook.cell(1)
        diagram = cell.locator(".eca-Code", has_text="graph LR")
        button = diagram.get_by_role("button", name="Draw this diagram")
        expect(button).to_have_count(1, timeout=SECONDS * 1000)
        expect(diagram.locator("img")).to_have_count(0)
        button.click()
        expect(diagram.locator("img")).to_be_visible(timeout=SECONDS * 1000)
        expect(diagram.locator("pre")).to_be_hidden()
        diagram.scroll_into_view_if_needed()
        keep(page, f"diagram-{when}")
        diagram.get_by_role("button", name="Show the source").click()
        expect(diagram.locator("img")).to_be_hidden()
        expect(diagram.locator("pre")).to_be_visible()
