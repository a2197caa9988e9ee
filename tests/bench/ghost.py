"""From the last letter typed to the ghost text behind it, in a real JupyterLab, with a model that answers at once."""

from __future__ import annotations

import asyncio
import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from playwright.sync_api import sync_playwright

from tests.bench.figure import Figure
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.e2e.browser.lab import LabSettings, running_lab
from tests.e2e.browser.notebook import SECONDS, Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Page

ROUNDS: Final = 20
CELLS: Final = 50
# Lab's setting `debouncerDelay`, as our provider sets it: so long it waits for the next letter before it asks.
PAUSE: Final = 250
RULES: Final[list[dict[str, Any]]] = [{"message": "", "reply": [{"text": "sum(prices)"}]}]

_WATCH: Final = """() => {
  window.took = new Promise(resolve => {
    let pressed;
    document.addEventListener('keydown', () => { pressed = performance.now(); }, { capture: true, once: true });
    const look = () => {
      if (pressed !== undefined && document.querySelector('.jp-GhostText')?.textContent.includes('sum(prices)'))
        requestAnimationFrame(() => resolve(performance.now() - pressed));
      else requestAnimationFrame(look);
    };
    look();
  });
}"""


async def figures() -> list[Figure]:
    took = await asyncio.to_thread(_measured)
    beside = f"of which {PAUSE} ms are the pause in typing; {CELLS} cells above; slowest of {ROUNDS} {max(took):.0f} ms"
    return [Figure("last letter to ghost text", took, "ms", PAUSE + 100, beside)]


def _measured() -> list[float]:
    with TemporaryDirectory() as name, sync_playwright() as playwright:
        folder = Path(name)
        (folder / "script.json").write_text(json.dumps({"rules": RULES}))
        models = {"ghost": {"script": str(folder / "script.json")}}
        eca = {"completion": {"model": "scripted/ghost"}, "providers": {"scripted": {"models": models}}}
        with running_lab(LabSettings(eca=eca), folder) as lab:
            settings = folder / "config" / "lab" / "user-settings" / "jupyter-eca" / "plugin.jupyterlab-settings"
            settings.parent.mkdir(parents=True)
            settings.write_text(json.dumps({"inlineCompletion": True}))
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            notebook = Notebook.show(page, lab, [*(f"x{n} = {n}" for n in range(CELLS)), ""], "ghost.ipynb")
            notebook.cell(CELLS).locator(".cm-content").click()
            return [_once(page) for _ in range(ROUNDS + 1)][1:]  # the first loads what it needs


def _once(page: Page) -> float:
    page.keyboard.type("total =")
    page.evaluate(_WATCH)
    page.keyboard.press("Space")
    page.locator(".jp-GhostText").wait_for(timeout=SECONDS * 1000)
    took = float(page.evaluate("() => window.took"))
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    return took
