"""The stories of `test_stories.py`, by somebody who has no mouse: each key goes to what has the focus, and the page
itself never has it, because the next key would be lost or be a command of the notebook."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.notebook import SECONDS
from tests.e2e.browser.test_stories import (
    FIRST_KEY_SECONDS,
    JULY,
    KEY,
    LOAD,
    NAMES,
    SALES,
    STRIPPED,
    SUM,
    make_settings,
    open_panel,
    open_sales,
    vendor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab, LabSettings
    from tests.support.openai_server import LoopbackOpenAI

__all__ = ["vendor"]

pytestmark = pytest.mark.browser

# Notes what had the focus before the page itself got it, where that is still so once the page is drawn.
_WATCH: Final = """() => {
  window.lost = [];
  document.addEventListener('focusout', ({ target }) => {
    requestAnimationFrame(() => requestAnimationFrame(() => {
      if (document.activeElement === document.body) {
        window.lost.push(target.outerHTML.slice(0, 200));
      }
    }));
  });
}"""
_IS_FOCUSED: Final = "node => node === document.activeElement"
# Places of a page with a notebook and its panel, or of the settings.
_MOST_TABS: Final = 120


class Keys:
    """The keyboard of a user who looks where the focus is before each key."""

    def __init__(self, page: Page) -> None:
        self._page = page

    def press(self, *keys: str) -> None:
        for key in keys:
            self.expect_focus()
            self._page.keyboard.press(key)

    def type(self, text: str) -> None:
        self.expect_focus()
        self._page.keyboard.type(text)

    def tab_to(self, target: Locator, *, back: bool = False) -> None:
        """Go on, or back, until this has the focus. Raises: AssertionError when it does not get it, or is not seen."""
        for _ in range(_MOST_TABS):
            if target.evaluate(_IS_FOCUSED):
                expect(target).to_be_in_viewport()
                assert target.evaluate("node => node.checkVisibility({ opacityProperty: true })")
                return
            self.press("Shift+Tab" if back else "Tab")
        raise AssertionError(f"no key leads to {target}")

    def expect_focus(self) -> None:
        self._page.wait_for_function(
            "() => document.activeElement && document.activeElement !== document.body", timeout=SECONDS * 1000
        )


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory, vendor: LoopbackOpenAI) -> LabSettings:
    return make_settings(tmp_path_factory, vendor, "JupyterLab Light")


@pytest.fixture
def keys(page: Page) -> Iterator[Keys]:
    page.add_init_script(f"({_WATCH})()")
    keys = Keys(page)
    yield keys
    keys.expect_focus()
    assert page.evaluate("() => window.lost") == []


def enter_notebook(page: Page) -> None:
    """As a user who has just opened it and is in it."""
    page.evaluate("() => window.jupyterapp.shell.currentWidget.activate()")
    expect(page.locator(".jp-Notebook:focus-within, .jp-Notebook:focus")).to_have_count(1)
    page.evaluate("() => { window.lost = []; }")


def enter_panel(panel: Panel, keys: Keys) -> None:
    keys.press("Control+Alt+i")
    expect(panel.box).to_be_focused(timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_i_ask_about_my_data_in_a_cell_and_approve_the_code(page: Page, lab: Lab, keys: Keys) -> None:
    notebook = open_sales(page, lab, "keys-ask.ipynb", "%%eca\nWhich city sold the most?", "totals.max()")
    enter_notebook(page)
    keys.press("ArrowDown", "Shift+Enter")
    approve = notebook.cell(2).get_by_role("button", name="Approve", exact=True)
    expect(approve).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(approve, back=True)
    keys.press("Enter")
    notebook.wait_for_output(2, "360")
    notebook.wait_until_run(2)
    # The focus is in the next cell.
    keys.press("Shift+Enter")
    notebook.wait_for_output(3, "360")
    assert notebook.output(2).count("Porto sold the most") == 1


def test_i_fix_an_error(page: Page, lab: Lab, keys: Keys) -> None:
    notebook = open_sales(page, lab, "keys-fix.ipynb", JULY)
    enter_notebook(page)
    keys.press("ArrowDown", "Control+Enter")
    fix = page.locator(".jp-Cell .eca-Help").get_by_role("button", name="Fix")
    expect(fix).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(fix)
    keys.press("Enter")
    panel = Panel(page)
    expect(panel.button("Approve")).to_be_visible(timeout=SECONDS * 1000)
    keys.press("Control+Enter")
    panel.sees("The list leaves out the missing value now")
    notebook.wait_for_output(2, "[95, 160]")
    panel.wait_until_idle()
    expect(fix).to_have_count(0)


@pytest.mark.nightly
def test_i_point_at_a_table_and_ask_what_is_missing(page: Page, lab: Lab, keys: Keys) -> None:
    open_sales(page, lab, "keys-point.ipynb")
    enter_notebook(page)
    panel = Panel(page)
    enter_panel(panel, keys)
    keys.type("Which gaps has @sal")
    chosen = panel.node.locator("[role=option][aria-selected=true]")
    expect(chosen).to_contain_text("sales", timeout=SECONDS * 1000)
    keys.press("Enter", "Enter")
    panel.sees("Gdansk has no sales in july")
    panel.wait_until_idle()


@pytest.mark.nightly
def test_i_undo_what_the_assistant_has_changed(page: Page, lab: Lab, keys: Keys) -> None:
    notebook = open_sales(page, lab, "keys-undo.ipynb", JULY)
    notebook.run(2)
    notebook.wait_until_run(2)
    enter_notebook(page)
    panel = Panel(page)
    enter_panel(panel, keys)
    keys.type("Fix it")
    keys.press("Enter")
    expect(panel.button("Approve")).to_be_visible(timeout=SECONDS * 1000)
    keys.press("Control+Enter")
    panel.sees("The list leaves out the missing value now")
    panel.wait_until_idle()
    undo = panel.node.get_by_role("region", name="Changes of this turn").get_by_role("button", name="Undo all")
    expect(undo).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(undo, back=True)
    keys.press("Enter")
    notebook.wait_for_sources([LOAD, SALES, JULY])


@pytest.mark.nightly
def test_i_find_what_was_said_last_week(page: Page, lab: Lab, keys: Keys) -> None:
    panel = open_panel(page, lab, "keys-find.ipynb")
    enter_notebook(page)
    enter_panel(panel, keys)
    for words in ("Why does the merge lose rows?", "Something else"):
        keys.type(words)
        keys.press("Enter")
        panel.sees(f"You said: {words}")
        panel.wait_until_idle()
        keys.tab_to(panel.button("New chat"), back=True)
        keys.press("Enter")
        expect(panel.box).to_be_focused()
    keys.tab_to(panel.button("All chats"), back=True)
    keys.press("Enter")
    expect(page.get_by_role("searchbox", name="Find a chat")).to_be_focused()
    keys.type("lose rows")
    expect(panel.node.locator(".eca-Chats-open")).to_have_count(1, timeout=SECONDS * 1000)
    keys.press("Enter")
    panel.sees("You said: Why does the merge lose rows?")


@pytest.mark.nightly
def test_i_stop_a_long_answer(page: Page, lab: Lab, keys: Keys) -> None:
    panel = open_panel(page, lab, "keys-stop.ipynb")
    enter_notebook(page)
    enter_panel(panel, keys)
    keys.type("stream")
    keys.press("Enter")
    panel.sees("tick tick")
    keys.tab_to(panel.button("Stop"))
    keys.press("Enter")
    panel.wait_until_idle()


@pytest.mark.nightly
def test_i_type_a_key_and_see_whether_it_works(page: Page, lab: Lab, keys: Keys) -> None:
    open_panel(page, lab, "keys-key.ipynb")
    enter_notebook(page)
    keys.press("Control+Alt+,")
    settings = page.locator(".eca-Settings")
    section = settings.get_by_role("tab", name="Providers and keys")
    expect(section).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(settings.get_by_role("tab", selected=True))
    while not section.evaluate(_IS_FOCUSED):
        keys.press("ArrowDown")
    card = page.locator(".eca-Settings-body").get_by_role("listitem", name="OpenRouter", exact=True)
    expect(card.get_by_role("button", name="paste a key…")).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(card.get_by_role("button", name="paste a key…"))
    keys.press("Enter")
    enter = card.get_by_role("button", name="Enter an API key")
    expect(enter).to_be_visible(timeout=SECONDS * 1000)
    keys.tab_to(enter)
    keys.press("Enter")
    expect(card.get_by_role("textbox")).to_be_focused(timeout=SECONDS * 1000)
    keys.type(KEY)
    keys.press("Enter")
    # The key is tried at once.
    expect(card.locator(".eca-Trial")).to_have_text("the key works", timeout=FIRST_KEY_SECONDS * 1000)
    # The focus is on the button that closes the remark, which is below the buttons of the card.
    keys.tab_to(card.get_by_role("button", name="Sign out"), back=True)
    keys.press("Enter")
    expect(card.locator(".eca-Trial")).to_have_count(0, timeout=SECONDS * 1000)


@pytest.mark.nightly
def test_i_leave_out_a_part_of_a_change_and_approve_the_rest(page: Page, lab: Lab, keys: Keys) -> None:
    notebook = open_sales(page, lab, "keys-review.ipynb", NAMES)
    enter_notebook(page)
    panel = Panel(page)
    enter_panel(panel, keys)
    keys.type("tidy the names")
    keys.press("Enter")
    hunks = notebook.cell(2).locator(".eca-Hunk")
    expect(hunks).to_have_count(2, timeout=SECONDS * 1000)
    keys.tab_to(hunks.last.get_by_role("button", name="Leave out"), back=True)
    keys.press("Enter")
    bar = notebook.cell(2).get_by_role("group", name="Changes of the assistant")
    keys.tab_to(bar.get_by_role("button", name="Approve 1 of 2 parts"), back=True)
    keys.press("Enter")
    notebook.wait_for_sources([LOAD, SALES, STRIPPED])
    panel.sees("The names are tidy.")


@pytest.mark.nightly
def test_i_run_the_code_of_an_answer_in_a_new_cell(page: Page, lab: Lab, keys: Keys) -> None:
    """The buttons of the code are seen with the focus as with the mouse."""
    notebook = open_sales(page, lab, "keys-run.ipynb")
    enter_notebook(page)
    panel = Panel(page)
    enter_panel(panel, keys)
    keys.type("How do I get the mean?")
    keys.press("Enter")
    panel.sees("The mean of June")
    panel.wait_until_idle()
    keys.tab_to(panel.button("Run in a new cell below"), back=True)
    keys.press("Enter")
    notebook.wait_for_output(2, "96.7")


@pytest.mark.nightly
def test_i_get_a_new_notebook_from_a_description(page: Page, lab: Lab, keys: Keys) -> None:
    panel = open_panel(page, lab, "keys-from.ipynb")
    enter_notebook(page)
    enter_panel(panel, keys)
    # The name alone is not sent: the command needs words.
    keys.type("/notebook")
    expect(panel.node.get_by_role("option").first).to_contain_text("/notebook", timeout=SECONDS * 1000)
    keys.press("Enter")
    expect(panel.box).to_have_value("/notebook ")
    keys.type("sales by city")
    keys.press("Enter")
    panel.sees("Add up the months of each city")
    panel.wait_until_idle()
    keys.type("make it")
    keys.press("Enter")
    # The outline has a button with this name, too.
    expect(panel.call("waiting")).to_be_visible(timeout=SECONDS * 1000)
    keys.press("Control+Enter")
    panel.sees("The notebook is there.")
    cells = json.loads((lab.root / "sales-by-city.ipynb").read_text())["cells"]
    assert ["".join(cell["source"]) for cell in cells] == ["# Sales by city", SALES, SUM]
