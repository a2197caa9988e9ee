"""Which files there are in a folder, without what gitignore leaves out: asked of ripgrep, else of git, else of a walk.

Paths are relative, with slashes, the last changed first. Links are not followed, and names that no JSON can hold are
left out.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.search import JUNK
from jupyter_eca.workspace.files import programs

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from pathspec import GitIgnoreSpec

# Somebody's home folder may have millions of files: more than this are no longer searched by name.
MAX_FILES: Final = 200_000

# And what ripgrep or git may say of them, at a hundred characters each.
_MAX_OUTPUT = MAX_FILES * 100

# A walk in Python, with gitignore, takes a second for as many.
_MAX_WALKED = 20_000


async def list_files(folder: Path) -> list[str]:
    """Empty when the folder cannot be read."""
    output = await _read_output(_build_ripgrep_command(), folder) if shutil.which("rg") else None
    if output is None and await programs.in_work_tree(folder):
        output = await _read_output(_build_git_command(), folder)
    names = await asyncio.to_thread(_walk, folder) if output is None else await asyncio.to_thread(_split_names, output)
    return await asyncio.to_thread(_sort_newest_first, folder, names)


def _build_ripgrep_command() -> list[str]:
    """Not sorted by time: before its version 14 it does that for each folder by itself."""
    unwanted = [f"--glob=!{name}" for name in JUNK]
    quiet = ["--no-config", "--no-messages", "--null", "--no-require-git"]
    return ["rg", "--files", "--hidden", *quiet, *unwanted]


def _build_git_command() -> list[str]:
    unwanted = [f":(exclude,glob)**/{name}/**" for name in JUNK]
    return programs.git("ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".", *unwanted)


async def _read_output(command: list[str], folder: Path) -> bytes | None:
    """None when it cannot be had; what had come in time when it is too much or takes too long."""
    output = bytearray()
    try:
        async with programs.running(command, folder, asyncio.subprocess.DEVNULL) as running:
            with suppress(TimeoutError):
                async with asyncio.timeout(programs.TIMEOUT_S):
                    while running.stdout and (chunk := await running.stdout.read(65_536)) and len(output) < _MAX_OUTPUT:
                        output += chunk
    except ToolError:
        return None
    return bytes(output) if output else None


def _split_names(output: bytes) -> list[str]:
    """What stands after the last NUL is half a name. A replaced character is one that no JSON could hold."""
    text = output.decode("utf-8", errors="replace")
    if os.sep == "\\":
        text = text.replace("\\", "/")
    names = text.split("\0")[:-1][:MAX_FILES]
    if "\n" in text or "\N{REPLACEMENT CHARACTER}" in text:
        return [name for name in names if "\n" not in name and "\N{REPLACEMENT CHARACTER}" not in name]
    return names


def _sort_newest_first(folder: Path, names: Iterable[str]) -> list[str]:
    """Without those that git still lists and that are gone. Each look lets go of the interpreter."""
    changed: list[tuple[int, str]] = []
    for name in names:
        try:
            changed.append((-os.lstat(f"{folder}{os.sep}{name}").st_mtime_ns, name))  # half the time
        except (OSError, ValueError):
            continue
    return [name for _, name in sorted(changed)]


def _walk(folder: Path) -> list[str]:
    """With the rules of every `.gitignore` on the way; a rule further in is the stronger one."""
    from pathspec import GitIgnoreSpec

    names: list[str] = []
    waiting: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    while waiting and len(names) < _MAX_WALKED:
        parent, rules = waiting.pop(0)
        with suppress(OSError, ValueError):
            ignore = (folder / parent / ".gitignore").read_text("utf-8", errors="replace")
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
