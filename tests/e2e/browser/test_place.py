"""What a real model would be told of where the user is, from the panel and from a cell, in the request that is sent."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from jupyter_eca.plugins.providers.scripted import Script
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.lab import LabSettings
from tests.e2e.browser.notebook import SECONDS, Notebook
from tests.support.anthropic_server import LoopbackAnthropic

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

pytestmark = pytest.mark.browser

RULES: list[dict[str, Any]] = [{"message": "", "reply": [{"text": "I see."}]}]


@pytest.fixture(scope="module")
def model() -> Iterator[LoopbackAnthropic]:
    with LoopbackAnthropic(Script.model_validate({"rules": RULES})) as server:
        yield server


@pytest.fixture(scope="module")
def lab_settings(model: LoopbackAnthropic) -> LabSettings:
    provider: dict[str, Any] = {"url": model.url, "key": "sk-loopback", "models": {"m": {}}, "retry": 1}
    eca = {"providers": {"anthropic": provider}, "defaultModel": "anthropic/m", "notebook": {"place": True}}
    return LabSettings(eca={**eca, "chat": {"title": False}})


def newest_message(model: LoopbackAnthropic, words: str) -> str:
    """The user's newest message in the last request that has these words."""
    bodies = [asked.body for asked in model.requests]
    newest = ["".join(part.get("text", "") for part in body["messages"][-1]["content"]) for body in bodies]
    return next(text for text in reversed(newest) if words in text)


def test_the_panel_and_a_cell_tell_where_the_user_is(page: Page, lab: Lab, model: LoopbackAnthropic) -> None:
    sources = [
        "%load_ext jupyter_eca",
        "def share(df):\n    return df['price']",
        "share({})",
        "%%eca\nwhy did it fail?",
    ]
    notebook = Notebook.open(page, lab, sources, "told.ipynb")
    for number in range(3):
        notebook.run(number)
        notebook.wait_until_run(number)

    panel = Panel.show(page)
    notebook.cell(2).get_by_text("share").first.click()
    chip = panel.node.locator(".eca-Chip")
    expect(chip).to_have_text("told.ipynb · cell 3, line 1")
    expect(chip).to_have_attribute("title", re.compile("is sent with the message: its source .*end of its output"))
    panel.ask("what is wrong?")
    panel.sees("I see.")
    panel.wait_until_idle()
    told = newest_message(model, "what is wrong?")
    assert re.search(r"told\.ipynb: 4 cells, python, kernel idle, started .* ago: cells 1-3 have run in it\n", told)
    assert "Active cell 3 [c2], line 1:\n--- cell 3 [c2]: code, execution 3, failed ---\nshare({})" in told
    assert "KeyError: 'price'" in told
    assert "--- cell 2 [c1]: code, execution 2; the error passed through it ---\ndef share(df):" in told

    panel.ask("and what else?")
    panel.wait_until_idle()
    expect(panel.transcript.get_by_text("I see.")).to_have_count(2, timeout=SECONDS * 1000)
    assert newest_message(model, "and what else?") == "and what else?\n\n(active cell 3 [c2], line 1, as before)"

    notebook.run(3)
    notebook.wait_until_run(3)
    told = newest_message(model, "why did it fail?")
    assert re.search(r"kernel busy, started .* ago: cells 1-4 have run in it\n", told)
    assert "Asked from cell 4 [c3]; the cell above is 3 [c2]:\n--- cell 3 [c2]: code, execution 3, failed ---" in told
    assert "KeyError: 'price'" in told
