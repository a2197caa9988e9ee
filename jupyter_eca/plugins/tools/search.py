"""The tool that searches in files with ripgrep, git or grep, whichever is installed.

The search for a model's pattern may take for ever. So it runs in another process, which can be killed, and never with
Python's `re`, which cannot be stopped and would block all chats. `workspace/files/programs.py` runs the process.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import tempfile
from collections import Counter
from contextlib import aclosing
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from jupyter_eca.errors import ToolError
from jupyter_eca.plugins.tools.base import ToolContext, tool
from jupyter_eca.plugins.tools.notebook_search import MAX_NOTEBOOKS, search_notebooks
from jupyter_eca.workspace.files import programs
from jupyter_eca.workspace.files.read_threads import run_read
from jupyter_eca.workspace.files.skipped_folders import SKIPPED_FOLDERS
from jupyter_eca.workspace.files.text_file import report_os_errors

if TYPE_CHECKING:
    from jupyter_eca.workspace.ports import Files

# How many characters of a line are shown, at most. Longer lines are minified code or data.
_MAX_LINE_CHARACTERS = 300

# The types of the arguments, with their descriptions for the model.
Mode = Literal["content", "files_with_matches", "count"]
Where = Annotated[str, Field(description="The file or folder to search.")]
Pattern = Annotated[str, Field(min_length=1, description="Extended regular expression; write [0-9] for digits.")]
Include = Annotated[str, Field(description="Glob of file names, such as *.py or *.{md,rst}.")]
MaxResults = Annotated[int, Field(ge=1, le=1000, description="Where to stop.")]
OutputMode = Annotated[
    Mode, Field(description="Matching lines (path:line:text), the files that have any, or their number in each file.")
]


@tool(reads=True, summary="Searching for {pattern}", paths=["path"])
async def grep(
    context: ToolContext,
    pattern: Pattern,
    path: Where = ".",
    include: Include = "",
    max_results: MaxResults = 100,
    output_mode: OutputMode = "content",
) -> str:
    """Search the text of files and the sources of notebooks, line by line and case-sensitively.

    Files that git ignores are skipped, unless path is one of them.
    """
    search = await run_read(_make_search, context.files, path, pattern, include, output_mode)
    found: list[bytes] = []
    if not _is_notebook(search.target):
        found = await _run_search(search, await _choose_command(search), max_results + 1)
    lines = await run_read(_as_lines, context.files, search, found)
    if len(lines) <= max_results:
        lines += await _search_notebooks(context, search, max_results + 1)
    if not lines:
        return f"No match for {pattern} in {path}{f' ({include})' if include else ''}"
    if len(lines) > max_results:
        del lines[max_results:]
        lines.append(f"[stopped after {max_results}: narrow path, include or pattern, or raise max_results]")
    return "\n".join(lines)


TOOLS = (grep,)


@dataclass(frozen=True, slots=True)
class _Search:
    """What is searched for, and where."""

    folder: Path
    """The folder in which the program runs."""
    target: str
    """What is searched in `folder`: the name of a file, or `.` for all files."""
    pattern: str
    """The regular expression."""
    globs: tuple[str, ...]
    """The patterns of the names of files; empty for all files."""
    mode: Mode
    """What is returned, see `OutputMode`."""
    with_notebooks: bool = False
    """Whether the files of notebooks are searched as they are on the disk, with their outputs."""


def _make_search(files: Files, path: str, pattern: str, include: str, mode: Mode) -> _Search:
    """Return the search in a folder or in a single file. Raises: ToolError for any other path."""
    globs = _expand_globs(include)
    with report_os_errors(path):
        real = files.resolve(path)
        if real.is_dir():
            return _Search(real, ".", pattern, globs, mode)
        if real.is_file():
            return _Search(real.parent, real.name, pattern, (), mode)
    raise ToolError(f"{path} is neither a folder nor a regular file.", "Use directory_tree to see what there is.")


async def _search_notebooks(context: ToolContext, search: _Search, limit: int) -> list[str]:
    """Return the matches in the sources of notebooks, as lines for the model. In sources, at most `limit` lines are
    searched for."""

    async def find(folder: Path) -> list[tuple[str, int, str]]:
        """Return the file, the number and the text of each line that matches in a folder of text files."""
        in_sources = _Search(folder, ".", search.pattern, (), "content")
        found = await _run_search(in_sources, await _choose_command(in_sources), limit)
        return [_parse_match(record) for record in found]

    paths = await run_read(_resolve_notebooks, context.files, search, await _list_notebooks(search))
    if not paths:
        return []
    matches = await search_notebooks(context, paths, find)
    match search.mode:
        case "content":
            return [
                f"{match.path} cell {match.number}{f' [{match.id}]' if match.id else ''} line {match.line}: "
                f"{_cut(match.text)}"
                for match in matches
            ]
        case "files_with_matches":
            return list(dict.fromkeys(match.path for match in matches))
        case "count":
            return [f"{path}:{count}" for path, count in Counter(match.path for match in matches).items()]


async def _list_notebooks(search: _Search) -> list[bytes]:
    """Return the names of the notebooks that a search is about, relative to its folder."""
    if _is_notebook(search.target):
        return [os.fsencode(search.target)]
    if search.target != ".":
        return []
    # The same program lists the notebooks, so that it skips those that git ignores: it searches for the key `"cells"`,
    # which each file of a notebook contains.
    listing = _Search(search.folder, ".", '"cells"', ("*.ipynb",), "files_with_matches", with_notebooks=True)
    found = await _run_search(listing, await _choose_command(listing), MAX_NOTEBOOKS)
    names = [record.partition(b"\0")[0].removesuffix(b"\0") for record in found]
    globs = search.globs or ("*",)
    return sorted(name for name in names if any(fnmatch(Path(os.fsdecode(name)).name, glob) for glob in globs))


def _resolve_notebooks(files: Files, search: _Search, names: list[bytes]) -> list[Path]:
    """Return the paths of notebooks, without those behind a link. Blocks."""
    return [search.folder / os.fsdecode(name) for name in names if _shorten_path(files, search.folder, name)]


def _is_notebook(name: str) -> bool:
    """Return whether a file is a notebook, by its name."""
    return name.lower().endswith(".ipynb")


def _parse_match(record: bytes) -> tuple[str, int, str]:
    """Return the name of the file, the number of the line, and its text. `record` is a line of the program's output.
    The name in it ends with a NUL character, and the number with a colon or another NUL."""
    name, _, rest = record.partition(b"\0")
    line, _, text = rest.replace(b"\0", b":", 1).partition(b":")
    return os.fsdecode(name), int(line), text.decode(errors="replace").rstrip("\r")


def _expand_globs(include: str) -> tuple[str, ...]:
    """Return globs without braces, because only ripgrep knows braces: `"*.{md,rst}" -> ("*.md", "*.rst")`. One level of
    braces is expanded."""
    name = include.removeprefix("**/")
    if "/" in name or os.sep in name:
        raise ToolError("include is matched with the names of files only.", "Give the folder as path.")
    braces = re.fullmatch(r"([^{}]*)\{([^{}]*)\}([^{}]*)", name)
    if braces is None:
        return (name,) if name else ()
    return tuple(braces[1] + choice + braces[3] for choice in braces[2].split(","))


async def _choose_command(search: _Search) -> list[str]:
    """Return the command line of the best program that is installed. Raises: ToolError when there is none."""
    if shutil.which("rg"):
        return _build_ripgrep(search)
    if await programs.is_in_work_tree(search.folder):
        return _build_git_grep(search)
    if shutil.which("grep"):
        return _build_grep(search)
    if shutil.which("git"):
        return _build_git_grep(search, is_repository=False)
    raise ToolError("There is no rg, git or grep on this machine.", "Use directory_tree and read_file.")


def _build_ripgrep(search: _Search) -> list[str]:
    """Return the command line of ripgrep. The globs become a file type, because with --glob ripgrep would also search
    ignored files."""
    mode = {"content": ["--line-number", "--no-heading"], "files_with_matches": ["-l"], "count": ["-c"]}[search.mode]
    types = [f"--type-add=eca:{glob}" for glob in search.globs] + ["--type=eca"] * bool(search.globs)
    hidden = ["--hidden", "--glob=!.git", "--glob=!.ipynb_checkpoints"]
    hidden += [] if search.with_notebooks else ["--glob=!*.ipynb"]
    quiet = ["--no-config", "--no-messages", "--color=never", "--with-filename", "--null"]
    return ["rg", *quiet, *hidden, *mode, *types, "-e", search.pattern, "--", f"./{search.target}"]


def _build_git_grep(search: _Search, *, is_repository: bool = True) -> list[str]:
    """Return the command line of `git grep`. A single file is searched even if git ignores it. `is_repository` says
    whether the folder is in a work tree of git. If not, git searches all files of the folder."""
    mode = {"content": "-n", "files_with_matches": "-l", "count": "-c"}[search.mode]
    ignored: list[str] = []
    pathspecs = [f":(glob)**/{glob}" for glob in search.globs] or ["."]
    pathspecs.append(":(exclude,glob)**/.ipynb_checkpoints/**")
    pathspecs += [] if search.with_notebooks else [":(exclude,glob)**/*.ipynb"]
    if search.target != ".":
        ignored, pathspecs = ["--no-exclude-standard"], [f":(literal){search.target}"]
    scope = "--untracked" if is_repository else "--no-index"
    # The user's settings of git could change the form of the output.
    beginning = ["-c", "grep.fullName=false", "-c", "grep.column=false", "grep", scope, *ignored]
    return programs.build_git_command(
        *beginning, "-I", "-E", "--no-color", "--null", mode, "-e", search.pattern, "--", *pathspecs
    )


def _build_grep(search: _Search) -> list[str]:
    """Return the command line of `grep`."""
    mode = {"content": "-n", "files_with_matches": "-l", "count": "-c"}[search.mode]
    chosen = [f"--include={glob}" for glob in search.globs] + [f"--exclude-dir={name}" for name in SKIPPED_FOLDERS]
    chosen += [] if search.with_notebooks else ["--exclude=*.ipynb"]
    options = ["-r", "-I", "-s", "-E", "-H", "--color=never", "--null", mode]
    return ["grep", *options, *chosen, "-e", search.pattern, "--", f"./{search.target}"]


async def _run_search(search: _Search, command: list[str], limit: int) -> list[bytes]:
    """Run the program and return at most `limit` matches, each as the program has written it: see `_parse_match`.
    Raises: ToolError when it refuses the pattern or does not end in time."""
    # The character that ends each match in the output of the program.
    end = b"\0" if search.mode == "files_with_matches" else b"\n"
    found: list[bytes] = []
    with tempfile.TemporaryFile() as errors:  # a pipe that nobody reads would block the program
        try:
            async with (
                asyncio.timeout(programs.TIMEOUT_S),
                programs.run_program(command, search.folder, errors) as running,
                aclosing(programs.read_records(running, end)) as records,
            ):
                async for record in records:
                    if _is_match(record, search.mode):
                        found.append(record)
                    if len(found) == limit:
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
    """Return whether a line is a match. It is none if grep counts 0 matches, or if rg reports a binary file."""
    return mode == "files_with_matches" or (b"\0" in record and not (mode == "count" and record.endswith(b"\x000")))


def _as_lines(files: Files, search: _Search, found: list[bytes]) -> list[str]:
    """Return the matches as lines for the model. `found` is the result of `_run_search`. Files behind a link are left
    out, because not every grep skips them."""
    names: dict[bytes, str | None] = {}
    lines: list[str] = []
    for record in found:
        raw, _, rest = record.partition(b"\0")
        if raw not in names:
            names[raw] = _shorten_path(files, search.folder, raw)
        name = names[raw]
        if name is not None:
            lines.append(f"{name}{_format_match(rest, search.mode)}")
    return lines


def _shorten_path(files: Files, folder: Path, raw: bytes) -> str | None:
    """Return the path of a file for the model, None for a file behind a link or outside of the workspace. `raw` is the
    name of the file as the program wrote it, relative to `folder`."""
    path = folder / os.fsdecode(raw)
    try:
        if files.resolve(str(path)) != path:
            return None
    except ToolError:
        return None
    return os.fsencode(files.shorten(path)).decode(errors="replace")


def _format_match(rest: bytes, mode: Mode) -> str:
    """Return what comes after the path in a line: `:line:text`, `:count` or nothing. `rest` is what the program wrote
    after the path."""
    if mode == "files_with_matches":
        return ""
    if mode == "count":
        return f":{rest.decode(errors='replace')}"
    line, _, text = rest.replace(b"\0", b":", 1).partition(b":")  # git puts a NUL after the number too
    plain = text.decode(errors="replace").rstrip("\r")
    return f":{line.decode()}:{_cut(plain)}"


def _cut(line: str) -> str:
    """Return a line, cut to `_MAX_LINE_CHARACTERS`."""
    return line if len(line) <= _MAX_LINE_CHARACTERS else f"{line[:_MAX_LINE_CHARACTERS]} [...]"
