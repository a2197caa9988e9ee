"""Where users keep what they write for the assistant: `.eca` in each folder of a project, and one folder of their own.

The project's comes first. A link in a project that leads out of the workspace is passed over: a project must not have
other files read.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def home() -> Path:
    """The user's own folder, there or not."""
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "eca"


def markdown(roots: Iterable[Path], kind: str, *, nested: bool = False) -> Iterator[Path]:
    """The Markdown files of a kind (`commands`, `rules`, ...), in the order in which they win. Blocks."""
    pattern = "**/*.md" if nested else "*.md"
    within = [root.resolve() for root in roots]
    for root in within:
        yield from (path for path in _files(root / ".eca" / kind, pattern) if inside(path, within))
    yield from _files(home() / kind, pattern)


def _files(folder: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in folder.glob(pattern) if path.is_file())
    except OSError:
        return []


def inside(path: Path, roots: Iterable[Path]) -> bool:
    """Whether a path really lies in one of them, every link followed."""
    try:
        real = path.resolve()
    except (OSError, RuntimeError):
        return False
    return any(real.is_relative_to(root.resolve()) for root in roots)
