"""What is shown can be read and reached: colours of code, buttons in cells, progress that is drawn over."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

CODE = '''Code of many colours:

```python
@decorate(1, 2.5)
async def f(x: int = None, *args) -> str:  # A comment.
    """Text."""
    for i in range(10):
        print(f"{x!r} and {i}", True, self.name[0] + r"\\d")
    return x and not y or 0xFF
```

```html
<!-- A comment --><p class="a" id='b'>Text &amp; more</p>
```

```diff
-one
+two
@@ three
```

```bash
for f in *.txt; do echo "$f" | grep -v x > /dev/null; done  # A comment.
```

```sql
SELECT a, 'text' FROM t WHERE x = 1 -- A comment
```

```json
{"a": [1, true, null, "text"]}
```

End of it.'''
THEME = "theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })"
BAR = (
    "import os, time\n"
    "for n in range(3):\n"
    "    print(f'\\rstep {n}', end='', flush=True)\n"
    "    while n and not os.path.exists(f'go{n}'): time.sleep(0.05)"
)
HEBREW = "- \u05d0\u05d7\u05d3\n- \u05e9\u05ea\u05d9\u05d9\u05dd\n"
RULES: list[dict[str, Any]] = [
    {"result": "", "reply": [{"text": "All is done."}]},
    {"message": "colours", "reply": [{"text": CODE}]},
    {"message": "list", "reply": [{"text": HEBREW}]},
    {"message": "bar", "reply": [{"tool": "notebook_run_cells", "arguments": {"cells": ["c0"]}}]},
    {
        "message": "change",
        "reply": [{"tool": "notebook_edit_cell", "arguments": {"cell": "c0", "source": "x = 10\ny = 2\nz = 3"}}],
    },
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "looks.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"looks": {"script": str(script)}}
    return LabSettings(
        eca={"defaultModel": "scripted/looks", "providers": {"scripted": {"models": models}}, "review": "after"}
    )


@pytest.mark.nightly
def test_code_can_be_read_in_every_theme_of_lab(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("many colours")
    panel.sees("End of it.")
    panel.wait_until_idle()
    found: list[str] = []
    for theme in ("JupyterLab Dark", "JupyterLab Dark High Contrast", "JupyterLab Light"):
        page.evaluate(THEME, theme)
        page.wait_for_function("theme => document.body.dataset.jpThemeName === theme", arg=theme)
        found += [f"{theme}: {one}" for one in complaints(page, ".eca-Transcript")]
    assert found == []


@pytest.mark.nightly
@pytest.mark.parametrize("width", [*(pytest.param(width, marks=pytest.mark.nightly) for width in (1000, 880)), 840])
def test_the_buttons_of_a_change_in_the_first_line_are_not_covered(page: Page, lab: Lab, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    notebook = Notebook.open(page, lab, ["x = 1\ny = 2\nz = 3"], f"narrow{width}.ipynb")
    panel = Panel.show(page)
    panel.ask("change it")
    panel.sees("All is done.")
    cell = notebook.cell(0)
    cell.locator(".cm-line").last.click()
    expect(cell.locator(".jp-cell-toolbar")).to_be_hidden()
    for name in ("Keep", "Undo"):
        button = cell.locator(".eca-Hunk").get_by_role("button", name=name, exact=True)
        expect(button).to_be_visible(timeout=SECONDS * 1000)
        assert button.evaluate(
            """button => [0.05, 0.5, 0.95].every(part => {
              const { left, top, width, height } = button.getBoundingClientRect();
              return document.elementFromPoint(left + part * width, top + height / 2) === button;
            })"""
        ), name


@pytest.mark.nightly
def test_lab_s_toolbar_is_hidden_only_while_a_change_stands_in_the_first_lines(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1\ny = 2\nz = 3", "other"], "buttons.ipynb")
    toolbars = [notebook.cell(n).locator(".jp-cell-toolbar") for n in (0, 1)]
    notebook.cell(0).locator(".cm-line").last.click()
    expect(toolbars[0]).to_be_visible(timeout=SECONDS * 1000)
    panel = Panel.show(page)
    panel.ask("change it")
    panel.sees("All is done.")
    panel.wait_until_idle()
    expect(toolbars[0]).to_be_hidden()
    notebook.cell(1).locator(".cm-line").click()
    expect(toolbars[1]).to_be_visible()
    notebook.cell(0).locator(".cm-line").last.click()
    notebook.cell(0).locator(".eca-Hunk").get_by_role("button", name="Keep", exact=True).click()
    expect(notebook.cell(0).locator(".eca-Hunk")).to_have_count(0, timeout=SECONDS * 1000)
    expect(toolbars[0]).to_be_visible(timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_a_progress_bar_that_is_drawn_over_is_followed(page: Page, lab: Lab) -> None:
    Notebook.open(page, lab, [BAR], "bar.ipynb")
    panel = Panel.show(page)
    panel.ask("run the bar")
    panel.button("Approve").click(timeout=SECONDS * 1000)
    progress = panel.node.locator(".eca-Tool-progress")
    expect(progress).to_contain_text("step 1", timeout=SECONDS * 1000)
    (lab.root / "go1").touch()
    expect(progress).to_contain_text("step 2", timeout=SECONDS * 1000)
    expect(progress).not_to_contain_text("step 1")
    (lab.root / "go2").touch()
    panel.sees("All is done.")


@pytest.mark.nightly
def test_the_buttons_of_a_message_cover_none_of_its_words(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    words = "These are quite a few words which fill more than one line of a narrow panel to its very end. " * 3
    panel.ask(words.strip())
    panel.wait_until_idle()
    message = panel.message("quite a few words")
    message.hover()
    expect(message.locator(".eca-User-tools")).to_be_visible()
    assert message.evaluate(
        """message => {
          const tools = message.querySelector('.eca-User-tools').getBoundingClientRect();
          const range = document.createRange();
          range.selectNodeContents(message.querySelector('p').firstChild);
          return [...range.getClientRects()].every(line => line.right <= tools.left || line.bottom <= tools.top);
        }"""
    )


def test_a_message_has_no_empty_line_and_its_buttons_cover_no_word_of_the_answer(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("How many rows are there?")
    panel.wait_until_idle()
    message = panel.message("How many rows")
    message.hover()
    assert message.evaluate(
        """message => {
          const { paddingTop, paddingBottom } = getComputedStyle(message);
          const line = message.querySelector('p').getBoundingClientRect().height;
          const tools = message.querySelector('.eca-User-tools').getBoundingClientRect();
          const answer = document.querySelector('.eca-Answer').getBoundingClientRect();
          const x = tools.left + tools.width / 2;
          return {
            empty: Math.floor(message.clientHeight - parseFloat(paddingTop) - parseFloat(paddingBottom) - line),
            lines: Math.round(line / parseFloat(getComputedStyle(message).lineHeight)),
            below: tools.bottom <= answer.top,
            reached: message.contains(document.elementFromPoint(x, tools.bottom - 3)),
          };
        }"""
    ) == {"empty": 0, "lines": 1, "below": True, "reached": True}


@pytest.mark.nightly
def test_a_chat_that_is_pinned_looks_pinned_when_the_pointer_is_elsewhere(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    pin = panel.node.get_by_role("button", name="Pin this chat")
    look = "button => [getComputedStyle(button).color, getComputedStyle(button).backgroundColor]"
    panel.box.hover()
    before = pin.evaluate(look)
    pin.click()
    panel.box.hover()
    expect(pin).to_have_attribute("aria-pressed", "true")
    after = pin.evaluate(look)
    assert [new != old for new, old in zip(after, before, strict=True)] == [True, True]


@pytest.mark.nightly
def test_a_long_cell_in_the_list_of_mentions_is_cut_off_with_dots_and_keeps_its_number(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["total = " + " + ".join(f"column_{n}" for n in range(30))], "long-name.ipynb")
    panel = Panel.show(page)
    panel.box.fill("@column_1")
    row = panel.node.locator(".eca-Completion li").filter(has_text="total =").first
    number = row.locator(".eca-Completion-detail")
    expect(number).to_have_text("cell:1", timeout=SECONDS * 1000)
    assert number.evaluate(
        """detail => {
          const row = detail.parentElement.getBoundingClientRect();
          const range = document.createRange();
          range.selectNodeContents(detail);
          const { left, right } = range.getBoundingClientRect();
          const label = detail.previousElementSibling;
          const end = label.getBoundingClientRect().right;
          return [left >= end, right <= row.right, getComputedStyle(label).textOverflow];
        }"""
    ) == [True, True, "ellipsis"]


@pytest.mark.nightly
def test_a_list_from_right_to_left_has_its_marks_on_the_right_and_no_room_on_the_left(page: Page, lab: Lab) -> None:
    panel = Panel.open(page, lab)
    panel.ask("a list")
    entries = panel.node.locator(".eca-Answer ul")
    expect(entries).to_be_visible(timeout=SECONDS * 1000)
    style = entries.evaluate("list => { const s = getComputedStyle(list); return [s.paddingRight, s.paddingLeft]; }")
    assert style == ["20px", "0px"]
