"""Transforms `%%eca` and `%eca` into an awaited call, so that the kernel's loop runs while a cell waits for its answer.
A magic that blocks would delay clicks, stops and interrupts until it is over (ipykernel 7.4).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from IPython.core.inputtransformer2 import make_tokens_by_line

if TYPE_CHECKING:
    from collections.abc import Iterator

# The name that the transformed source calls; hidden from `%who` and from the assistant's own view of variables.
NAME = "__eca__"

# Only as a whole word: `%%ecab` is another magic, and `%eca?` asks IPython for help.
_CELL = re.compile(r"%%eca(?![\w?])(.*)")
_LINE = re.compile(r"(\s*)%eca(?![\w?])(.*)")


def transform(lines: list[str]) -> list[str]:
    """Transform the lines of a cell for `input_transformers_cleanup`. `%eca` inside a string, or in another magic's
    cell, is left alone."""
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return lines
    if match := _CELL.match(lines[first]):
        return [f"await {NAME}({match[1].strip()!r}, {''.join(lines[first + 1 :])!r})\n"]
    if lines[first].startswith("%%") or not any("%eca" in line for line in lines):
        return lines
    next_line = 0
    # Transform one at a time: the text of a question (quotes, brackets) must not be read as Python in the search for
    # the next one.
    while (at := next((i for i in _statements(lines) if i >= next_line and _LINE.match(lines[i])), None)) is not None:
        lines = [*lines[:at], _line(lines[at]), *lines[at + 1 :]]
        next_line = at + 1
    return lines


def questions(lines: list[str]) -> list[int]:
    """Return the lines where `%eca` is a statement, not in a string or in another magic's cell."""
    transformed = transform(lines)
    return [
        number for number, line in enumerate(lines) if len(transformed) == len(lines) and transformed[number] != line
    ]


def _statements(lines: list[str]) -> Iterator[int]:
    """Return the lines where statements begin."""
    start = 0
    while start < len(lines):
        last = start
        for tokens in filter(None, make_tokens_by_line(lines[start:])):
            first, last = start + tokens[0].start[0] - 1, start + tokens[-1].end[0] - 1
            if first < len(lines):  # the last tokens are behind the last line
                yield first
        # Since Python 3.12 the tokenizer ends at a line like `!echo it's`, which IPython has yet to make Python of.
        start = max(start, last) + 1


def _line(line: str) -> str:
    match = _LINE.match(line)
    return f"{match[1]}await {NAME}({match[2].strip()!r})\n" if match else line
