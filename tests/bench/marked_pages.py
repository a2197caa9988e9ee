"""Puts what benches have measured between the marks of a page, such as `<!-- peers -->` and `<!-- /peers -->`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PERFORMANCE: Final = ROOT / "notebooks" / "docs" / "performance.md"
README: Final = ROOT / "README.md"
IMAGES: Final = ROOT / "notebooks" / "images"


def replace_marked(page: str, mark: str, text: str) -> str:
    """Return the page with the text between the marks. Raises: ValueError for a page that lacks them."""
    begin, end = f"<!-- {mark} -->", f"<!-- /{mark} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no {begin} … {end}")
    return re.sub(f"{begin}.*{end}", lambda _: f"{begin}\n{text}\n{end}", page, flags=re.DOTALL)


def write_marked(file: Path, mark: str, text: str) -> None:
    file.write_text(replace_marked(file.read_text(), mark, text))
