"""Panels in the outputs of cells: which is which, and what is around them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

from tests.e2e.browser.assistant import Panel

if TYPE_CHECKING:
    from playwright.sync_api import Locator

    from tests.e2e.browser.notebook import Notebook


# Beside the page, the kernel and the server import what they need for the first question.
SECONDS = 120


class CellPanel(Panel):
    """The panel in the output of a cell, once it is connected."""

    def __init__(self, notebook: Notebook, n: int) -> None:
        super().__init__(notebook.page)
        cell = notebook.cell(n)
        self.node = cell.locator(".eca-Widget .eca-Panel")
        self.box = cell.get_by_role("combobox", name="Message to the assistant")
        self.transcript = cell.get_by_role("log", name="Chat")
        self.gone: Locator = cell.get_by_role("note")
        self.wait_until_connected()

    def wait_until_connected(self) -> None:
        expect(self.node.locator(".eca-Connection.eca-mod-open")).to_have_count(1, timeout=SECONDS * 1000)


# Until a save that took all is seen to be one; another follows.
_SAVED = 5


def save(notebook: Notebook, n: int, text: str) -> str:
    """The record below the panel in cell `n`, in the file. What panels write may come while a save is under way, which
    then does not take it; so it is saved until the text is there and nothing is left to save. Raises: AssertionError.
    """
    expect(notebook.cell(n).locator(".jp-OutputArea-child").nth(1)).to_contain_text(text, timeout=SECONDS * 1000)
    for _ in range(SECONDS // _SAVED):
        notebook.execute("docmanager:save")
        outputs = notebook.read()["cells"][n]["outputs"]
        record = "".join(outputs[1]["data"]["text/markdown"])
        if text in record:
            with suppress(PlaywrightTimeout):
                notebook.wait_until("!window.jupyterapp.shell.currentWidget.context.model.dirty", seconds=_SAVED)
                return record
    raise AssertionError(f"{text!r} does not come into the file")


def put(notebook: Notebook, n: int, source: str) -> None:
    """The source into cell `n`, in place of what is there."""
    cells = "window.jupyterapp.shell.currentWidget.content.widgets"
    notebook.page.evaluate(f"([n, source]) => {cells}[n].model.sharedModel.setSource(source)", [n, source])
