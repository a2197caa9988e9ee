"""The moving picture of the README, made from the real page: `python -m tests.docs.make_readme_picture [FILE]`.

A real JupyterLab, a real kernel and the scripted model: a question in a cell, its answer, code that is approved and
runs; then an error, one click on *Fix*, and the change in the panel, approved. The file's name says the format (.webp,
.gif or .png); what it looks like is not compared with anything.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from PIL import Image, ImageChops
from playwright.sync_api import sync_playwright

from tests.e2e.browser.assistant import Panel
from tests.e2e.browser.conftest import CHROMIUM_OPTIONS
from tests.e2e.browser.lab import LabSettings, running_lab
from tests.e2e.browser.notebook import Notebook

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from playwright.sync_api import Locator, Page

    from tests.e2e.browser.lab import Lab

DEFAULT: Final = Path(__file__).parents[2] / "notebooks" / "images" / "tour.webp"
LARGEST: Final = 1024 * 1024
WIDTH, HEIGHT = 1100, 620

# Seconds that a picture is shown while things move, and while somebody reads.
STEP, READ = 0.1, 1.3
# Where nothing happens for longer than this, the viewer does not wait for it.
MOST: Final = 1.6

SALES = '%load_ext jupyter_eca\nsales = {"Lyon": [120, 80, 95], "Porto": [60, 140, 160], "Gdansk": []}'
QUESTION = "%%eca\nWhich city sold the most?"
MEAN = "{\n    city: sum(months) / len(months)\n    for city, months in sales.items()\n}"
BETTER = MEAN.replace("len(months)", "len(months) if months else None")

_CODE: dict[str, Any] = {"tool": "run_code", "arguments": {"code": "max(sales, key=lambda city: sum(sales[city]))"}}
_EDIT: dict[str, Any] = {"tool": "notebook_edit_cell", "arguments": {"cell": "c2", "source": BETTER}}


def _said(text: str) -> dict[str, Any]:
    return {"text": text, "chunk": 4, "delay": 0.05}


RULES: Final[list[dict[str, Any]]] = [
    {"tool": "run_code", "result": "Porto", "reply": [_said("**Porto**, with 360 in three months. Lyon sold 295.")]},
    {"message": "Which city", "reply": [_said("I add up the months of each city in `sales`. "), _CODE]},
    {"tool": "notebook_edit_cell", "result": "", "reply": [_said("Now the mean of no months is `None`. ")]},
    {"message": "Fix", "reply": [_said("Gdansk has no months yet, so `len(months)` is 0. "), _EDIT]},
]

# Screenshots have no pointer.
_POINTER: Final = """() => {
  const arrow = document.createElement('div');
  arrow.id = 'pointer';
  arrow.style.cssText = 'position:fixed;left:0;top:0;z-index:99999;pointer-events:none;width:18px;height:24px';
  arrow.innerHTML = '<svg width="18" height="24" viewBox="0 0 18 24"><path d="M2 1v18l5-4 3 7 3-1-3-7h6z"'
    + ' fill="#111" stroke="#fff" stroke-width="1.5"/></svg>';
  document.body.append(arrow);
}"""
_MOVE: Final = "([x, y]) => { document.getElementById('pointer').style.transform = `translate(${x}px, ${y}px)`; }"


@dataclass
class Film:
    """What was seen, each with the milliseconds that it stays."""

    page: Page
    frames: list[Image.Image] = field(default_factory=list[Image.Image])
    lasting: list[float] = field(default_factory=list[float])
    place: tuple[float, float] = (WIDTH / 2, HEIGHT * 0.8)

    def shoot(self, seconds: float = STEP) -> None:
        seen = Image.open(io.BytesIO(self.page.screenshot(caret="initial"))).convert("RGB")
        if self.frames and ImageChops.difference(seen, self.frames[-1]).getbbox() is None:
            self.lasting[-1] = min(self.lasting[-1] + seconds, max(MOST, seconds))
            return
        self.frames.append(seen)
        self.lasting.append(seconds)

    def until(self, there: Callable[[], bool], patience: int = 600) -> None:
        """Raises: TimeoutError when it does not come."""
        for _ in range(patience):
            self.shoot()
            if there():
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(f"what was waited for did not come; the last picture is {self._kept()}")

    def type(self, text: str) -> None:
        for start in range(0, len(text), 3):
            self.page.keyboard.insert_text(text[start : start + 3])
            self.shoot()

    def click(self, target: Locator) -> None:
        target.scroll_into_view_if_needed()
        box = target.bounding_box()
        if box is None:
            raise RuntimeError("there is nothing to click on")
        to = (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        for part in (0.35, 0.7, 0.9, 1.0):
            x, y = (start + (end - start) * part for start, end in zip(self.place, to, strict=True))
            self.page.evaluate(_MOVE, [x, y])
            self.shoot()
        self.place = to
        self.shoot(0.4)
        target.click()

    def write(self, file: Path) -> None:
        """Raises: RuntimeError for a picture that is too large for a page."""
        more: dict[str, Any] = {"lossless": True, "method": 6} if file.suffix == ".webp" else {}
        first, *others = (
            self.frames
            if file.suffix != ".gif"
            else [frame.quantize(96, dither=Image.Dither.NONE) for frame in self.frames]
        )
        lasting = [round(1000 * seconds) for seconds in self.lasting]
        first.save(file, save_all=True, append_images=others, duration=lasting, loop=0, **more)
        size = file.stat().st_size
        print(f"{file}: {len(lasting)} pictures, {sum(lasting) / 1000:.1f} s, {size // 1024} KiB")
        if size > LARGEST:
            raise RuntimeError(f"it is larger than {LARGEST // 1024} KiB")

    def _kept(self) -> str:
        file = Path(tempfile.gettempdir()) / "picture-that-failed.png"
        self.frames[-1].save(file)
        return str(file)


def tell(page: Page, lab: Lab) -> Film:
    """The story."""
    notebook = Notebook.open(page, lab, [SALES, "", MEAN], "sales.ipynb")
    page.evaluate("() => { window.jupyterapp.shell.collapseLeft(); }")
    page.evaluate(_POINTER)
    film = Film(page)
    page.evaluate(_MOVE, list(film.place))
    notebook.run(0)
    notebook.wait_until_run(0)
    _ask_in_a_cell(film, notebook)
    _fix_in_the_panel(film, notebook)
    return film


def _ask_in_a_cell(film: Film, notebook: Notebook) -> None:
    notebook.cell(1).locator(".cm-content").click()
    film.shoot(0.8)
    film.type(QUESTION)
    film.shoot(0.6)
    film.page.keyboard.press("Control+Enter")
    approve = notebook.cell(1).get_by_role("button", name="Approve", exact=True)
    film.until(approve.is_visible)
    film.shoot(READ)
    film.click(approve)
    film.until(lambda: "Lyon sold 295." in notebook.output(1))
    film.shoot(READ)


def _fix_in_the_panel(film: Film, notebook: Notebook) -> None:
    film.click(notebook.cell(2).locator(".cm-content"))
    film.page.keyboard.press("Control+Enter")
    fix = film.page.locator(".eca-Help").get_by_role("button", name="Fix")
    film.until(fix.is_visible)
    fix.scroll_into_view_if_needed()
    film.shoot(READ)
    film.click(fix)
    panel = Panel(film.page)
    approve = panel.button("Approve")
    film.until(approve.is_visible)
    # What it would do to the cell is shown there, too.
    notebook.cell(2).evaluate("cell => { cell.scrollIntoView({ block: 'start' }); }")
    film.shoot(1.5 * READ)
    film.click(approve)
    film.until(lambda: "None" in panel.transcript.inner_text() and not panel.button("Stop").is_visible())
    film.shoot(READ / 2)
    notebook.run(2)
    film.until(lambda: "'Gdansk': None" in notebook.output(2))
    film.shoot(2 * READ)


@contextmanager
def opened() -> Generator[tuple[Page, Lab]]:
    with tempfile.TemporaryDirectory() as named, sync_playwright() as playwright:
        folder = Path(named)
        (folder / "tour.json").write_text(json.dumps({"rules": RULES}))
        models = {"tour": {"script": str(folder / "tour.json")}}
        eca: dict[str, Any] = {"defaultModel": "scripted/tour", "providers": {"scripted": {"models": models}}}
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_OPTIONS)
        with running_lab(LabSettings(eca=eca), folder) as lab:
            yield browser.new_context(viewport={"width": WIDTH, "height": HEIGHT}).new_page(), lab
        browser.close()


def main(file: Path = DEFAULT) -> None:
    with opened() as (page, lab):
        tell(page, lab).write(file)


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:2]))
