"""Commands that are Markdown files: `.eca/commands/NAME.md` of a project, what the key `commands` names, and the user's
in `~/.config/eca/commands`.

The first of these win. A file is the prompt; the YAML at its top may have a `description` and describe `arguments`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from jupyter_eca.config import folders, front_matter
from jupyter_eca.config.disk.regular_file import get_size, open_regular, read_whole
from jupyter_eca.config.schema import Config, read_file_state
from jupyter_eca.engine.text.slash_commands import find_mixed_line, list_arguments
from jupyter_eca.protocol.command import ChatCommand, CommandKind
from jupyter_eca.workspace.files.read_threads import run_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from jupyter_eca.config.schema import State
    from jupyter_eca.workspace.ports import Files

# A prompt, not a book; a larger file got there by mistake.
MAX_BYTES: Final = 100_000

# Of one path in the configuration, which may name the home folder.
_MAX_FILES: Final = 500

_NAME: Final = re.compile(r"[A-Za-z][\w.-]*")
_DESCRIPTION_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """`declared` is what its front matter says of its arguments."""

    name: str
    template: str
    description: str
    declared: Any = None

    @property
    def as_chat_command(self) -> ChatCommand:
        arguments = list_arguments(self.template, self.declared)
        kind = CommandKind.CUSTOM_PROMPT
        return ChatCommand(name=self.name, description=self.description, type=kind, arguments=arguments)


def unheard(_message: str) -> None:
    """Where nobody is to be told."""


async def find(
    files: Files, config: Config | None = None, warn: Callable[[str], None] = unheard
) -> Mapping[str, CustomCommand]:
    """As they are now: they are small, and people write them while a chat is open. `warn` hears of each file that is no
    command, each time in the same words."""
    found, complaints = await run_read(_find, files, config or Config())
    for complaint in complaints:
        warn(complaint)
    return found


def _find(files: Files, config: Config) -> tuple[dict[str, CustomCommand], list[str]]:
    found: dict[str, CustomCommand] = {}
    complaints: list[str] = []
    for path in _paths(files, config):
        if not _NAME.fullmatch(path.stem):
            continue
        try:
            command = _read(path, read_file_state(path), folders.find_limits(path, files.roots))
        except OSError as error:
            command = f"it cannot be read: {error.strerror}"
        if isinstance(command, str):
            complaints.append(f"{path} is no command and was left out: {command}.")
        else:
            found.setdefault(command.name, command)
    return found, complaints


def _paths(files: Files, config: Config) -> Iterator[Path]:
    every = list(folders.find_markdown_files(files.roots, "commands"))
    own = folders.get_user_folder()
    yield from (path for path in every if not path.is_relative_to(own))
    for named in config.commands:
        for root in files.roots:
            here = root / Path(named.path).expanduser()
            if here.is_dir():
                yield from sorted(path for path in here.glob("**/*.md") if path.is_file())[:_MAX_FILES]
            elif here.suffix == ".md" and here.is_file():
                yield here
    yield from (path for path in every if path.is_relative_to(own))


@lru_cache(maxsize=512)
def _read(path: Path, _state: State | None, within: tuple[Path, ...] | None) -> CustomCommand | str:
    """Return the command, or the reason why it is none. A file is parsed once for each of its states. Raises:
    OSError."""
    try:
        with open_regular(path, within) as file:
            if get_size(file) > MAX_BYTES:
                raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
            data = read_whole(file, path, MAX_BYTES)
        return read(path.stem.lower(), front_matter.decode_text(data, "replace"))
    except ValueError as error:
        return str(error)


def read(name: str, text: str) -> CustomCommand:
    """Raises: ValueError, in words for the reader."""
    front, template = front_matter.split_lenient_front_matter(text)
    if line := find_mixed_line(template):
        above = text.count("\n", 0, text.index(template)) if template else 0
        raise ValueError(f"`$1` or `$ARGS` and `{{{{name}}}}` cannot both be in it (line {line + above})")
    first = next((line.strip("# ") for line in template.splitlines() if line.strip("# ")), name)
    description = " ".join(str(front.get("description") or first).split())
    return CustomCommand(name, template, description[:_DESCRIPTION_CHARS], front.get("arguments"))
