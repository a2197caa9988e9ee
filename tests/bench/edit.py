"""From the click on Approve to the cell that shows its new source, and from the prompt to the card with that button: in
a real JupyterLab, in a notebook of 50 cells, and in one of 2,000 cells with 10 MB of outputs."""

from __future__ import annotations

import asyncio
import json
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

from playwright.sync_api import sync_playwright

from tests.bench.figure import Figure, list_of
from tests.bench.growth import make_notebook
from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.e2e.browser.lab import LabSettings, running_lab
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from collections.abc import Generator

    from playwright.sync_api import Page

    from tests.e2e.browser.lab import Lab

ROUNDS = 20
CELLS = 50
LARGE_ROUNDS = 5
LARGE_CELLS = 2_000
OUTPUT_BYTES = 5_000
# For the card of the first edit of the large notebook, on a busy machine.
WAIT_MS = 120_000

# The time of the page itself: what playwright needs for a click is not an answer's.
_WATCH = """text => {
  const cell = window.jupyterapp.shell.currentWidget.content.widgets[0].node;
  window.took = new Promise(resolve => {
    let began;
    document.addEventListener('click', () => { began = performance.now(); }, { capture: true, once: true });
    const observer = new MutationObserver(() => {
      if (cell.innerText.includes(text)) {
        observer.disconnect();
        resolve(performance.now() - began);
      }
    });
    observer.observe(cell, { childList: true, subtree: true, characterData: true });
  });
}"""


async def figures() -> list[Figure]:
    edits = await asyncio.to_thread(_measure_small)
    beside = f"{ROUNDS} edits of a notebook of {CELLS} cells; slowest {max(edits.shown):.0f} ms"
    small = Figure("approval to the edit in the page", edits.shown, "ms", 100, beside)
    card = Figure("prompt to the card of the edit", edits.asked, "ms", None, "a scripted model answers at once")
    return [small, card, *await asyncio.to_thread(_measure_large)]


@contextmanager
def _opened_lab() -> Generator[tuple[Lab, Page]]:
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        with running_lab(_settings(folder), folder) as lab:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
            yield lab, browser.new_page(viewport={"width": 1280, "height": 800})


@dataclass(frozen=True, slots=True)
class Edits:
    """The milliseconds of each edit: from its prompt to its card, and from its approval to the cell."""

    asked: list[float]
    shown: list[float]


def _measure_small() -> Edits:
    with _opened_lab() as (lab, page):
        Notebook.open(page, lab, [f"x{n} = {n}" for n in range(CELLS)])
        panel = Panel.show(page)
        return _edit_often(panel, ROUNDS)


def _measure_large() -> list[Figure]:
    content = make_notebook(LARGE_CELLS, "x" * OUTPUT_BYTES)
    with _opened_lab() as (lab, page):
        file = lab.root / "large.ipynb"
        file.write_text(json.dumps(content))
        parsed = [_time_parse(file) for _ in range(LARGE_ROUNDS)]
        page.goto(lab.address("large.ipynb"))
        Notebook(page, file).wait_until(
            f"window.jupyterapp?.shell?.currentWidget?.content?.widgets?.length === {LARGE_CELLS}", seconds=180
        )
        panel = Panel.show(page)
        edits = _edit_often(panel, LARGE_ROUNDS)
    size = f"{LARGE_CELLS:,} cells, {LARGE_CELLS * OUTPUT_BYTES // 1_000_000} MB of outputs"
    return [
        Figure(f"the same, {size}", edits.shown, "ms", 100, f"Python parses the file in {list_of(parsed, 'ms')}"),
        Figure(f"prompt to its card, {size}", edits.asked, "ms", None, "a scripted model answers at once"),
    ]


def _time_parse(file: Path) -> float:
    began = perf_counter()
    json.loads(file.read_bytes())
    return (perf_counter() - began) * 1000


def _settings(folder: Path) -> LabSettings:
    edit = {"tool": "notebook_edit_cell", "arguments": {"cell": "c0", "source": "# {message}"}}
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "It is done."}]},
        {"message": "", "reply": [edit]},
    ]
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
    models = {"edit": {"script": str(folder / "script.json")}}
    return LabSettings(eca={"defaultModel": "scripted/edit", "providers": {"scripted": {"models": models}}})


def _edit_often(panel: Panel, rounds: int) -> Edits:
    # The first loads what it needs.
    took = [_edit(panel, f"edit {n}") for n in range(rounds + 1)][1:]
    return Edits([asked for asked, _ in took], [shown for _, shown in took])


def _edit(panel: Panel, message: str) -> tuple[float, float]:
    began = perf_counter()
    panel.ask(message)
    button = panel.call("waiting").get_by_role("button", name="Approve", exact=True)
    button.wait_for(timeout=WAIT_MS)
    asked = (perf_counter() - began) * 1000
    panel.page.evaluate(_WATCH, f"# {message}")
    button.click()
    took = float(panel.page.evaluate("() => window.took"))
    panel.wait_until_idle()
    return asked, took
