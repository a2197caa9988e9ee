"""Writes what the stories have measured into the documentation: `python -m tests.docs.write_stories FOLDER`.

FOLDER has the figures and the pictures that `tests/e2e/browser/test_stories.py` makes when `STORIES` names it. `make
screenshots` runs both.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any, Final

NOTEBOOKS: Final = Path(__file__).parents[2] / "notebooks"
PAGE: Final = NOTEBOOKS / "docs" / "stories.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"

# In the order of the page.
STORIES: Final = (
    "ask-in-a-cell",
    "fix-an-error",
    "point-at-a-table",
    "undo-a-change",
    "find-a-chat",
    "stop-an-answer",
    "try-a-key",
    "review-a-change",
    "run-an-answer",
    "new-notebook",
)
# The pictures that pages show.
PICTURES: Final = ("approve", "panel", "point-at-a-table")


def format_table(figures: list[dict[str, Any]]) -> str:
    """Return the table of the figures: the title, the clicks, the keys and the seconds of each story."""
    rows = (f"| {one['title']} | {one['clicks']} | {one['keys']} | {one['seconds']:.1f} |" for one in figures)
    return "\n".join(["| story | clicks | keys | seconds |", "|---|---:|---:|---:|", *rows])


def replace_table(page: str, table: str) -> str:
    """Return the page with the table between its marks."""
    return re.sub(f"{BEGIN}.*{END}", lambda _: f"{BEGIN}\n{table}\n{END}", page, flags=re.DOTALL)


def main(folder: Path) -> None:
    figures = [json.loads((folder / f"{name}.json").read_text()) for name in STORIES]
    PAGE.write_text(replace_table(PAGE.read_text(), format_table(figures)))
    for name in PICTURES:
        shutil.copyfile(folder / f"{name}.png", NOTEBOOKS / "images" / f"{name}.png")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
