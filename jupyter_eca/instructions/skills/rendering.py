"""A skill as a model reads it, and the files that lie beside it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.interpolation import Layer, ReadingNotes
from jupyter_eca.errors import ToolError
from jupyter_eca.instructions.skills.model import FILE, SkillOrigin

if TYPE_CHECKING:
    from jupyter_eca.instructions.skills.model import Skill
    from jupyter_eca.instructions.skills.registry import SkillRegistry

# Told by name; a skill with more has an overview of them in its text.
_MAX_LISTED: Final = 50
_MAX_DEPTH: Final = 3
_MAX_FILE_BYTES: Final = 1_000_000

_ITSELF: Final = re.compile(r"\$\{file:(?:\./)?SKILL\.md\}")
_FILE: Final = re.compile(r"\$\{file:[^}]*\}")


def text(skill: Skill, body: str) -> str:
    """Return the text for the model; `body` is that of the skill, rendered. It blocks: it looks into a folder."""
    parts = [f"Skill: {skill.name}\nIts folder: {skill.folder}", body]
    if others := _others(skill.folder):
        names = "\n".join(f"- {name}" for name in others)
        parts.append(f'Its other files, which skill(name="{skill.name}", file=...) reads:\n{names}')
    if skill.loops:
        parts.append("You have this skill now: do not load it again, whatever it says.")
    return "\n\n".join(parts)


def file(skill: Skill, name: str) -> str:
    """Return a text file of the skill. It blocks. Raises: ToolError for a file that does not exist, lies outside of the
    skill, or is not text."""
    top = skill.folder.resolve()
    try:
        real = (top / name).resolve()
        if not real.is_relative_to(top):
            raise ToolError(f"{name} is not a file of the skill {skill.name}.", "Use read_file for the workspace.")
        if not real.is_file():
            listed = ", ".join(_others(skill.folder)) or "none"
            raise ToolError(f"The skill {skill.name} has no file {name}.", f"Its files are: {listed}.")
        if real.stat().st_size > _MAX_FILE_BYTES:
            raise ToolError(
                f"{real} is larger than {_MAX_FILE_BYTES:,} bytes.", "Use a program that reads a part of it."
            )
        data = real.read_bytes()
    except (OSError, ValueError, RuntimeError) as error:
        raise ToolError(f"{name!r} of the skill {skill.name} cannot be read: {error}.") from error
    try:
        if b"\0" not in data:
            return data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    raise ToolError(f"{real} is not text ({len(data)} bytes).", "Use it by this path, as the skill says.")


def render(shelf: SkillRegistry, skill: Skill) -> str:
    """Return the body with ECA's `${file:...}` and its kind filled in. A skill that somebody else wrote gets files of
    the workspace only: otherwise a model would be told variables and passwords. It blocks: it reads files, and may run
    commands."""
    body = _ITSELF.sub("", skill.body)
    found = ReadingNotes()
    if skill.origin is SkillOrigin.USER:
        text: str = Layer(str(skill.path), skill.folder, os.environ, found, own=True).fill(body)
    else:
        real = skill.folder.resolve()
        within = next((root for root in shelf.files.roots if real.is_relative_to(root.resolve())), real)
        layer = Layer(str(skill.path), skill.folder, {}, found, within=within)
        text = _FILE.sub(lambda part: str(layer.fill(part[0])), body)
    for warning in found.warnings:
        shelf.warn(warning)
    return text


def _others(folder: Path) -> list[str]:
    found: list[str] = []
    for here, inside, files in os.walk(folder):
        at = Path(here).relative_to(folder)
        inside[:] = (
            [] if len(at.parts) >= _MAX_DEPTH else sorted(one for one in inside if not one.startswith((".", "_")))
        )
        found += [(at / one).as_posix() for one in sorted(files) if one != FILE and not one.startswith(".")]
        if len(found) > _MAX_LISTED:
            return [*found[:_MAX_LISTED], "..."]
    return found
