"""What users do every day, each a sentence of theirs, in the newest JupyterLab, in each of its themes. `make
screenshots` makes the pictures and the table of the documentation from these stories in the light theme.

`test_oldest_lab.py` and `test_stories_notebook7.py` run the same stories in other front ends.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook
from tests.e2e.browser.story import Story, find_folder
from tests.support.openai_server import LoopbackOpenAI, recording

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

THEMES: Final = [
    pytest.param("JupyterLab Light", id="light"),
    pytest.param("JupyterLab Dark", id="dark", marks=pytest.mark.nightly),
    pytest.param("JupyterLab Dark High Contrast", id="high-contrast", marks=pytest.mark.nightly),
]

KEY: Final = "sk-or-the-users-own"
# The first key that is tried has the vendor's SDK imported, which takes long beside other work.
FIRST_KEY_SECONDS: Final = 90

LOAD: Final = "%load_ext jupyter_eca"
SALES: Final = """import pandas as pd

sales = pd.DataFrame(
    {"city": ["Lyon", "Porto", "Gdansk"], "may": [120, 60, 90], "june": [80, 140, 70], "july": [95, 160, None]}
)
sales"""
# Its traceback has no frame of a library: the pictures must not show a path of this machine.
JULY: Final = '[int(sold) for sold in sales["july"]]'
BETTER: Final = '[int(sold) for sold in sales["july"].dropna()]'

SUM: Final = 'totals = sales.set_index("city").sum(axis=1).astype(int)\ntotals'
EDIT: dict[str, Any] = {"tool": "notebook_change", "arguments": {
    "changes": [{"do": "edit", "cell": "c2", "source": BETTER}], "run": True,
}}  # fmt: skip
TABLE: Final = """**Porto** sold the most.

| city | sold |
|---|---:|
| Porto | 360 |
| Lyon | 295 |
| Gdansk | 160 |
"""
GAPS: Final = """One value is missing: Gdansk has no sales in **july**. The other columns are complete.

```python
sales[sales["july"].isna()]
```
"""
NAMES: Final = """tidy = []
for name in [" Ana ", "bo"]:
    tidy.append(name)

count = len(tidy)

print(tidy)"""
STRIPPED: Final = NAMES.replace("append(name)", "append(name.strip())")
SORTED: Final = STRIPPED.replace("print(tidy)", "print(sorted(tidy))")
MEAN: Final = 'The mean of June:\n\n```python\nround(sales["june"].mean(), 1)\n```\n'
OUTLINE: Final = "**sales-by-city.ipynb**\n\n1. Load the sales\n2. Add up the months of each city\n\nShall I make it?"
NEW: dict[str, Any] = {"tool": "notebook_create", "arguments": {
    "path": "sales-by-city.ipynb", "cells": [{"source": "# Sales by city", "cell_type": "markdown"}, SALES, SUM],
}}  # fmt: skip
RULES: list[dict[str, Any]] = [
    {"tool": "notebook_create", "result": "", "reply": [{"text": "The notebook is there."}]},
    {"message": "First show its outline", "reply": [{"text": OUTLINE}]},
    {"message": "(?i)make it", "reply": [NEW]},
    {"message": "mean", "reply": [{"text": MEAN}]},
    {"tool": "notebook_edit_cell", "result": "", "reply": [{"text": "The names are tidy."}]},
    {"message": "tidy", "tool": "notebook_read", "result": "", "reply": [
        {"tool": "notebook_edit_cell", "arguments": {"cell": "c2", "source": SORTED}},
    ]},
    {"message": "tidy", "reply": [{"tool": "notebook_read", "arguments": {}}]},
    {"tool": "run_code", "result": "Porto", "reply": [{"text": TABLE}]},
    {"message": "sold the most", "reply": [
        {"reasoning": "I have the table. I add up its months."}, {"text": "I add up the months of each city. "},
        {"tool": "run_code", "arguments": {"code": SUM}},
    ]},
    {"tool": "notebook_change", "result": "", "reply": [{"text": "The list leaves out the missing value now."}]},
    {"message": "Fix", "reply": [{"text": "Gdansk has no value in July, and `int` knows no missing value. "}, EDIT]},
    {"message": "gaps", "reply": [{"text": GAPS}]},
    {"message": "stream", "reply": [{"text": "tick " * 3000, "chunk": 5, "delay": 0.02}]},
    {"message": "", "reply": [{"text": "You said: {message}"}]},
]  # fmt: skip


@pytest.fixture(scope="module")
def vendor() -> Iterator[LoopbackOpenAI]:
    with LoopbackOpenAI(
        [recording("chat", "text_comes_in_pieces_and_usage_after_it")[0]], models=["some/model"], key=KEY
    ) as server:
        yield server


@pytest.fixture(scope="module", params=THEMES)
def theme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def make_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI, theme: str) -> LabSettings:
    script = tmp_path_factory.mktemp("script") / "stories.json"
    script.write_text(json.dumps({"rules": RULES}))
    models = {"stories": {"script": str(script)}}
    providers = {"scripted": {"models": models}, "openrouter": {"url": f"{vendor.url}/api/v1"}}
    return LabSettings(eca={"defaultModel": "scripted/stories", "providers": providers}, theme=theme)


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI, theme: str) -> LabSettings:
    return make_settings(tmp_path_factory, vendor, theme)


@pytest.fixture
def tell(page: Page, lab: Lab, tmp_path: Path) -> Iterator[Callable[[str, str], Story]]:
    """Makes a story of its name and its title."""
    yield lambda name, title: Story(page, name, title, find_folder(tmp_path))
    assert page.evaluate("() => document.body.dataset.jpThemeName") == lab.settings.theme


def open_sales(page: Page, lab: Lab, name: str, *sources: str) -> Notebook:
    """A notebook in which the first two cells, which load the data, have run."""
    notebook = Notebook.open(page, lab, [LOAD, SALES, *sources], name)
    page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); }")
    for n in (0, 1):
        notebook.run(n)
        notebook.wait_until_run(n)
    return notebook


def open_panel(page: Page, lab: Lab, name: str) -> Panel:
    """The panel beside a notebook: a page of Jupyter Notebook has a panel only there."""
    Notebook.show(page, lab, ["x = 1"], name)
    return Panel.show(page)


def test_i_ask_about_my_data_in_a_cell_and_approve_the_code(
    page: Page, lab: Lab, tell: Callable[[str, str], Story]
) -> None:
    story = tell("ask-in-a-cell", "I ask about my data in a cell, and approve the code")
    notebook = open_sales(page, lab, "ask.ipynb", "%%eca\nWhich city sold the most?", "totals.max()")
    notebook.cell(2).locator(".cm-content").click()
    story.begin()
    page.keyboard.press("Shift+Enter")
    approve = notebook.cell(2).get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible(timeout=SECONDS * 1000)
    story.picture("approve")
    approve.click()
    notebook.wait_for_output(2, "360")
    notebook.wait_until_run(2)
    story.end()
    # The next Shift+Enter runs the next cell, and does not ask again.
    page.keyboard.press("Shift+Enter")
    notebook.wait_for_output(3, "360")
    assert notebook.output(2).count("Porto sold the most") == 1


def test_i_fix_an_error_with_two_clicks(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("fix-an-error", "I fix an error")
    notebook = open_sales(page, lab, "fix.ipynb", JULY)
    notebook.run(2)
    fix = page.locator(".jp-Cell .eca-Help").get_by_role("button", name="Fix")
    expect(fix).to_be_visible(timeout=SECONDS * 1000)
    story.begin()
    fix.click()
    panel = Panel(page)
    expect(panel.button("Approve")).to_be_visible(timeout=SECONDS * 1000)
    story.picture("panel")
    panel.button("Approve").click()
    panel.sees("The list leaves out the missing value now")
    notebook.wait_for_output(2, "[95, 160]")
    story.end()
    expect(fix).to_have_count(0)
    assert "Traceback" not in notebook.output(2)


def test_i_point_at_a_table_and_ask_what_is_missing(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("point-at-a-table", "I point at a table, and ask what is missing in it")
    open_sales(page, lab, "point.ipynb")
    panel = Panel.show(page)
    panel.box.focus()
    story.begin()
    panel.box.press_sequentially("Which gaps has @sal")
    chosen = panel.node.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text("sales", timeout=SECONDS * 1000)
    panel.box.press("Enter")
    panel.box.press("Enter")
    panel.sees("Gdansk has no sales in july")
    panel.wait_until_idle()
    story.end()


def test_i_undo_what_the_assistant_has_changed(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("undo-a-change", "I undo what the assistant has changed")
    notebook = open_sales(page, lab, "undo.ipynb", JULY)
    notebook.run(2)
    notebook.wait_until_run(2)
    panel = Panel.show(page)
    panel.ask("Fix it")
    panel.button("Approve").click(timeout=SECONDS * 1000)
    panel.sees("The list leaves out the missing value now")
    panel.wait_until_idle()
    undo = panel.node.get_by_role("region", name="Changes of this turn").get_by_role("button", name="Undo all")
    expect(undo).to_be_visible(timeout=SECONDS * 1000)
    story.begin()
    undo.click()
    notebook.wait_for_sources([LOAD, SALES, JULY])
    story.end()


def test_i_find_what_was_said_last_week(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("find-a-chat", "I find a chat by what was said in it")
    panel = open_panel(page, lab, "find.ipynb")
    for words in ("Why does the merge lose rows?", "Something else"):
        panel.ask(words)
        panel.sees(f"You said: {words}")
        panel.wait_until_idle()
        panel.button("New chat").click()
    story.begin()
    panel.button("All chats").click()
    page.get_by_role("searchbox", name="Find a chat").press_sequentially("lose rows")
    row = panel.node.locator(".eca-Chats-open")
    expect(row).to_have_count(1, timeout=SECONDS * 1000)
    row.click()
    panel.sees("You said: Why does the merge lose rows?")
    story.end()


def test_i_stop_a_long_answer(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("stop-an-answer", "I stop a long answer")
    panel = open_panel(page, lab, "stop.ipynb")
    panel.ask("stream")
    panel.sees("tick tick")
    story.begin()
    panel.button("Stop").click()
    panel.wait_until_idle()
    story.end()
    panel.ask("Still there?")
    panel.sees("You said: Still there?")


def test_i_type_a_key_and_see_whether_it_works(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    """In the settings: the first steps of a panel without a model are in `test_first_run.py`."""
    story = tell("try-a-key", "I type a key, and see whether it works")
    open_panel(page, lab, "key.ipynb")
    page.evaluate("() => window.jupyterapp.commands.execute('eca:open-settings', { section: 'providers' })")
    card = page.locator(".eca-Settings-body").get_by_role("listitem", name="OpenRouter", exact=True)
    sign_in = card.get_by_role("button", name="paste a key…")
    expect(sign_in).to_be_visible(timeout=SECONDS * 1000)
    story.begin()
    sign_in.click()
    card.get_by_role("button", name="Enter an API key").click(timeout=SECONDS * 1000)
    field = card.get_by_role("textbox")
    field.fill(KEY)
    field.press("Enter")
    # The key is tried at once.
    expect(card.locator(".eca-Trial")).to_have_text("the key works", timeout=FIRST_KEY_SECONDS * 1000)
    story.end()
    card.get_by_role("button", name="Sign out").click()
    expect(card.locator(".eca-Trial")).to_have_count(0, timeout=SECONDS * 1000)


def test_i_leave_out_a_part_of_a_change_and_approve_the_rest(
    page: Page, lab: Lab, tell: Callable[[str, str], Story]
) -> None:
    story = tell("review-a-change", "I leave out a part of a change, and approve the rest")
    notebook = open_sales(page, lab, "review.ipynb", NAMES)
    panel = Panel.show(page)
    panel.box.focus()
    story.begin()
    panel.box.press_sequentially("tidy the names")
    panel.box.press("Enter")
    hunks = notebook.cell(2).locator(".eca-Hunk")
    expect(hunks).to_have_count(2, timeout=SECONDS * 1000)
    hunks.last.get_by_role("button", name="Leave out").click()
    bar = notebook.cell(2).get_by_role("group", name="Changes of the assistant")
    bar.get_by_role("button", name="Approve 1 of 2 parts").click()
    notebook.wait_for_sources([LOAD, SALES, STRIPPED])
    panel.sees("The names are tidy.")
    story.end()


def test_i_run_the_code_of_an_answer_in_a_new_cell(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("run-an-answer", "I run the code of an answer in a new cell")
    notebook = open_sales(page, lab, "run.ipynb")
    panel = Panel.show(page)
    panel.ask("How do I get the mean?")
    panel.sees("The mean of June")
    panel.wait_until_idle()
    story.begin()
    panel.button("Run in a new cell below").click()
    notebook.wait_for_output(2, "96.7")
    story.end()


def test_i_get_a_new_notebook_from_a_description(page: Page, lab: Lab, tell: Callable[[str, str], Story]) -> None:
    story = tell("new-notebook", "I get a new notebook from a description")
    panel = open_panel(page, lab, "from.ipynb")
    panel.box.focus()
    story.begin()
    panel.box.press_sequentially("/notebook sales by city")
    panel.box.press("Enter")
    panel.sees("Add up the months of each city")
    panel.wait_until_idle()
    outline = panel.node.get_by_role("group", name="The outline of the notebook")
    outline.get_by_role("button", name="Approve").click()
    expect(outline).to_have_count(0)
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    panel.sees("The notebook is there.")
    story.end()
    # The new notebook has come to the front, and the chat stays beside it.
    panel.sees("Add up the months of each city")
    cells = json.loads((lab.root / "sales-by-city.ipynb").read_text())["cells"]
    assert ["".join(cell["source"]) for cell in cells] == ["# Sales by city", SALES, SUM]
