"""The main job as a user lives it: a `%%eca` cell in a real JupyterLab, a real kernel, the real SDK over loopback."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from jupyter_eca.plugins.providers.scripted import Script
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.axe import complaints
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

HOSTILE = (
    "Look: <img src=x onerror=\"document.title='owned'\"> <script>document.title='owned'</script>\n\n"
    "- ```\n  code\n```\n<img src=x onerror=\"document.title='owned'\">\n```\n\n"
    "`<b>` and [a link](javascript:document.title='owned')\n\nEnd of it."
)


def priced(price: str) -> dict[str, Any]:
    return {"tool": "notebook_edit_cell", "arguments": {"cell": "c1", "source": f"price = {price}"}}


WHICH: dict[str, Any] = {
    "question": "Which price?",
    "options": [{"label": "twelve", "description": "as last year"}, "thirteen"],
}
RULES: list[dict[str, Any]] = [
    {"result": "(?s)rejected this call.*too early", "reply": [{"text": "Too early, you say. I leave it."}]},
    {"result": "(?s)rejected this call.*too low", "reply": [{"tool": "ask_user", "arguments": WHICH}]},
    {"result": "The user answered: twelve", "reply": [priced("12")]},
    {"result": "price = 12", "reply": [{"text": "It is twelve now."}]},
    {"message": "price", "result": "", "tool": "notebook_read", "reply": [priced("11")]},
    {"message": "price", "reply": [{"tool": "notebook_read", "arguments": {}}]},
    {"result": "", "reply": [{"text": "The sum is in `total`: {result}"}]},
    {"message": "sum", "reply": [{"reasoning": "A small sum."}, {"text": "I add them up. ", "chunk": 5, "delay": 0.02},
                                 {"tool": "run_code", "arguments": {"code": "total = sum(range(10))\ntotal"}}]},
    {"message": "block", "reply": [{"tool": "run_code", "arguments": {"code": "import time; time.sleep(300)"}}]},
    {"message": "stream", "reply": [{"text": "tick " * 3000, "chunk": 5, "delay": 0.02}]},
    {"message": "hostile", "reply": [{"text": HOSTILE}]},
    {"message": "overload", "reply": [{"error": "Overloaded", "status": 529}]},
    {"message": "", "reply": [{"text": "Hello from the loopback."}]},
]  # fmt: skip
# The first answer has the vendor's SDK imported, which takes long beside other work.
FIRST_ANSWER_SECONDS = 180


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackAnthropic]:
    with LoopbackAnthropic(Script.model_validate({"rules": RULES})) as server:
        yield server


@pytest.fixture(scope="module")
def lab_settings(model: LoopbackAnthropic) -> LabSettings:
    provider: dict[str, Any] = {"url": model.url, "key": "sk-loopback", "models": {"m": {}}, "retry": 1}
    return LabSettings(eca={"providers": {"anthropic": provider}, "defaultModel": "anthropic/m"})


def asking(page: Page, lab: Lab, name: str, *questions: str) -> Notebook:
    """A notebook whose cell 1 is the question; the extension is loaded."""
    notebook = Notebook.open(page, lab, ["%load_ext jupyter_eca", *questions], name)
    notebook.run(0)
    notebook.wait_until_run(0)
    return notebook


def markdown_of(cell: dict[str, Any]) -> str:
    bundles = [output.get("data", {}) for output in cell["outputs"]]
    return "".join("".join(bundle.get("text/markdown", "")) for bundle in bundles)


def test_text_streams_in_a_click_approves_and_the_variable_is_in_the_kernel_and_the_answer_in_the_file(
    page: Page, lab: Lab
) -> None:
    notebook = asking(page, lab, "approve.ipynb", "%%eca -> answer\nWhat is the sum?", "print(total, answer.text[:14])")
    notebook.run(1)
    notebook.wait_for_output(1, "I add")
    notebook.wait_for_output(1, "waits for your approval")
    page.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_output(1, "The sum is in total: 45")
    notebook.wait_until_run(1)
    assert page.get_by_role("button", name="Approve", exact=True).count() == 0
    notebook.run(2)
    notebook.wait_for_output(2, "45 I add them up.")
    notebook.save()
    saved = markdown_of(notebook.read()["cells"][1])
    assert "I add them up." in saved
    assert "✓ done" in saved
    assert "The sum is in" in saved


def test_a_cell_that_waited_when_the_page_was_reloaded_gets_the_rest_of_its_answer(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "reloaded.ipynb", "%%eca\nWhat is the sum?")
    notebook.run(1)
    notebook.wait_for_output(1, "waits for your approval")
    notebook.save()
    page.reload()
    panel = Panel.show(page)
    notebook.wait_for_output(1, "waits for your approval")
    # The cell has a card, too.
    card = page.get_by_role("region", name="Assistant", exact=True).locator(".eca-Tool[data-status='waiting']")
    card.get_by_role("button", name="Approve", exact=True).click(timeout=SECONDS * 1000)
    notebook.wait_for_output(1, "The sum is in total: 45", FIRST_ANSWER_SECONDS)
    assert "waits" not in notebook.output(1)
    panel.wait_until_idle()


def test_the_answer_of_a_cell_that_is_deleted_goes_on_in_the_panel_which_says_so(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "deleted.ipynb", "%%eca\nWhat is the sum?")
    Panel.show(page)
    notebook.run(1)
    # The question is in the cell and in the panel.
    expect(notebook.cell(1).locator(".eca-Tool[data-status='waiting']")).to_have_count(1, timeout=SECONDS * 1000)
    card = page.get_by_role("region", name="Assistant", exact=True).locator(".eca-Tool[data-status='waiting']")
    expect(card).to_have_count(1, timeout=SECONDS * 1000)
    warning = card.locator(".eca-Tool-warning")
    expect(warning).to_have_count(0)
    notebook.execute("notebook:delete-cell")
    expect(warning).to_contain_text("was deleted", timeout=SECONDS * 1000)
    notebook.execute("notebook:undo-cell-action")
    expect(warning).to_have_count(0)
    card.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_output(1, "The sum is in total: 45")


def asking_above_many_cells(page: Page, lab: Lab, name: str) -> Notebook:
    """The question is in cell 1. Cells of many lines are below it."""
    page.set_viewport_size({"width": 1280, "height": 420})
    lines = "\n".join(f"x = {number}" for number in range(60))
    return asking(page, lab, name, "%%eca\nWhat is the sum?", *[lines] * 12)


def test_a_cell_that_waits_far_above_the_last_one_comes_into_view(page: Page, lab: Lab) -> None:
    notebook = asking_above_many_cells(page, lab, "sight.ipynb")
    # Lab goes to the last cell, and takes the waiting one out of the page.
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    button = page.get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_in_viewport(timeout=FIRST_ANSWER_SECONDS * 1000)
    expect(page.locator(".eca-WaitingNote")).to_have_count(0)
    assert notebook.cursor()[1] == "command", "the page only scrolls: nothing else gets the keyboard"
    button.click()
    notebook.wait_until_run(1)


def test_a_user_who_types_elsewhere_stays_there_and_reads_which_cell_waits(page: Page, lab: Lab) -> None:
    notebook = asking_above_many_cells(page, lab, "elsewhere.ipynb")
    page.evaluate("() => void window.jupyterapp.commands.execute('notebook:run-all-cells')")
    page.evaluate("() => window.jupyterapp.shell.currentWidget.content.scrollToItem(13)")
    notebook.cell(13).locator(".cm-content").click()
    page.keyboard.type("y = 1 # ")
    note = page.locator(".eca-WaitingNote")
    expect(note).to_contain_text("Cell 2 waits for you", timeout=FIRST_ANSWER_SECONDS * 1000)
    page.keyboard.type("and on")
    assert "and on" in notebook.sources()[13]
    note.get_by_role("button", name="Go to the cell").click()
    button = page.get_by_role("button", name="Approve", exact=True)
    expect(button).to_be_in_viewport(timeout=SECONDS * 1000)
    expect(note).to_have_count(0)
    # The card has the keyboard, so that the next Tab goes to its buttons.
    expect(page.locator(".eca-Widget:focus")).to_have_count(1)
    button.click()
    notebook.wait_until_run(1)
    page.keyboard.press("Control+End")
    expect(note).to_have_count(0)


@pytest.mark.nightly
def test_a_click_on_reject_with_a_reason_runs_nothing_and_tells_the_model(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "reject.ipynb", "%%eca\nWhat is the sum?", "print('total' in globals())")
    notebook.run(1)
    notebook.wait_for_output(1, "waits for your approval")
    page.get_by_role("button", name="Reject…").click()
    page.get_by_placeholder("Why not?").fill("too early")
    page.get_by_role("button", name="Reject", exact=True).click()
    notebook.wait_for_output(1, "Too early, you say.")
    notebook.wait_for_output(1, "rejected, not run")
    notebook.wait_until_run(1)
    notebook.run(2)
    notebook.wait_for_output(2, "False")


@pytest.mark.nightly
def test_a_change_of_a_cell_is_decided_by_its_diff_and_a_question_by_its_options_and_only_text_is_kept(
    page: Page, lab: Lab
) -> None:
    notebook = asking(page, lab, "card.ipynb", "price = 10", "%%eca\nRaise the price.")
    card = notebook.cell(2).get_by_role("group", name="The assistant asks")
    notebook.run(2)
    expect(card.locator(".eca-Diff .eca-mod-add")).to_have_text(re.compile("price = 11"), timeout=SECONDS * 1000)
    assert page.evaluate("() => document.activeElement.closest('.eca-Deciding')") is None, "nothing takes the focus"
    assert complaints(page, ".eca-Deciding") == []
    card.get_by_role("button", name="Reject…").press("Enter")
    page.keyboard.type("too low")
    page.keyboard.press("Enter")
    question = card.get_by_role("group", name="Which price?")
    expect(question.get_by_role("button")).to_have_text(["twelveas last year", "thirteen", "Answer", "Skip"])
    expect(card.locator(".eca-Tool")).to_have_count(0)
    question.get_by_role("button", name="twelve").click()
    expect(card.locator(".eca-Diff .eca-mod-add")).to_have_text(re.compile("price = 12"))
    card.get_by_role("button", name="Approve", exact=True).press("Enter")
    notebook.wait_for_output(2, "It is twelve now.")
    notebook.wait_until_run(2)
    assert notebook.sources()[1] == "price = 12"
    expect(notebook.cell(2).locator(".eca-Widget")).to_have_count(0)
    assert page.evaluate("() => document.activeElement.closest('.jp-Cell') !== null"), "the focus stays at the cell"
    notebook.save()
    saved = notebook.read()
    cell = saved["cells"][2]
    assert {kind for output in cell["outputs"] for kind in output["data"]} == {"text/markdown", "text/plain"}
    assert "widgets" not in saved["metadata"]
    assert all(said in markdown_of(cell) for said in ("+price = 11", "rejected", "twelve", "+price = 12", "✓ done"))


@pytest.mark.nightly
def test_a_cell_points_at_the_last_error_of_its_notebook_though_no_panel_was_opened(
    page: Page, lab: Lab, model: LoopbackAnthropic
) -> None:
    notebook = asking(page, lab, "pointing.ipynb", "1 / 0", "%eca @error Why?", "%eca @cell:2 And this?")
    notebook.run(1)
    notebook.wait_until_run(1)
    for asked, told in ((2, "ZeroDivisionError"), (3, "1 / 0")):
        before = len(model.requests)
        notebook.run(asked)
        notebook.wait_for_output(asked, "Hello from the loopback.")
        notebook.wait_until_run(asked)
        assert any(told in str(request) for request in model.requests[before:])
    assert page.locator(".eca-Panel").count() == 0


@pytest.mark.nightly
def test_approving_for_the_session_asks_once(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "session.ipynb", "%%eca\nWhat is the sum?", "%eca the sum again")
    notebook.run(1)
    notebook.wait_for_output(1, "waits for your approval")
    page.get_by_role("button", name="Approve for session").click()
    notebook.wait_for_output(1, "The sum is in total")
    notebook.wait_until_run(1)
    notebook.run(2)
    notebook.wait_for_output(2, "The sum is in total")


def test_an_interrupt_and_the_command_of_the_menu_stop_a_streaming_answer_and_keep_what_was_said(
    page: Page, lab: Lab
) -> None:
    notebook = asking(page, lab, "interrupt.ipynb", "%%eca\nstream", "%eca you there?", "%%eca\nstream")
    notebook.run(1)
    notebook.wait_for_output(1, "tick tick")
    notebook.execute("notebook:interrupt-kernel")
    notebook.wait_for_output(1, "Stopped.", seconds=5)
    notebook.wait_until_run(1)
    notebook.run(2)
    notebook.wait_for_output(2, "Hello from the loopback.")
    notebook.run(3)
    notebook.wait_for_output(3, "tick tick")
    notebook.execute("eca:stop")
    notebook.wait_for_notification("Stopped the assistant in 1 chat.")
    notebook.wait_until_run(3)
    notebook.save()
    cells = notebook.read()["cells"]
    assert all("tick tick" in markdown_of(cells[n]) for n in (1, 3))


@pytest.mark.nightly
def test_interrupt_while_approval_is_asked_for_takes_the_buttons_away(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "unasked.ipynb", "%%eca\nWhat is the sum?", "%eca you there?")
    notebook.run(1)
    notebook.wait_for_output(1, "waits for your approval")
    notebook.execute("notebook:interrupt-kernel")
    notebook.wait_for_output(1, "stopped, not run", seconds=5)
    notebook.wait_until_run(1)
    assert page.get_by_role("button", name="Approve", exact=True).count() == 0
    notebook.run(2)
    notebook.wait_for_output(2, "Hello from the loopback.")


@pytest.mark.nightly
def test_interrupt_ends_code_that_the_assistant_runs(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "block.ipynb", "%%eca\nblock", "%eca you there?")
    notebook.run(1)
    notebook.wait_for_output(1, "waits for your approval")
    page.get_by_role("button", name="Approve", exact=True).click()
    notebook.wait_for_output(1, "▸ running")
    notebook.execute("notebook:interrupt-kernel")
    notebook.wait_for_output(1, "Stopped.", seconds=10)
    notebook.wait_until_run(1)
    notebook.run(2)
    notebook.wait_for_output(2, "Hello from the loopback.")


def test_what_a_hostile_model_says_is_shown_and_never_runs(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "hostile.ipynb", "%%eca\nhostile")
    title = page.title()
    notebook.run(1)
    notebook.wait_for_output(1, "End of it.")
    notebook.wait_until_run(1)
    output = notebook.cell(1).locator(".jp-Cell-outputArea")
    assert output.locator("img, script").count() == 0
    for link in output.locator("a").all():
        assert not (link.get_attribute("href") or "").startswith("javascript:")
    assert "owned" not in page.title()
    assert page.title() == title


@pytest.mark.nightly
def test_an_overloaded_endpoint_ends_in_one_message_and_the_next_question_is_answered(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "overload.ipynb", "%%eca\noverload", "%eca you there?")
    notebook.run(1)
    notebook.wait_for_output(1, "No answer:")
    notebook.wait_until_run(1)
    assert "Traceback" not in notebook.output(1)
    notebook.run(2)
    notebook.wait_for_output(2, "Hello from the loopback.")


def test_the_key_is_in_no_saved_notebook_and_no_log(page: Page, lab: Lab) -> None:
    notebook = asking(page, lab, "secret.ipynb", "%%eca\nyou", "%eca doctor")
    for cell in (1, 2):
        notebook.run(cell)
        notebook.wait_until_run(cell)
    notebook.save()
    assert "sk-loopback" not in notebook.file.read_text()
    assert "sk-loopback" not in lab.log.read_text()
