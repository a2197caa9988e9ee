"""Finds a passage that a model quotes in a text, and replaces it. Pure; it must not know files.

Models quote lines with `\\n`, and sometimes with wrong white space. So both texts are compared with `\\n` in place of
`\\r\\n`, and positions are mapped back: what is outside of the replaced part keeps each of its bytes.
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
    count: int
    exact: bool = True
    """False when the passage was found only by ignoring white space."""


def replace(text: str, original: str, new: str, *, everywhere: bool) -> TextReplacement:
    """Replace a passage in a text, once or everywhere.

    Raises: ToolError when `original` does not occur, or occurs more than once and is not to be replaced everywhere.
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
    """Split a text into lines with their ends. Only `\\n` ends a line, where `str.splitlines` also splits at form
    feeds and others."""
    return list(io.StringIO(text, newline="\n"))


def _find_only(plain: str, sought: str) -> list[tuple[int, int]]:
    """Find the only place of a passage. Overlapping places are ambiguous too: each could be meant."""
    at = plain.find(sought)
    if at >= 0 and plain.find(sought, at + 1) >= 0:
        raise _make_ambiguous_error(max(2, plain.count(sought)), "exactly")
    return [(at, at + len(sought))] if at >= 0 else []


def _make_ambiguous_error(count: int, comparison: str) -> ToolError:
    return ToolError(
        f"original_content fits {count} places {comparison}; nothing was changed.",
        "Add lines around it until it is unique, or set all_occurrences to replace exact ones.",
    )


def _find_loosely(plain: str, sought: str, fresh: str) -> tuple[list[tuple[int, int]], str]:
    """Find runs of whole lines that differ from the passage only in white space at their ends. Return them, and
    `fresh` indented like the first one."""
    wanted, present = split_lines(sought), split_lines(plain)
    bare, keys = [line.strip() for line in wanted], [line.strip() for line in present]
    if not any(bare):
        return [], fresh
    ends = list(accumulate(map(len, present), initial=0))
    spans: list[tuple[int, int]] = []
    for first in range(len(keys) - len(bare) + 1):
        last = first + len(bare)
        if keys[first:last] == bare:
            line_end = plain[ends[last] - 1] == "\n" and not sought.endswith("\n")
            spans.append((ends[first], ends[last] - line_end))
            fresh = _indent_like(fresh, wanted, present[first:last]) if len(spans) == 1 else fresh
    return spans, fresh


def _indent_like(fresh: str, wanted: list[str], present: list[str]) -> str:
    """Indent the new lines as the text is. When a model quotes lines with too little or too much indentation, its
    new lines have the same mistake."""
    index = next(index for index, line in enumerate(wanted) if line.strip())
    quoted, real = _find_indentation(wanted[index]), _find_indentation(present[index])
    if real.endswith(quoted):
        missing = real.removesuffix(quoted)
        return "".join(missing + line if line.strip() else line for line in split_lines(fresh))
    if quoted.endswith(real):
        surplus = quoted.removesuffix(real)
        return "".join(line.removeprefix(surplus) for line in split_lines(fresh))
    return fresh


def _find_indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _splice(text: str, spans: list[tuple[int, int]], fresh: str) -> str:
    """Replace the spans, which are positions in the text with `\\n` for `\\r\\n`. The new part gets the line ends
    that most lines of the text have."""
    pairs = [match.start() - index for index, match in enumerate(re.finditer("\r\n", text))]
    line_end = "\r\n" if 2 * len(pairs) > text.count("\n") else "\n"
    fresh = fresh.replace("\n", line_end)
    pieces: list[str] = []
    end_of_last = 0
    for start, end in spans:
        pieces += text[end_of_last : start + bisect_left(pairs, start)], fresh
        end_of_last = end + bisect_left(pairs, end)
    return "".join([*pieces, text[end_of_last:]])
