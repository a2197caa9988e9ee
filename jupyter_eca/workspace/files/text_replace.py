"""Finds a passage of a text that a model quotes, and replaces it. The module is pure, and must not know files, which
`text_file.py` reads and writes.

Models quote lines with `\\n`, and sometimes with wrong white space. So both texts are compared with `\\n` in place of
`\\r\\n`, and the positions are mapped back. Every character outside of the replaced part stays as it is.

In this module, `plain` is the text with `\\n` in place of `\\r\\n`. `sought` is the passage to find, and `fresh` is the
text that replaces it. A span is the start and the end of a passage in `plain`.
"""

from __future__ import annotations

import io
import re
from bisect import bisect_left
from dataclasses import dataclass
from itertools import accumulate

from jupyter_eca.errors import ToolError


@dataclass(frozen=True, slots=True)
class TextReplacement:
    """A text after a replacement."""

    text: str
    """The whole text, with the line ends that it had."""
    count: int
    """How many passages were replaced."""
    exact: bool = True
    """False when the passage was found only by ignoring white space."""


def replace(text: str, original: str, new: str, *, everywhere: bool) -> TextReplacement:
    """Replace a passage in a text, once or everywhere.

    Raises: ToolError when the text does not contain `original`; without `everywhere`, also when it contains `original`
    more than once.
    """
    plain, sought, fresh = (part.replace("\r\n", "\n") for part in (text, original, new))
    spans = (
        [match.span() for match in re.finditer(re.escape(sought), plain)] if everywhere else _find_only(plain, sought)
    )
    if spans:
        return TextReplacement(_splice(text, spans, fresh), len(spans))
    spans, fresh = _find_loosely(plain, sought, fresh)
    if len(spans) > 1:
        raise _make_ambiguous_error(len(spans), "but for white space")
    if not spans:
        raise ToolError(
            "original_content is not in the file; nothing was changed.",
            "Read the file again and copy the lines as they are.",
        )
    return TextReplacement(_splice(text, spans, fresh), 1, exact=False)


def split_lines(text: str) -> list[str]:
    """Split a text into lines, which keep their line ends. Only `\\n` ends a line. `str.splitlines` would also split at
    form feeds and other characters."""
    return list(io.StringIO(text, newline="\n"))


def _find_only(plain: str, sought: str) -> list[tuple[int, int]]:
    """Return a list with the span of the passage `sought`; an empty list when `plain` does not contain it.

    Raises: ToolError when `plain` contains it several times. Passages that overlap count as several, because each of
    them could be meant.
    """
    start = plain.find(sought)
    if start >= 0 and plain.find(sought, start + 1) >= 0:
        raise _make_ambiguous_error(max(2, plain.count(sought)), "exactly")
    return [(start, start + len(sought))] if start >= 0 else []


def _make_ambiguous_error(count: int, comparison: str) -> ToolError:
    """Return the error for a passage that was found several times. `comparison` says how the texts were compared."""
    return ToolError(
        f"original_content fits {count} places {comparison}; nothing was changed.",
        "Add lines around it until it is unique, or set all_occurrences to replace exact ones.",
    )


def _find_loosely(plain: str, sought: str, fresh: str) -> tuple[list[tuple[int, int]], str]:
    """Find passages of whole lines that differ from `sought` only in the white space at both ends of a line. Return
    their spans, and `fresh` with the indentation of the first passage."""
    wanted, present = split_lines(sought), split_lines(plain)
    bare_wanted, bare_present = [line.strip() for line in wanted], [line.strip() for line in present]
    if not any(bare_wanted):
        return [], fresh
    starts = list(accumulate(map(len, present), initial=0))  # of each line; the last is the end of the text
    spans: list[tuple[int, int]] = []
    for first in range(len(bare_present) - len(bare_wanted) + 1):
        last = first + len(bare_wanted)
        if bare_present[first:last] == bare_wanted:
            # If the quote does not contain the line break at its end, the line break is not replaced either.
            line_end = plain[starts[last] - 1] == "\n" and not sought.endswith("\n")
            spans.append((starts[first], starts[last] - line_end))
            fresh = _indent_like(fresh, wanted, present[first:last]) if len(spans) == 1 else fresh
    return spans, fresh


def _indent_like(fresh: str, wanted: list[str], present: list[str]) -> str:
    """Correct the indentation of the new lines. When a model quotes lines with too little or too much indentation, its
    new lines have the same mistake. `wanted` are the quoted lines, and `present` the lines of the text."""
    index = next(index for index, line in enumerate(wanted) if line.strip())
    quoted, real = _get_indentation(wanted[index]), _get_indentation(present[index])
    if real.endswith(quoted):
        missing = real.removesuffix(quoted)
        return "".join(missing + line if line.strip() else line for line in split_lines(fresh))
    if quoted.endswith(real):
        surplus = quoted.removesuffix(real)
        return "".join(line.removeprefix(surplus) for line in split_lines(fresh))
    return fresh


def _get_indentation(line: str) -> str:
    """Return the white space at the beginning of a line."""
    return line[: len(line) - len(line.lstrip())]


def _splice(text: str, spans: list[tuple[int, int]], fresh: str) -> str:
    """Replace the spans by `fresh`. The new part gets the line ends that most lines of the text have."""
    # The position in `plain` of each line break that is `\r\n` in `text`. It shifts all later positions by one.
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    line_end = "\r\n" if 2 * len(pairs) > text.count("\n") else "\n"
    fresh = fresh.replace("\n", line_end)
    pieces: list[str] = []
    end_of_last = 0
    for start, end in spans:
        pieces += text[end_of_last : start + bisect_left(pairs, start)], fresh
        end_of_last = end + bisect_left(pairs, end)
    return "".join([*pieces, text[end_of_last:]])
