"""Somebody makes a mistake of their own in the tour, and asks for help: the script says what it knows, and that it is
a script. It claims no success after a call that failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.support.tour import NOTEBOOKS, copy_tour

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab_settings() -> LabSettings:
    """With the script of the tour which the tour has in a folder that is trusted."""
    models = {"tour": {"script": str(NOTEBOOKS / ".eca" / "tour.json")}}
    return LabSettings(eca={"defaultModel": "scripted/tour", "providers": {"scripted": {"models": models}}})


def open_tour(page: Page, lab: Lab, name: str) -> Notebook:
    """Open a notebook of the tour, with its kernel ready."""
    copy_tour(lab.root)
    page.goto(lab.address(name))
    notebook = Notebook(page, lab.root / name)
    notebook.wait_until("window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length > 0")
    notebook.wait_until_idle()
    return notebook


def run_new_cell(notebook: Notebook, source: str) -> int:
    """Write a cell below all others, run it, and return its number from 0."""
    number = int(
        notebook.page.evaluate(
            """async source => {
              const { commands, shell } = window.jupyterapp;
              const { content } = shell.currentWidget;
              content.activeCellIndex = content.widgets.length - 1;
              await commands.execute('notebook:insert-cell-below');
              content.activeCell.model.sharedModel.setSource(source);
              return content.activeCellIndex;
            }""",
            source,
        )
    )
    notebook.run(number)
    notebook.wait_until_run(number)
    return number


@pytest.mark.parametrize(
    ("source", "known"),
    [
        ("total = totl + 1", "no cell that ran has made totl"),
        ("{'Porto': 1}['Lisbon']", "there is no key 'Lisbon'"),
        ("if True print(1)", "nothing of the cell ran"),
        ("1 / 0", "does not know what to say about that cell"),
    ],
)
def test_fix_says_what_the_script_knows_and_offers_a_model(page: Page, lab: Lab, source: str, known: str) -> None:
    notebook = open_tour(page, lab, "01_hello.ipynb")
    number = run_new_cell(notebook, source)
    notebook.cell(number).get_by_role("button", name="Fix", exact=True).click()
    panel = Panel(page)
    panel.wait_until_connected()
    panel.sees(known)
    panel.sees("I am the script of this tour")
    panel.sees("02_offline_model.ipynb")
    panel.wait_until_idle()
    keep(page, "own-mistake-" + known.split()[-1].strip("'"))
    assert panel.node.locator(".eca-Tool").count() == 0, "no cell is changed"
    assert notebook.sources()[number] == source


def test_fix_still_mends_the_mistake_of_the_tour(page: Page, lab: Lab) -> None:
    notebook = open_tour(page, lab, "03_clean_a_data_set.ipynb")
    sources = notebook.sources()
    prices = next(n for n, source in enumerate(sources) if source.startswith("prices = "))
    for n in range(prices + 1):
        notebook.run(n)
        if not sources[n].startswith("#") and notebook.cell(n).locator(".jp-InputPrompt").count():
            notebook.wait_until("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    notebook.wait_until_run(prices)
    notebook.cell(prices).get_by_role("button", name="Fix", exact=True).click()
    panel = Panel(page)
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    panel.button("Approve").click()
    panel.sees("The prices are numbers now")
    assert "replace" in notebook.sources()[prices]


def test_after_code_that_failed_no_success_is_claimed(page: Page, lab: Lab) -> None:
    """The reader asks for clean orders in a kernel that has none."""
    open_tour(page, lab, "01_hello.ipynb")
    panel = Panel.show(page)
    panel.ask("Clean the orders.")
    panel.button("Approve").click(timeout=SECONDS * 1000)
    panel.sees("The code failed")
    panel.wait_until_idle()
    keep(page, "own-mistake-failed")
    assert "clean is there" not in panel.transcript.inner_text()
