"""Defines a skill, and parses a `SKILL.md`. Such a file begins with front matter (keys in YAML), and its text has
instructions for one kind of work.

It must not search folders, which `registry.py` does, or render skills, which `rendering.py` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import front_matter
from jupyter_eca.config.disk.regular_file import get_size, open_regular, read_whole

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.config.schema import FileState

# The name of the file that makes a folder a skill.
SKILL_FILE: Final = "SKILL.md"

# The specification recommends at most 500 lines (20 kB). A larger file is there by mistake, and would fill the context
# window of a model.
MAX_BYTES: Final = 100_000

# The limits of the specification. A longer description is cut, because each request contains it.
_NAME: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,63}")
_DESCRIPTION_CHARS: Final = 1024

# Matches each way in which a text makes a model load a skill: `skill(name="tidy")`, skill(tidy), skill({"name":
# "tidy"}). It also matches `${file:SKILL.md}`, with which a skill includes itself.
_LOADS: Final = re.compile(
    r"\bskill\(\s*\{?\s*(?:[\"']?name[\"']?\s*[=:]\s*)?[\"'`]?(?P<name>[A-Za-z0-9][\w.-]*)"
    r"|\$\{file:(?:\./)?SKILL\.md\}"
)


class SkillOrigin(StrEnum):
    """Where a skill was found, in order of precedence."""

    PROJECT = "project"
    """In a folder of the workspace."""
    CONFIGURED = "configuration"
    """At a path of the configuration."""
    USER = "user"
    """In the user's folder."""
    SHIPPED = "shipped"
    """In this package."""


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill that can be loaded."""

    name: str
    """The name by which a model or a user loads the skill."""
    description: str
    """One line that says when to use the skill. The system prompt contains it."""
    body: str
    """The text of `SKILL.md` after its front matter, not rendered yet."""
    folder: Path
    """The folder that contains its `SKILL.md` and its other files."""
    origin: SkillOrigin = SkillOrigin.PROJECT
    """Where the skill was found."""
    arguments: Any = None
    """`arguments` of the front matter. They are used when the user calls the skill as a command."""
    loops: int = 0
    """The number of the line by which the skill loads itself, directly or through other skills; 0 if it does not."""

    @property
    def path(self) -> Path:
        """The path of its `SKILL.md`."""
        return self.folder / SKILL_FILE


@dataclass(frozen=True, slots=True)
class SkillFile:
    """A parsed `SKILL.md`. See `Skill` for the fields with the same names."""

    name: str
    description: str
    body: str
    arguments: Any
    loads: tuple[tuple[str, int], ...]
    """The name of each skill that its text makes a model load, with the number of the line."""


@lru_cache(maxsize=512)
def read_skill(path: Path, _state: FileState | None, within: tuple[Path, ...] | None) -> SkillFile | str:
    """Return the parsed file, or the reason why it is no skill. All files are checked before each turn, so the result
    is cached. `_state` is the result of `read_file_state`: when it changes, the file is parsed again. `within` are the
    folders that the file must be in; None for any folder.

    Raises: OSError.
    """
    try:
        return _parse(path, within)
    except ValueError as error:
        return str(error)


def _parse(path: Path, within: tuple[Path, ...] | None) -> SkillFile:
    """Parse a file.

    Raises: ValueError with a message for the user; OSError.
    """
    with open_regular(path, within) as file:
        if get_size(file) > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES:,} bytes: move parts of it to files beside it")
        text = front_matter.decode_text(read_whole(file, path, MAX_BYTES))
    front, body = front_matter.parse_lenient_front_matter(text)
    missing = [key for key in ("name", "description") if not str(front.get(key) or "").strip()]
    if missing:
        raise ValueError(f"its front matter has no `{missing[0]}` (line 1)")
    name, description = str(front["name"]).strip(), " ".join(str(front["description"]).split())
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"its name may have letters, digits and hyphens only, 64 at most (line {_find_line(text, 'name')})"
        )
    if len(description) > _DESCRIPTION_CHARS:
        description = description[: _DESCRIPTION_CHARS - 1] + "…"
    lines = text.splitlines()
    loads = [(found["name"] or name, number) for number, line in enumerate(lines, 1) for found in _LOADS.finditer(line)]
    return SkillFile(name, description, body, front.get("arguments"), tuple(loads))


def _find_line(text: str, key: str) -> int:
    """Return the number of the line with a key of the front matter."""
    return next((number for number, line in enumerate(text.splitlines(), 1) if line.startswith(f"{key}:")), 1)
