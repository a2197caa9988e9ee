"""The pages of the handbook, and what is taken out of them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
PAGES = (ROOT / "README.md", *sorted((ROOT / "notebooks" / "docs").glob("*.md")))

_FENCE = re.compile(r"^```(\w*)(?: title=\"([^\"]*)\")?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def page(name: str) -> str:
    return next(page for page in PAGES if page.name == name).read_text(encoding="utf-8")


def blocks(text: str, language: str) -> Iterator[tuple[str, str]]:
    """The titles and the texts of the fenced blocks of a language."""
    return ((title, body) for written, title, body in _FENCE.findall(text) if written == language)


def prose(text: str) -> str:
    return _FENCE.sub("", text)


def install(site: Path, name: str = "extending.md") -> None:
    """The files that a page shows, in a folder, with the entry points it shows: as pip would leave a package."""
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
