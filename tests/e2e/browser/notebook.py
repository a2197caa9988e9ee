"""A notebook that is open in the browser: what a user does with it and sees of it. Cells are numbered from 0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Self

from playwright.sync_api import TimeoutError as PlaywrightTimeout
from playwright.sync_api import expect

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

# A kernel starts within it on a busy machine. Each wait ends as soon as what it waits for is there.
SECONDS = 60

# In the first second of a kernel the widget manager asks it for its comms; a cell that then blocks or awaits leaves its
# widgets undrawn. So "idle" is: idle for a moment after the answer or, where the answer was not seen, for long.
SETTLED_MS = 1500
ANSWERED_MS = 200

_PANEL = "window.jupyterapp.shell.currentWidget"
_CELL = f"{_PANEL}.content.widgets[n]"
_SOURCES = f"{_PANEL}.content.widgets.map(cell => cell.model.sharedModel.source)"
_OUTPUT = f"({_CELL}?.node.querySelector('.jp-Cell-outputArea')?.innerText ?? '')"


class Notebook:
    def __init__(self, page: Page, file: Path) -> None:
        self.page = page
        self.file = file

    @classmethod
    def open(
        cls, page: Page, lab: Lab, sources: Sequence[str], name: str = "notebook.ipynb", kernel: str = "python3"
    ) -> Self:
        """A new notebook of these code cells, with its kernel ready."""
        notebook = cls.show(page, lab, sources, name, kernel)
        notebook.wait_until_idle()
        return notebook

    @classmethod
    def show(
        cls,
        page: Page,
        lab: Lab,
        sources: Sequence[str],
        name: str = "notebook.ipynb",
        kernel: str = "python3",
        markdown: Collection[int] = (),
    ) -> Self:
        """Of code but for the cells of `markdown`, for who runs none of them: its kernel may still be starting."""
        file = lab.write_notebook(name, sources, kernel, markdown)
        page.goto(lab.address(name))
        notebook = cls(page, file)
        notebook.wait_until(f"window.jupyterapp && {_PANEL}?.content?.widgets?.length === {len(sources)}")
        return notebook

    def wait_until(self, condition: str, argument: object = None, seconds: float = SECONDS) -> None:
        """`condition` is JavaScript in which `n` is the argument. Raises: playwright's TimeoutError."""
        self.page.wait_for_function(f"n => {condition}", arg=argument, timeout=seconds * 1000)

    def wait_until_idle(self) -> None:
        self.page.wait_for_function(
            """([settled, answered]) => {
              const kernel = window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel;
              if (kernel && window.watchedKernel !== kernel) {
                window.watchedKernel = kernel;
                window.commsKnown = false;
                kernel.anyMessage.connect((_, { msg, direction }) => {
                  if (direction === 'recv' && msg.header.msg_type === 'comm_info_reply') {
                    window.commsKnown = true;
                    window.idleSince = undefined;
                  }
                });
              }
              window.idleSince = kernel?.status === 'idle' ? window.idleSince ?? performance.now() : undefined;
              const enough = window.commsKnown ? answered : settled;
              return window.idleSince !== undefined && performance.now() - window.idleSince >= enough;
            }""",
            arg=[SETTLED_MS, ANSWERED_MS],
            timeout=SECONDS * 1000,
        )

    def execute(self, command: str) -> None:
        """A command of JupyterLab, to its end."""
        self.page.evaluate("command => window.jupyterapp.commands.execute(command)", command)

    def run(self, n: int) -> None:
        """Starts the cell and does not wait."""
        self.page.evaluate(
            f"""n => {{
              {_PANEL}.content.activeCellIndex = n;
              void window.jupyterapp.commands.execute('notebook:run-cell');
            }}""",
            n,
        )

    def wait_until_run(self, n: int) -> None:
        """The cell has run to its end, well or badly."""
        self.wait_until(f"{_CELL}.model.executionCount !== null && {_CELL}.model.executionState === 'idle'", n)

    def wait_for_output(self, n: int, text: str, seconds: float = SECONDS) -> None:
        """Raises: AssertionError with what the cell shows instead."""
        try:
            self.page.wait_for_function(
                f"([n, text]) => {_OUTPUT}.includes(text)", arg=[n, text], timeout=seconds * 1000
            )
        except PlaywrightTimeout as error:
            raise AssertionError(f"cell {n} shows {self.output(n)!r}, not {text!r}") from error

    def output(self, n: int) -> str:
        """The cell's output as a reader sees it."""
        return str(self.page.evaluate(f"n => {_OUTPUT}", n))

    def cell(self, n: int) -> Locator:
        """For what is clicked or typed in a cell."""
        return self.page.locator(f".jp-NotebookPanel:not(.lm-mod-hidden) .jp-Cell[data-windowed-list-index='{n}']")

    def sources(self) -> list[str]:
        return self.page.evaluate(f"() => {_SOURCES}")

    def wait_for_sources(self, sources: Sequence[str]) -> None:
        """Raises: AssertionError with what is there instead."""
        try:
            self.wait_until(f"{_SOURCES}.join('\\0') === n", "\0".join(sources), SECONDS)
        except PlaywrightTimeout as error:
            raise AssertionError(f"the cells are {self.sources()!r}, not {list(sources)!r}") from error

    def cursor(self) -> tuple[int, str, int]:
        """The active cell, the mode and the line of the cursor."""
        index, mode, line = self.page.evaluate(
            f"""() => {{
              const notebook = {_PANEL}.content;
              return [notebook.activeCellIndex, notebook.mode, notebook.activeCell.editor.getCursorPosition().line];
            }}"""
        )
        return index, mode, line

    def wait_for_notification(self, text: str) -> None:
        expect(self.page.locator(".Toastify__toast", has_text=text)).to_be_visible(timeout=SECONDS * 1000)

    def save(self) -> None:
        self.execute("docmanager:save")
        self.wait_until(f"!{_PANEL}.context.model.dirty")

    def read(self) -> dict[str, Any]:
        """The saved file."""
        return json.loads(self.file.read_text())
