"""Renders a skill for a model, and reads the other files of a skill. It must not search skills: `registry.py` does."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import get_size, open_resolved, read_whole
from jupyter_eca.config.interpolation import Layer, ReadLog
from jupyter_eca.errors import ToolError
from jupyter_eca.instructions.skills.skill_file import SKILL_FILE, SkillOrigin

if TYPE_CHECKING:
    from jupyter_eca.instructions.skills.registry import SkillRegistry
    from jupyter_eca.instructions.skills.skill_file import Skill

# The number of other files that are listed by name. A skill with more files should give an overview in its text.
_MAX_LISTED: Final = 50
# Files in deeper subfolders are not listed.
_MAX_DEPTH: Final = 3
# A larger file of a skill is refused, because it is read into memory as a whole.
_MAX_FILE_BYTES: Final = 1_000_000

# The reference with which a skill would include itself, and a reference to any file.
_ITSELF: Final = re.compile(r"\$\{file:(?:\./)?SKILL\.md\}")
_FILE: Final = re.compile(r"\$\{file:[^}]*\}")


def format_skill(skill: Skill, body: str) -> str:
    """Return the text of a skill for the model. `body` is the result of `render_body`. This blocks, because it lists
    the folder of the skill."""
    parts = [f"Skill: {skill.name}\nIts folder: {skill.folder}", body]
    if others := _list_others(skill.folder):
        names = "\n".join(f"- {name}" for name in others)
        parts.append(f'Its other files, which skill(name="{skill.name}", file=...) reads:\n{names}')
    if skill.loops:
        parts.append("You have this skill now: do not load it again, whatever it says.")
    return "\n\n".join(parts)


def read_skill_file(skill: Skill, name: str) -> str:
    """Return the content of one of the other files of a skill. This blocks.

    Raises: ToolError for a file that does not exist, lies outside of the skill, or is not text.
    """
    top = skill.folder.resolve()
    try:
        real = (top / name).resolve()
        if not real.is_relative_to(top):
            raise ToolError(f"{name} is not a file of the skill {skill.name}.", "Use read_file for the workspace.")
        if not real.is_file():
            listed = ", ".join(_list_others(skill.folder)) or "none"
            raise ToolError(f"The skill {skill.name} has no file {name}.", f"Its files are: {listed}.")
        with open_resolved(real) as file:
            if get_size(file) > _MAX_FILE_BYTES:
                raise ToolError(
                    f"{real} is larger than {_MAX_FILE_BYTES:,} bytes.", "Use a program that reads a part of it."
                )
            data = read_whole(file, real, _MAX_FILE_BYTES)
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"{name!r} of the skill {skill.name} cannot be read: {error}.") from error
    try:
        if b"\0" not in data:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{real} is not text ({len(data)} bytes).", "Use it by this path, as the skill says.")


def render_body(registry: SkillRegistry, skill: Skill) -> str:
    """Return the body of a skill, with ECA's `${file:...}` and similar references filled in. A skill that is not the
    user's own may include only files of the workspace. Otherwise it could send environment variables and passwords to a
    model. This blocks, because it reads files and may run commands."""
    body = _ITSELF.sub("", skill.body)
    read_log = ReadLog()
    if skill.origin is SkillOrigin.USER:
        text: str = Layer(str(skill.path), skill.folder, os.environ, read_log, is_own=True).fill(body)
    else:
        real = skill.folder.resolve()
        within = next((root for root in registry.files.roots if real.is_relative_to(root.resolve())), real)
        layer = Layer(str(skill.path), skill.folder, {}, read_log, within=within)
        text = _FILE.sub(lambda part: str(layer.fill(part[0])), body)
    for warning in read_log.warnings:
        registry.warn(warning)
    return text


def _list_others(folder: Path) -> list[str]:
    """Return the names of the other files of a skill, relative to its folder."""
    found: list[str] = []
    for here, inside, files in os.walk(folder):  # `inside` has the subfolders that are walked next
        path = Path(here).relative_to(folder)
        inside[:] = (
            [] if len(path.parts) >= _MAX_DEPTH else sorted(name for name in inside if not name.startswith((".", "_")))
        )
        found += [(path / name).as_posix() for name in sorted(files) if name != SKILL_FILE and not name.startswith(".")]
        if len(found) > _MAX_LISTED:
            return [*found[:_MAX_LISTED], "..."]
    return found
