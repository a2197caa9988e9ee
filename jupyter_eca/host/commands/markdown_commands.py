"""Reads the commands that are Markdown files. The first file of a name wins: `.eca/commands/NAME.md` of the projects,
the files of the key `commands`, and those of the user in `~/.config/eca/commands`.

The text of a file is the prompt. The YAML at its top may have a `description`, and describe the `arguments`.

It must not run a command: `dispatch` does. `engine.text.slash_commands` fills in the arguments.
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

    from jupyter_eca.config.schema import FileState
    from jupyter_eca.workspace.ports import Files

# The size in bytes of the largest file that is read. A prompt is never so long, so a larger file is there by mistake.
MAX_BYTES: Final = 100_000

# The most files that are read from one path of the configuration, which may be the whole home folder by mistake.
_MAX_FILES: Final = 500

# The names that a command can have. A file with another name is no command.
_NAME: Final = re.compile(r"[A-Za-z][\w.-]*")
# The most characters of a description, which is shown in one line.
_DESCRIPTION_CHARS: Final = 80


@dataclass(frozen=True, slots=True)
class CustomCommand:
    """A command that is a Markdown file."""

    name: str
    """The name, without the slash."""
    template: str
    """The prompt, with placeholders for the arguments."""
    description: str
    """One line for `/help` and the completion."""
    declared_arguments: Any = None
    """The `arguments` of the front matter, as they were parsed."""

    @property
    def as_chat_command(self) -> ChatCommand:
        """The command as clients list it."""
        arguments = list_arguments(self.template, self.declared_arguments)
        kind = CommandKind.CUSTOM_PROMPT
        return ChatCommand(name=self.name, description=self.description, type=kind, arguments=arguments)


def ignore_warning(_message: str) -> None:
    """Ignore a warning. This is the default of `warn`."""


async def find(
    files: Files, config: Config | None = None, warn: Callable[[str], None] = ignore_warning
) -> Mapping[str, CustomCommand]:
    """Return the commands by name. The files are looked up each time, because users write them while a chat is open.

    `warn` is called for each file that is no valid command, each time with the same message.
    """
    found, complaints = await run_read(_find, files, config or Config())
    for complaint in complaints:
        warn(complaint)
    return found


def _find(files: Files, config: Config) -> tuple[dict[str, CustomCommand], list[str]]:
    """Return the commands by name, and a warning for each file that is no valid command."""
    found: dict[str, CustomCommand] = {}
    complaints: list[str] = []
    for path in _list_paths(files, config):
        if not _NAME.fullmatch(path.stem):
            continue
        try:
            command = _read(path, read_file_state(path), folders.find_allowed_folders(path, files.roots))
        except OSError as error:
            command = f"it cannot be read: {error.strerror}"
        if isinstance(command, str):
            complaints.append(f"{path} is no command and was left out: {command}.")
        else:
            found.setdefault(command.name, command)
    return found, complaints


def _list_paths(files: Files, config: Config) -> Iterator[Path]:
    """Yield the Markdown files, the one that wins first."""
    found = list(folders.find_markdown_files(files.roots, "commands"))
    user_folder = folders.get_user_folder()
    yield from (path for path in found if not path.is_relative_to(user_folder))
    for entry in config.commands:
        for root in files.roots:
            path = root / Path(entry.path).expanduser()
            if path.is_dir():
                yield from sorted(file for file in path.glob("**/*.md") if file.is_file())[:_MAX_FILES]
            elif path.suffix == ".md" and path.is_file():
                yield path
    yield from (path for path in found if path.is_relative_to(user_folder))


@lru_cache(maxsize=512)
def _read(path: Path, _state: FileState | None, within: tuple[Path, ...] | None) -> CustomCommand | str:
    """Return the command of a file, or a text that says why the file is no command.

    `_state` only belongs to the key of the cache: it changes when the file changes. `within` are the folders that the
    file must be in; None for any. Raises: OSError.
    """
    try:
        with open_regular(path, within) as file:
            if get_size(file) > MAX_BYTES:
                raise ValueError(f"it is larger than {MAX_BYTES:,} bytes")
            data = read_whole(file, path, MAX_BYTES)
        return parse_command(path.stem.lower(), front_matter.decode_text(data, "replace"))
    except ValueError as error:
        return str(error)


def parse_command(name: str, text: str) -> CustomCommand:
    """Return the command that a Markdown file describes. `text` is the text of the file. Raises: ValueError with a
    message for the user."""
    front, template = front_matter.parse_lenient_front_matter(text)
    if line := find_mixed_line(template):  # counted in the template, so the lines of the YAML above it are added
        lines_above = text.count("\n", 0, text.index(template)) if template else 0
        raise ValueError(f"`$1` or `$ARGS` and `{{{{name}}}}` cannot both be in it (line {line + lines_above})")
    first_line = next((line.strip("# ") for line in template.splitlines() if line.strip("# ")), name)
    description = " ".join(str(front.get("description") or first_line).split())
    return CustomCommand(name, template, description[:_DESCRIPTION_CHARS], front.get("arguments"))
