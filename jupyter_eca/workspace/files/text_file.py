"""Reads and writes text files. A file is read as a whole or refused, and replaced as a whole or not at all.

Its callers have checked that the path lies in the workspace: `real` is a path as `ports.Files.resolve` returns it. The
module must not search in a text, which `text_replace.py` does. `atomic_write.py` does the write itself.
"""

from __future__ import annotations

import difflib
import os
import re
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from jupyter_eca.config.disk.regular_file import get_size, open_resolved, read_whole
from jupyter_eca.errors import ToolError
from jupyter_eca.protocol.content import FileChangeDetails
from jupyter_eca.workspace.files import atomic_write
from jupyter_eca.workspace.files.text_replace import split_lines

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator
    from pathlib import Path

# Bytes. Files are read as a whole, and held in memory several times while a diff is made.
MAX_BYTES = 20_000_000

# The byte order mark.
BOM = "\ufeff"


@contextmanager
def report_os_errors(path: str) -> Generator[None]:
    """Turn errors of the operating system (rights, space, long names) into errors for the model. `path` is the path as
    the model gave it."""
    try:
        yield
    except OSError as error:
        raise ToolError(f"{path}: {error.strerror or error}.") from error
    except RecursionError as error:  # pathlib makes the parents of a folder by recursion
        raise ToolError(f"A path with {path.count('/')} folders cannot be used.") from error


def read(real: Path, name: str) -> str:
    """Return the text, with its byte order mark and its line ends. `name` is the name of the file in errors.

    Raises: ToolError for a file that is not UTF-8 text, or too large; OSError.
    """
    if real.is_dir():
        raise ToolError(f"{name} is a folder.", "Use directory_tree to look into it.")
    if not real.exists():
        raise ToolError(f"There is no file {name}.", "Use directory_tree or grep to find it.")
    if not real.is_file():
        raise ToolError(f"{name} is not a regular file.")
    with open_resolved(real) as file:
        if get_size(file) > MAX_BYTES:
            raise ToolError(f"{name} is larger than {MAX_BYTES} bytes.", "Use grep to find the lines you need.")
        data = read_whole(file, real, MAX_BYTES)
    if b"\0" not in data:
        with suppress(UnicodeDecodeError):
            return data.decode("utf-8")
    raise ToolError(
        f"{name} is not UTF-8 text ({len(data)} bytes, binary or of another encoding); it was left alone.",
        "Run code that knows its format.",
    )


def write(real: Path, name: str, text: str) -> None:
    """Write a file. A reader sees the old file or the new one, never half of one. An existing file keeps its mode and
    its owner.

    Raises: ToolError when the text or the file cannot be written; OSError.
    """
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(f"The content for {name} is not valid text: {error}.", "Leave lone surrogates out.") from error
    if b"\0" in data or len(data) > MAX_BYTES:  # such a file could not be read again
        raise ToolError(f"The content for {name} has a NUL character or more than {MAX_BYTES} bytes.")
    if real.exists() and not os.access(real, os.W_OK):  # `os.replace` would not check it
        raise ToolError(f"{name} is read-only; it was left alone.")
    real.parent.mkdir(parents=True, exist_ok=True)
    atomic_write.write(real, data)


def describe_change(path: str, before: str | None, after: str) -> FileChangeDetails:
    """Describe a change as a unified diff. `before` is None for a new file."""
    diff = list(_diff(path, split_lines(before or ""), split_lines(after)))
    if before is None and diff:
        diff[0] = "--- /dev/null\n"
    body = diff[2:]
    return FileChangeDetails(
        path=path,
        diff="".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in diff),
        lines_added=sum(line.startswith("+") for line in body),
        lines_removed=sum(line.startswith("-") for line in body),
    )


def _diff(path: str, before: list[str], after: list[str]) -> Iterator[str]:
    """Yield the lines of a unified diff. difflib takes quadratic time for repeated lines. So it gets only the part from
    the first to the last line that differs, with three lines around it, and the line numbers in the headers are
    corrected."""
    shorter = min(len(before), len(after))
    # How many lines are equal at the beginning, and how many at the end.
    head = next((index for index in range(shorter) if before[index] != after[index]), shorter)
    tail = next((index for index in range(shorter - head) if before[-1 - index] != after[-1 - index]), shorter - head)
    skipped, skipped_end = max(0, head - 3), max(0, tail - 3)
    old, new = before[skipped : len(before) - skipped_end], after[skipped : len(after) - skipped_end]
    for line in difflib.unified_diff(old, new, f"a/{path}", f"b/{path}"):
        yield (
            re.sub(r"[-+]\d+", lambda match: _move_line_number(match[0], skipped), line)
            if line.startswith("@@ ")
            else line
        )


def _move_line_number(position: str, line_count: int) -> str:
    """Return a line number in the header of a diff, moved down by some lines: `-3` by 10 -> `-13`."""
    return f"{position[0]}{int(position[1:]) + line_count}"
