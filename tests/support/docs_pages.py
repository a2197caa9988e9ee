"""Owns the list of the pages that tests read (`PAGES`), and takes code, prose and examples out of a page.

It must not check anything: `tests/docs/test_pages.py` does.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
_AT_THE_ROOT = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md")
PAGES = (*(ROOT / name for name in _AT_THE_ROOT), *sorted((ROOT / "notebooks" / "docs").glob("*.md")))

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    """Return the text of a page, by the name of its file."""
    return next(page for page in PAGES if page.name == name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> Iterator[tuple[str, str]]:
    """Return the title and the text of each fenced block of a language."""
    return ((title, body) for written, title, body in _FENCE.findall(text) if written == language)


def prose(text: str) -> str:
    """Return a page without its fenced blocks."""
    return _FENCE.sub("", text)


def install(site: Path, name: str = "extending.md") -> None:
    """Write the files and entry points that a page shows into a folder, as pip would install a package."""
    for title, body in blocks(page(name), "python"):
        if title:
            (site / title).write_text(body)
    groups = [tomllib.loads(body)["project"]["entry-points"] for _, body in blocks(page(name), "toml")]
    info = site / "handbook-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: handbook\nVersion: 1.0\n")
    lines = [
        line
        for group in groups
        for kind, entries in group.items()
        for line in (f"[{kind}]", *(f"{entry} = {value}" for entry, value in entries.items()))
    ]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
