"""Lists the files in a folder, except those that gitignore excludes. It runs ripgrep where that is installed, else git.
Where neither works, it walks the folder itself.

Paths are relative, with slashes, and the file that was changed last comes first. Links are not followed, and names that
JSON cannot contain are left out. The module must not keep the names: `index.py` does.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from contextlib import suppress
from heapq import merge
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, TypeVar

from jupyter_eca.config.disk.regular_file import MAX_TEXT_BYTES, read_regular
from jupyter_eca.errors import ToolError
from jupyter_eca.workspace.files import programs
from jupyter_eca.workspace.files.skipped_folders import SKIPPED_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pathspec import GitIgnoreSpec

T = TypeVar("T")

# The largest number of files that are listed. A home folder may have millions; the others are not found by name.
MAX_FILES: Final = 200_000

# Bytes of output that are read from ripgrep or git. This allows a hundred for each file.
_MAX_OUTPUT = MAX_FILES * 100

# How many names are sorted at a time, in a few milliseconds.
_PIECE = 10_000

# The largest number of files that the walk in Python lists. With gitignore rules it takes a second.
_MAX_WALKED = 20_000


# The first names of a large folder are reported after these seconds, because a user notices a longer wait. They are so
# few that no time is needed to prepare them for a search.
_EARLY_SECONDS = 0.06
_MAX_EARLY = 2_000


async def list_files(folder: Path, report_early: Callable[[list[str]], None] | None = None) -> list[str]:
    """List the files in a folder. The list is empty when the folder cannot be read.

    If a program takes long to list them, `report_early` is called once with some of the names that have come by then,
    in no particular order.
    """

    def report(output: bytes) -> None:
        """Report the first names in the output that has come so far."""
        if report_early is not None:
            report_early(_split_names(output)[:_MAX_EARLY])

    output = await _read_output(_build_ripgrep_command(), folder, report) if shutil.which("rg") else None
    if output is None and await programs.is_in_work_tree(folder):
        output = await _read_output(_build_git_command(), folder, report)
    names = await asyncio.to_thread(_walk, folder) if output is None else await asyncio.to_thread(_split_names, output)
    return await asyncio.to_thread(_sort_newest_first, folder, names)


def _build_ripgrep_command() -> list[str]:
    """Return the command for ripgrep. The command does not sort by time, because ripgrep before version 14 sorts the
    files of each folder separately."""
    unwanted = [f"--glob=!{name}" for name in SKIPPED_FOLDERS]
    quiet = ["--no-config", "--no-messages", "--null", "--no-require-git"]
    return ["rg", "--files", "--hidden", *quiet, *unwanted]


def _build_git_command() -> list[str]:
    """Return the command for git. It lists the files of the repository, and new files that are not ignored."""
    unwanted = [f":(exclude,glob)**/{name}/**" for name in SKIPPED_FOLDERS]
    return programs.build_git_command(
        "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".", *unwanted
    )


async def _read_output(command: list[str], folder: Path, report_early: Callable[[bytes], None]) -> bytes | None:
    """Return the output of a command. If the output is too long or takes too long, return the part that came in time.
    Return None if the command cannot be started or prints nothing. `report_early` is called with the output after
    `_EARLY_SECONDS`, if there is any by then and the command has not ended."""
    output = bytearray()
    timer = asyncio.get_running_loop().call_later(
        _EARLY_SECONDS, lambda: report_early(bytes(output)) if output else None
    )
    try:
        async with programs.run_program(command, folder, asyncio.subprocess.DEVNULL) as running:
            with suppress(TimeoutError):
                async with asyncio.timeout(programs.TIMEOUT_S):
                    while running.stdout and (chunk := await running.stdout.read(65_536)) and len(output) < _MAX_OUTPUT:
                        output += chunk
    except ToolError:
        return None
    finally:
        timer.cancel()
    return bytes(output) if output else None


def _split_names(output: bytes) -> list[str]:
    """Split the output at NULs. The part after the last NUL is left out, because it may be half a name. Names with a
    replacement character are left out too, because JSON could not contain the real names."""
    text = output.decode("utf-8", errors="replace")
    if os.sep == "\\":
        text = text.replace("\\", "/")
    names = text.split("\0")[:-1][:MAX_FILES]
    if "\n" in text or "\N{REPLACEMENT CHARACTER}" in text:
        return [name for name in names if "\n" not in name and "\N{REPLACEMENT CHARACTER}" not in name]
    return names


def _sort_newest_first(folder: Path, names: Iterable[str]) -> list[str]:
    """Sort the names by the time of the last change, the newest first. Files that git still lists although they are
    gone are left out. This runs in a thread, and does not block other threads: each `lstat` releases the interpreter
    lock."""
    changed: list[tuple[int, str]] = []
    for name in names:
        try:
            # Joining strings takes half as long as joining paths.
            changed.append((-os.lstat(f"{folder}{os.sep}{name}").st_mtime_ns, name))
        except (OSError, ValueError):
            continue
    return [name for _, name in sort_in_pieces(changed, key=itemgetter(0, 1))]


def sort_in_pieces(items: list[T], key: Callable[[T], Any]) -> list[T]:
    """Return the items sorted, as `sorted` does. It takes longer, but does not block other threads: `sorted` holds the
    interpreter lock until all is sorted, which is a fifth of a second for 200,000 names."""
    pieces = [sorted(items[start : start + _PIECE], key=key) for start in range(0, len(items), _PIECE)]
    return list(merge(*pieces, key=key))


def _walk(folder: Path) -> list[str]:
    """Walk the folder, and apply the rules of each `.gitignore` in it. The rules of an inner folder win."""
    from pathspec import GitIgnoreSpec

    names: list[str] = []
    # The folders that are still to be walked, each with the rules that apply in it. A rule is the folder of a
    # `.gitignore` and what is in that file, and the rules of the innermost folder come first.
    waiting: list[tuple[str, tuple[tuple[str, GitIgnoreSpec], ...]]] = [("", ())]
    while waiting and len(names) < _MAX_WALKED:
        parent, rules = waiting.pop(0)
        with suppress(OSError, ValueError):
            ignore = read_regular(folder / parent / ".gitignore", MAX_TEXT_BYTES).decode("utf-8", "replace")
            rules = ((parent, GitIgnoreSpec.from_lines(ignore.splitlines())), *rules)
        with suppress(OSError), os.scandir(folder / parent) as entries:
            for entry in entries:
                name, is_folder = f"{parent}{entry.name}", entry.is_dir(follow_symlinks=False)
                if (
                    entry.name in SKIPPED_FOLDERS
                    or not name.isprintable()
                    or _is_ignored(name + "/" * is_folder, rules)
                ):
                    continue
                if is_folder:
                    waiting.append((f"{name}/", rules))
                elif entry.is_file(follow_symlinks=False):
                    names.append(name)
    return names


def _is_ignored(name: str, rules: Iterable[tuple[str, GitIgnoreSpec]]) -> bool:
    """Return whether the rules ignore a name. The name of a folder ends with a slash, as gitignore needs it. The first
    rules that mention the name decide."""
    for parent, spec in rules:
        verdict = spec.check_file(name.removeprefix(parent)).include
        if verdict is not None:
            return verdict
    return False
