"""`%%eca` and `%eca` as source: an awaited call, so that the kernel's loop runs while a cell waits for its answer.

A blocking magic would keep clicks, stops and interrupts out until it is over (ipykernel 7.4).
"""

from __future__ import annotations

import re

from IPython.core.inputtransformer2 import make_tokens_by_line

# The name that the transformed source calls; hidden from `%who` and from the assistant's own view of variables.
NAME = "__eca__"

# As a whole word: `%%ecab` is somebody else's magic, and `%eca?` asks IPython for help.
_CELL = re.compile(r"%%eca(?![\w?])(.*)")
_LINE = re.compile(r"(\s*)%eca(?![\w?])(.*)")


def transform(lines: list[str]) -> list[str]:
    """An `input_transformers_cleanup` function. `%eca` inside a string, or in another magic's cell, is left alone."""
    first = next((i for i, line in enumerate(lines) if line.strip()), None)
    if first is None:
        return lines
    if found := _CELL.match(lines[first]):
        return [f"await {NAME}({found[1].strip()!r}, {''.join(lines[first + 1 :])!r})\n"]
    if lines[first].startswith("%%") or not any("%eca" in line for line in lines):
        return lines
    starts = {tokens[0].start[0] - 1 for tokens in make_tokens_by_line(lines) if tokens}
    return [_line(line) if i in starts else line for i, line in enumerate(lines)]


def _line(line: str) -> str:
    found = _LINE.match(line)
    return f"{found[1]}await {NAME}({found[2].strip()!r})\n" if found else line
