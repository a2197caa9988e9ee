"""Skills written to a disk, in a home that is nobody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def skill(folder: Path, name: str, description: str = "Do it well", body: str = "Do it.") -> Path:
    """The file of a skill in a folder of skills."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    path.write_text(f"---\nname: {name}\ndescription: {description}\n---\n\n{body}\n", encoding="utf-8")
    return path
