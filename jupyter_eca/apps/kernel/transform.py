"""Transforms the magics `%%eca` and `%eca` in the source of a cell into calls that are awaited. For example `%eca Why?`
becomes `await __eca__('Why?')`. IPython calls `transform` before it parses the cell as Python.

The reason: while a cell awaits a call, the event loop of the kernel runs. An ordinary magic blocks the loop, so that
clicks, stops and interrupts would have no effect until it has ended (ipykernel 7.4). This module must not know what the
call does: `magic` runs it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.inputtransformer2 import make_tokens_by_line

if TYPE_CHECKING:
    from collections.abc import Iterator

# The name of the function that the transformed source calls. It is hidden from `%who`, and from the assistant when it
# lists variables.
FUNCTION_NAME = "__eca__"

# The magics count only as whole words: `%%ecab` is another magic, and `%eca?` asks IPython for help.
_CELL = re.compile(r"%%eca(?![\w?])(.*)")
_LINE = re.compile(r"(\s*)%eca(?![\w?])(.*)")


def transform(lines: list[str]) -> list[str]:
    """Return the lines of a cell with our magics transformed. IPython has this function in its list
    `input_transformers_cleanup`. `%eca` is not transformed in a string, or in a cell that begins with another magic."""
    first = next((index for index, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return lines
    if match := _CELL.match(lines[first]):
        return [f"await {FUNCTION_NAME}({match[1].strip()!r}, {''.join(lines[first + 1 :])!r})\n"]
    if lines[first].startswith("%%") or not any("%eca" in line for line in lines):
        return lines
    # Transform one line at a time, and then search again. Otherwise the quotes and brackets in a question would be read
    # as Python in the search for the next line.
    start = 0
    while (found := _find_line(lines, start)) is not None:
        lines = [*lines[:found], _transform_line(lines[found]), *lines[found + 1 :]]
        start = found + 1
    return lines


def _find_line(lines: list[str], start: int) -> int | None:
    """Return the index of the first line, from `start` on, that is a statement with `%eca`; None if there is none."""
    return next((index for index in _find_statements(lines) if index >= start and _LINE.match(lines[index])), None)


def find_questions(lines: list[str]) -> list[int]:
    """Return the indexes of the lines that ask with `%eca`. An `%eca` in a string does not count, and neither does one
    in a cell that begins with another magic."""
    transformed = transform(lines)
    if len(transformed) != len(lines):
        return []  # the whole cell is a question with `%%eca`
    return [index for index, line in enumerate(lines) if transformed[index] != line]


def _find_statements(lines: list[str]) -> Iterator[int]:
    """Yield the indexes of the lines in which statements begin."""
    start = 0
    while start < len(lines):
        last = start
        for tokens in filter(None, make_tokens_by_line(lines[start:])):
            first, last = start + tokens[0].start[0] - 1, start + tokens[-1].end[0] - 1
            if first < len(lines):  # the last tokens are after the last line
                yield first
        # Since Python 3.12 the tokenizer stops at a line like `!echo it's`, which IPython will transform later. So it
        # is started again after that line.
        start = max(start, last) + 1


def _transform_line(line: str) -> str:
    """Return a line with `%eca` as the call that is awaited. Any other line is returned unchanged."""
    match = _LINE.match(line)
    return f"{match[1]}await {FUNCTION_NAME}({match[2].strip()!r})\n" if match else line
