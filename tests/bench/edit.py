"""From the click on Approve to the cell that shows its new source, in a real JupyterLab."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

from tests.bench.figure import Figure
from tests.e2e.browser.assistant import SECONDS, Panel
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.e2e.browser.lab import LabSettings, running_lab
from tests.e2e.browser.notebook import Notebook

ROUNDS = 20
CELLS = 50

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
    took = await asyncio.to_thread(_measured)
    beside = f"{ROUNDS} edits of a notebook of {CELLS} cells; slowest {max(took):.0f} ms"
    return [Figure("approval to the edit in the page", took, "ms", 100, beside)]


def _measured() -> list[float]:
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        with running_lab(_settings(folder), folder) as lab:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            Notebook.open(page, lab, [f"x{n} = {n}" for n in range(CELLS)])
            panel = Panel.show(page)
            return [_once(panel, f"edit {n}") for n in range(ROUNDS + 1)][1:]  # the first loads what it needs


def _settings(folder: Path) -> LabSettings:
    edit = {"tool": "notebook_edit_cell", "arguments": {"cell": "c0", "source": "# {message}"}}
    rules: list[dict[str, Any]] = [
        {"result": "", "reply": [{"text": "It is done."}]},
        {"message": "", "reply": [edit]},
    ]
    (folder / "script.json").write_text(json.dumps({"rules": rules}))
    models = {"edit": {"script": str(folder / "script.json")}}
    return LabSettings(eca={"defaultModel": "scripted/edit", "providers": {"scripted": {"models": models}}})


def _once(panel: Panel, message: str) -> float:
    panel.ask(message)
    button = panel.call("waiting").get_by_role("button", name="Approve", exact=True)
    button.wait_for(timeout=SECONDS * 1000)
    panel.page.evaluate(_WATCH, f"# {message}")
    button.click()
    took = float(panel.page.evaluate("() => window.took"))
    panel.wait_until_idle()
    return took
