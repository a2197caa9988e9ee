"""Counts what a user does in a story, and keeps the pictures and the figures of it for `make screenshots`."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Final

from tests.e2e.browser.pictures import are_kept

if TYPE_CHECKING:
    from playwright.sync_api import Page

# Only what the user does counts: no event of a script. Enter and shortcuts count as keys, and typed text does not.
_COUNT: Final = """() => {
  window.storySteps = { clicks: 0, keys: 0 };
  const modifiers = ['Control', 'Shift', 'Alt', 'Meta'];
  addEventListener('pointerdown', event => { window.storySteps.clicks += Number(event.isTrusted); }, true);
  addEventListener('keydown', event => {
    const counts = event.key === 'Enter' || event.ctrlKey || event.altKey || event.metaKey;
    window.storySteps.keys += Number(event.isTrusted && counts && !modifiers.includes(event.key));
  }, true);
}"""


@dataclass
class Story:
    """One story, from the first thing that the user does to what they wanted to see. `name` is that of its files."""

    page: Page
    name: str
    title: str
    folder: Path
    _begun: float = 0

    def begin(self) -> None:
        """The user begins. What was prepared before does not count."""
        self.page.evaluate(_COUNT)
        self._begun = monotonic()

    def end(self) -> None:
        """The user has what they wanted: write the figures and a picture."""
        seconds = monotonic() - self._begun
        steps = self.page.evaluate("() => window.storySteps")
        figures = {"title": self.title, **steps, "seconds": round(seconds, 1)}
        (self.folder / f"{self.name}.json").write_text(json.dumps(figures))
        self.picture(self.name)

    def picture(self, name: str) -> None:
        """Keep a picture, for `make screenshots` and for whoever looks at what a test sees."""
        if "STORIES" in os.environ or are_kept():
            self.page.screenshot(path=self.folder / f"{name}.png", animations="disabled", caret="hide")


def find_folder(folder: Path) -> Path:
    """Return the folder of the pictures: what `make screenshots` names, or a test's own."""
    named = os.environ.get("STORIES")
    chosen = Path(named) if named else folder
    chosen.mkdir(parents=True, exist_ok=True)
    return chosen
