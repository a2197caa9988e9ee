"""Commands that are Markdown files: `.eca/commands/NAME.md` of a project, and the user's in `~/.config/eca/commands`.

The project's win. A file is the prompt; an optional block between `---` lines at its top may have a `description:`.
"""

from __future__ import annotations

import asyncio
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from jupyter_eca.engine.commands import placeholders
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.command import ChatCommand, CommandKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from jupyter_eca.workspace.base import Files

# A prompt, not a book; a larger file got there by mistake.
MAX_BYTES = 100_000

_NAME = re.compile(r"[A-Za-z][\w.-]*")
_HEAD = re.compile(r"---[ \t]*\n(?P<head>.*?)^---[ \t]*\n?(?P<text>.*)", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r"^description:[ \t]*(?P<text>.+?)[ \t]*$", re.MULTILINE)
_DESCRIPTION_CHARS = 80


@dataclass(frozen=True, slots=True)
class CustomCommand:
    name: str
    template: str
    description: str

    @property
    def described(self) -> ChatCommand:
        arguments = placeholders(self.template)
        kind = CommandKind.CUSTOM_PROMPT
        return ChatCommand(name=self.name, description=self.description, type=kind, arguments=arguments)


async def find(files: Files) -> Mapping[str, CustomCommand]:
    """As they are now: they are small, and people write them while a chat is open."""
    return await asyncio.to_thread(_find, files)


def _find(files: Files) -> dict[str, CustomCommand]:
    found: dict[str, CustomCommand] = {}
    for path in _paths(files):
        if path.stem not in found and _NAME.fullmatch(path.stem) and (text := _text(path)) is not None:
            found[path.stem] = read(path.stem, text)
    return found


def _paths(files: Files) -> Iterator[Path]:
    for root in files.roots:
        for path in _markdown(root / ".eca" / "commands"):
            try:
                files.resolve(str(path))
            except ToolError:
                continue  # a link to outside of the workspace: a project must not have other files read
            yield path
    yield from _markdown(Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "eca" / "commands")


def _markdown(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.suffix == ".md")
    except OSError:
        return []


def _text(path: Path) -> str | None:
    try:
        if path.stat().st_size > MAX_BYTES:
            return None
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None


def read(name: str, text: str) -> CustomCommand:
    headed = _HEAD.fullmatch(text)
    template = (headed["text"] if headed else text).strip()
    described = _DESCRIPTION.search(headed["head"]) if headed else None
    first = next((line.strip("# ") for line in template.splitlines() if line.strip("# ")), name)
    description = described["text"].strip("\"'") if described else first
    return CustomCommand(name, template, description[:_DESCRIPTION_CHARS])
