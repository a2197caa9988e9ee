"""A panel with little room, and one with the colours of the system: all that is shown can be read and told apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.notebook import Notebook
from tests.e2e.browser.pictures import keep
from tests.e2e.browser.states import NARROW, make_settings

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab, LabSettings

pytestmark = [pytest.mark.browser, pytest.mark.nightly]


@pytest.fixture(scope="module")
def lab_settings(tmp_path_factory: pytest.TempPathFactory) -> LabSettings:
    return make_settings(tmp_path_factory.mktemp("script"))


OVERLAP: Final = """row => {
  const state = row.querySelector('.eca-Chats-when').getBoundingClientRect();
  const tools = row.querySelector('.eca-Chats-tools').getBoundingClientRect();
  return state.right > tools.left && state.left < tools.right && state.bottom > tools.top && state.top < tools.bottom;
}"""


def test_the_buttons_of_a_chat_in_the_list_do_not_cover_that_it_waits_for_the_user(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "waits.ipynb")
    panel = Panel.show(page)
    panel.ask("an ode")
    expect(panel.call("waiting")).to_have_count(1, timeout=SECONDS * 1000)
    panel.button("All chats").click()
    row = panel.node.locator(".eca-Chats li", has_text="waiting for you").first
    row.hover()
    expect(row.get_by_role("button", name="Rename")).to_be_visible()
    keep(page, "little-room-waits")
    assert not row.evaluate(OVERLAP)
    row.get_by_role("button", name="Delete").click()
    keep(page, "little-room-delete")
    assert not row.evaluate(OVERLAP)
    row.get_by_role("button", name="Cancel").click()
    row.locator(".eca-Chats-open").click()
    panel.call("waiting").get_by_role("button", name="Approve", exact=True).click()
    panel.wait_until_idle()


TELLS_APART: Final = """() => {
  const style = (selector, part) => getComputedStyle(document.querySelector('.eca-Panel ' + selector), part);
  return {
    message: style('.eca-User').borderTopStyle !== 'none',
    focus: style('.eca-Composer').outlineStyle !== 'none',
    choice: style('[role=option][aria-selected=true]').backgroundColor
      !== style('[role=option][aria-selected=false]').backgroundColor,
    icon: style('.eca-Code-tool', '::before').backgroundColor !== style('.eca-Code-tools').backgroundColor,
    connection: style('.eca-Connection').backgroundColor !== style('.eca-Composer').backgroundColor
  };
}"""


def test_with_the_colours_of_the_system_no_part_is_told_from_another_by_its_background_alone(
    page: Page, lab: Lab
) -> None:
    page.emulate_media(forced_colors="active")
    panel = Panel.open(page, lab)
    panel.ask("Hello")
    panel.sees("A title")
    panel.wait_until_idle()
    panel.box.fill("@")
    expect(panel.node.get_by_role("option", selected=False).first).to_be_visible(timeout=SECONDS * 1000)
    keep(page, "little-room-colours")
    parts: dict[str, bool] = page.evaluate(TELLS_APART)
    assert all(parts.values()), parts


# The last test, because the agent that is chosen is remembered.
PICKERS: Final = """() => [...document.querySelectorAll('.eca-Panel .eca-Picker')].map(picker => ({
  whole: picker.scrollWidth <= picker.clientWidth,
  inside: picker.getBoundingClientRect().right <= document.querySelector('.eca-Composer').getBoundingClientRect().right,
  title: picker.querySelector('select').title
}))"""


def test_what_is_chosen_for_an_outside_agent_is_readable_in_a_narrow_panel(page: Page, lab: Lab) -> None:
    Notebook.show(page, lab, ["x = 1"], "pickers.ipynb")
    panel = Panel.show(page)
    page.evaluate(NARROW)
    panel.node.get_by_role("combobox", name="Agent", exact=True).select_option("chooser")
    panel.ask("DO: say Hello")
    panel.sees("Hello")
    panel.wait_until_idle()
    panel.node.get_by_role("combobox", name="Model", exact=True).select_option("large")
    panel.node.get_by_role("combobox", name="Effort", exact=True).select_option("high")
    page.wait_for_function("() => document.querySelector('.eca-Panel').clientWidth <= 320")
    keep(page, "little-room-pickers")
    pickers: list[dict[str, Any]] = page.evaluate(PICKERS)
    assert [picker["title"] for picker in pickers] == [
        "Agent: chooser",
        "Model: Large one",
        "Effort: high",
        "Search the web: off",
    ]
    assert all(picker["whole"] and picker["inside"] for picker in pickers), pickers
