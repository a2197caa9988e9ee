"""The labextension in a real JupyterLab."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

LOAD = "%load_ext jupyter_eca"
QUESTION = "%%eca\n"


def test_the_toolbar_has_a_button_that_opens_a_cell_below_to_type_into(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, [LOAD, "x = 1", "y = 2"])
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    page.get_by_role("button", name="Ask the assistant in a new cell below").click()
    notebook.wait_until("window.jupyterapp.shell.currentWidget.content.mode === 'edit'")
    assert notebook.sources() == [LOAD, "x = 1", QUESTION, "y = 2"]
    assert notebook.cursor() == (2, "edit", 1)


@pytest.mark.nightly
def test_what_is_typed_after_asking_is_the_question(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, [LOAD])
    notebook.execute("eca:ask")
    page.keyboard.type("Why?")
    assert notebook.sources() == [LOAD, QUESTION + "Why?"]


@pytest.mark.nightly
def test_the_magic_is_loaded_before_the_first_question_where_no_cell_loads_it(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "%eca one", "y = 2"])
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 2; }")
    notebook.execute("eca:ask")
    assert notebook.sources() == ["x = 1", LOAD, "%eca one", "y = 2", QUESTION]
    assert notebook.cursor() == (4, "edit", 1)
    notebook.wait_until_run(1)


@pytest.mark.nightly
def test_an_empty_cell_becomes_the_question(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1", "", "y = 2"])
    page.evaluate("() => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = 1; }")
    notebook.execute("eca:ask")
    assert notebook.sources() == ["x = 1", LOAD, QUESTION, "y = 2"]
    assert notebook.cursor() == (2, "edit", 1)
    page.keyboard.type("Why?")
    assert notebook.sources()[2] == QUESTION + "Why?"


@pytest.mark.nightly
def test_asking_twice_loads_once_and_uses_an_empty_question(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, ["x = 1"])
    notebook.execute("eca:ask")
    notebook.execute("eca:ask")
    assert notebook.sources() == ["x = 1", LOAD, QUESTION]
    page.keyboard.type("Why?")
    notebook.execute("eca:ask")
    assert notebook.sources() == ["x = 1", LOAD, QUESTION + "Why?", QUESTION]


@pytest.mark.nightly
def test_the_new_cell_is_saved_with_the_notebook(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, [LOAD])
    notebook.execute("eca:ask")
    notebook.save()
    assert [cell["cell_type"] for cell in notebook.read()["cells"]] == ["code", "code"]


@pytest.mark.nightly
def test_a_key_asks_also_while_a_cell_is_being_edited(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, [LOAD])
    notebook.cell(0).locator(".cm-content").click()
    page.keyboard.press("Control+Alt+Enter")
    notebook.wait_until("window.jupyterapp.shell.currentWidget.content.widgets.length === 2")
    assert notebook.sources() == [LOAD, QUESTION]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("menu", "item"), [("Edit", "Ask the Assistant in a New Cell"), ("Kernel", "Stop the Assistant")]
)
def test_a_menu_has_the_command(page: Page, lab: Lab, menu: str, item: str) -> None:
    Notebook.open(page, lab, [LOAD])
    page.get_by_role("menuitem", name=menu, exact=True).click()
    expect(page.get_by_role("menuitem", name=item)).to_be_visible()


def test_nothing_connects_before_it_is_asked_to(page: Page, lab: Lab) -> None:
    opened: list[str] = []
    page.on("websocket", lambda socket: opened.append(socket.url))
    Notebook.open(page, lab, [LOAD])
    assert opened
    assert not [url for url in opened if "/eca/" in url]


@pytest.mark.nightly
def test_stopping_an_assistant_that_is_not_busy_says_so(page: Page, lab: Lab) -> None:
    notebook = Notebook.open(page, lab, [LOAD])
    notebook.execute("eca:stop")
    notebook.wait_for_notification("The assistant is not busy")
