"""Lists the files in a folder, except those that gitignore excludes. It asks ripgrep, else git; else it walks the
folder.

Paths are relative, with slashes, and the file that was changed last comes first. Links are not followed, and names that
JSON cannot contain are left out. The module must not keep anything: `index.py` does.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files import programs
from jupyter_eca.workspace.files.ignored import JUNK

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pathspec import GitIgnoreSpec

# A home folder may have millions of files. Beyond so many, files are not found by name.
MAX_FILES: Final = 200_000

# Bytes of output that are read from ripgrep or git, at a hundred for each file.
_MAX_OUTPUT = MAX_FILES * 100

# Walking so many files in Python, with gitignore, takes a second.
_MAX_WALKED = 20_000


async def list_files(folder: Path) -> list[str]:
    """List the files in a folder. The list is empty when the folder cannot be read."""
    output = await _read_output(_build_ripgrep_command(), folder) if shutil.which("rg") else None
    if output is None and await programs.is_in_work_tree(folder):
        output = await _read_output(_build_git_command(), folder)
    names = await asyncio.to_thread(_walk, folder) if output is None else await asyncio.to_thread(_split_names, output)
    return await asyncio.to_thread(_sort_newest_first, folder, names)


def _build_ripgrep_command() -> list[str]:
    """Return the command for ripgrep. It does not sort by time, because ripgrep before version 14 sorts each folder
    by itself."""
    unwanted = [f"--glob=!{name}" for name in JUNK]
    quiet = ["--no-config", "--no-messages", "--null", "--no-require-git"]
    return ["rg", "--files", "--hidden", *quiet, *unwanted]


def _build_git_command() -> list[str]:
    unwanted = [f":(exclude,glob)**/{name}/**" for name in JUNK]
    return programs.build_git_command(
        "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".", *unwanted
    )


async def _read_output(command: list[str], folder: Path) -> bytes | None:
    """Return the output of a command: the part that came in time, if there is too much of it or it takes too long;
    None if the command fails."""
    output = bytearray()
    try:
        async with programs.run_program(command, folder, asyncio.subprocess.DEVNULL) as running:
            with suppress(TimeoutError):
                async with asyncio.timeout(programs.TIMEOUT_S):
                    while running.stdout and (chunk := await running.stdout.read(65_536)) and len(output) < _MAX_OUTPUT:
                        output += chunk
    except ToolError:
        return None
    return bytes(output) if output else None


def _split_names(output: bytes) -> list[str]:
    """Split the output at NULs. After the last NUL there is only half a name. Names with a replacement character are
    left out, because JSON could not contain the real ones."""
    text = output.decode("utf-8", errors="replace")
    if os.sep == "\\":
        text = text.replace("\\", "/")
    names = text.split("\0")[:-1][:MAX_FILES]
    if "\n" in text or "\N{REPLACEMENT CHARACTER}" in text:
        return [name for name in names if "\n" not in name and "\N{REPLACEMENT CHARACTER}" not in name]
    return names


def _sort_newest_first(folder: Path, names: Iterable[str]) -> list[str]:
    """Sort the names by the time of the last change. Files that git still lists although they are gone are left out.
    Each `lstat` releases the interpreter lock."""
    changed: list[tuple[int, str]] = []
    for name in names:
        try:
            # Joining strings takes half the time of joining paths.
            changed.append((-os.lstat(f"{folder}{os.sep}{name}").st_mtime_ns, name))
        except (OSError, ValueError):
            continue
    return [name for _, name in sorted(changed)]


def _walk(folder: Path) -> list[str]:
    """Walk the folder, with the rules of every `.gitignore` on the way. Rules of an inner folder win."""
    from pathspec import GitIgnoreSpec

    names: list[str] = []
    waiting: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    while waiting and len(names) < _MAX_WALKED:
        parent, rules = waiting.pop(0)
        with suppress(OSError, ValueError):
            ignore = read_regular(folder / parent / ".gitignore", MAX_TEXT_BYTES).decode("utf-8", "replace")
            rules = ((parent, GitIgnoreSpec.from_lines(ignore.splitlines())), *rules)
        with suppress(OSError), os.scandir(folder / parent) as entries:
            for entry in entries:
                name, is_folder = f"{parent}{entry.name}", entry.is_dir(follow_symlinks=False)
                if entry.name in JUNK or not name.isprintable() or _is_ignored(name + "/" * is_folder, rules):
                    continue
                if is_folder:
                    waiting.append((f"{name}/", rules))
                elif entry.is_file(follow_symlinks=False):
                    names.append(name)
    return names


def _is_ignored(name: str, rules: Iterable[tuple[str, GitIgnoreSpec]]) -> bool:
    for parent, spec in rules:
        verdict = spec.check_file(name.removeprefix(parent)).include
        if verdict is not None:
            return verdict
    return False
