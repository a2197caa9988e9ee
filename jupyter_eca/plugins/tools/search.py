"""The tool that searches in files with ripgrep, git or grep, whichever is installed.

A pattern comes from a model and may never end: it is matched in another process, which can be killed, and never by
Python's `re`, which cannot be and holds up everybody.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.workspace.files import programs
from jupyter_eca.workspace.files.ignored import JUNK
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.text_file import report_os_errors

if TYPE_CHECKING:
    from pathlib import Path

    from jupyter_eca.workspace.ports import Files

# Lines of minified code and of data are of no use whole.
_MAX_LINE = 300

Mode = Literal["content", "files_with_matches", "count"]
Where = Annotated[str, Field(description="The file or folder to search, relative to the workspace or absolute.")]
Pattern = Annotated[str, Field(min_length=1, description="Extended regular expression; write [0-9] for digits.")]
Include = Annotated[str, Field(description="Glob of the file names to search, such as *.py or *.{md,rst}.")]
MaxResults = Annotated[int, Field(ge=1, le=1000, description="Where to stop.")]
OutputMode = Annotated[
    Mode, Field(description="Matching lines (path:line:text), the files that have any, or their number in each file.")
]


@tool(reads=True, summary="Searching for {pattern}", paths=["path"])
async def grep(
    context: ToolContext,
    path: Where,
    pattern: Pattern,
    include: Include = "",
    max_results: MaxResults = 100,
    output_mode: OutputMode = "content",
) -> str:
    """Search the text of files, line by line and case-sensitively.

    In a git repository files that git ignores are skipped, unless path is one of them.
    """
    search = await run_read(_search, context.files, path, pattern, include, output_mode)
    found = await _matches(search, await _command(search), max_results + 1)
    shown = await run_read(_as_lines, context.files, search, found[:max_results])
    if not shown:
        return f"No match for {pattern} in {path}{f' ({include})' if include else ''}"
    if len(found) > max_results:
        shown.append(f"[stopped after {max_results}: narrow path, include or pattern, or raise max_results]")
    return "\n".join(shown)


TOOLS = (grep,)


@dataclass(frozen=True, slots=True)
class _Search:
    """A search. `target` is what to search in `folder`: the name of a file, or `.`."""

    folder: Path
    target: str
    pattern: str
    globs: tuple[str, ...]
    mode: Mode


def _search(files: Files, path: str, pattern: str, include: str, mode: Mode) -> _Search:
    globs = _globs(include)
    with report_os_errors(path):
        real = files.resolve(path)
        if real.is_dir():
            return _Search(real, ".", pattern, globs, mode)
        if real.is_file():
            return _Search(real.parent, real.name, pattern, (), mode)
    raise ToolError(f"{path} is neither a folder nor a regular file.", "Use directory_tree to see what there is.")


def _globs(include: str) -> tuple[str, ...]:
    """Spell out one level of braces: only ripgrep knows them."""
    name = include.removeprefix("**/")
    if "/" in name or os.sep in name:
        raise ToolError("include is matched with the names of files only.", "Give the folder as path.")
    braces = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", name)
    if braces is None:
        return (name,) if name else ()
    return tuple(braces[1] + choice + braces[3] for choice in braces[2].split(","))


async def _command(search: _Search) -> list[str]:
    if shutil.which("rg"):
        return _ripgrep(search)
    if await programs.is_in_work_tree(search.folder):
        return _git_grep(search)
    if shutil.which("grep"):
        return _plain_grep(search)
    raise ToolError("There is no rg, git or grep on this machine.", "Use directory_tree and read_file.")


def _ripgrep(search: _Search) -> list[str]:
    """Return the command line of ripgrep. The glob is given as a type: with --glob it would also bring ignored files
    in."""
    mode = {"content": ["--line-number", "--no-heading"], "files_with_matches": ["-l"], "count": ["-c"]}[search.mode]
    types = [f"--type-add=eca:{glob}" for glob in search.globs] + ["--type=eca"] * bool(search.globs)
    hidden = ["--hidden", "--glob=!.git", "--glob=!.ipynb_checkpoints"]
    quiet = ["--no-config", "--no-messages", "--color=never", "--with-filename", "--null"]
    return ["rg", *quiet, *hidden, *mode, *types, "-e", search.pattern, "--", f"./{search.target}"]


def _git_grep(search: _Search) -> list[str]:
    mode = {"content": "-n", "files_with_matches": "-l", "count": "-c"}[search.mode]
    ignored: list[str] = []
    where = [f":(glob)**/{glob}" for glob in search.globs] or ["."]
    where.append(":(exclude,glob)**/.ipynb_checkpoints/**")
    if search.target != ".":
        ignored, where = ["--no-exclude-standard"], [f":(literal){search.target}"]
    shape = ["-c", "grep.fullName=false", "-c", "grep.column=false", "grep", "--untracked", *ignored]
    return programs.build_git_command(
        *shape, "-I", "-E", "--no-color", "--null", mode, "-e", search.pattern, "--", *where
    )


def _plain_grep(search: _Search) -> list[str]:
    mode = {"content": "-n", "files_with_matches": "-l", "count": "-c"}[search.mode]
    chosen = [f"--include={glob}" for glob in search.globs] + [f"--exclude-dir={name}" for name in JUNK]
    how = ["-r", "-I", "-s", "-E", "-H", "--color=never", "--null", mode]
    return ["grep", *how, *chosen, "-e", search.pattern, "--", f"./{search.target}"]


async def _matches(search: _Search, command: list[str], enough: int) -> list[bytes]:
    """Run the program and return its matches. Raises: ToolError when it refuses the pattern or does not end in time."""
    end = b"\0" if search.mode == "files_with_matches" else b"\n"
    found: list[bytes] = []
    with tempfile.TemporaryFile() as errors:  # a pipe that nobody empties would stop the program
        try:
            async with (
                asyncio.timeout(programs.TIMEOUT_S),
                programs.run_program(command, search.folder, errors) as running,
                aclosing(programs.read_records(running, end)) as records,
            ):
                async for record in records:
                    if _is_match(record, search.mode):
                        found.append(record)
                    if len(found) == enough:
                        return found
                code = await running.wait()
        except TimeoutError:
            raise ToolError(
                f"The search took more than {programs.TIMEOUT_S:g} s and was ended.",
                "Narrow the pattern, path or include.",
            ) from None
        errors.seek(0)
        complaint = errors.read(500).decode(errors="replace").strip()
    if not found and (code < 0 or (code > 1 and complaint)):  # a file that cannot be opened also ends with 2
        raise ToolError(f"The search failed ({code}): {complaint}", "Correct the pattern or include.")
    return found


def _is_match(record: bytes, mode: Mode) -> bool:
    """Whether a line is a match: grep counts to 0, and rg reports a binary file in words of its own."""
    return mode == "files_with_matches" or (b"\0" in record and not (mode == "count" and record.endswith(b"\x000")))


def _as_lines(files: Files, search: _Search, found: list[bytes]) -> list[str]:
    """Return the matches without files behind a link: not every grep skips those."""
    names: dict[bytes, str | None] = {}
    shown: list[str] = []
    for record in found:
        raw, _, rest = record.partition(b"\0")
        if raw not in names:
            names[raw] = _name(files, search.folder, raw)
        name = names[raw]
        if name is not None:
            shown.append(f"{name}{_match(rest, search.mode)}")
    return shown


def _name(files: Files, folder: Path, raw: bytes) -> str | None:
    path = folder / os.fsdecode(raw)
    try:
        if files.resolve(str(path)) != path:
            return None
    except ToolError:
        return None
    return os.fsencode(files.shorten(path)).decode(errors="replace")


def _match(rest: bytes, mode: Mode) -> str:
    if mode == "files_with_matches":
        return ""
    if mode == "count":
        return f":{rest.decode(errors='replace')}"
    line, _, text = rest.replace(b"\0", b":", 1).partition(b":")  # git puts a NUL after the number too
    plain = text.decode(errors="replace").rstrip("\r")
    return f":{line.decode()}:{plain if len(plain) <= _MAX_LINE else plain[:_MAX_LINE] + ' [...]'}"
