"""Owns the reading of unified diffs: a file after a tool call is computed from the file before it and the call's diff.
Pure. It must not know where files and diffs come from: `contents.py` does.
"""

from __future__ import annotations

import re
from typing import Final

_HUNK: Final = re.compile(r"@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@")
# The mark of a last line that has no line break.
_NO_END: Final = "\\ No newline at end of file"


def apply_diff(before: str, diff: str) -> str | None:
    """Return the text after the change. Return None when the diff does not fit the text `before`."""
    lines = before.splitlines(keepends=True) if "\r" not in before else re.findall(r"[^\n]*\n|[^\n]+", before)
    after: list[str] = []
    at = 0
    for start, hunk in _parse_hunks(diff):
        if start < at:
            return None
        after += lines[at:start]
        at = start
        for sign, text in hunk:
            if sign in " -":
                if at >= len(lines) or lines[at] != text:
                    return None
                at += 1
            if sign in " +":
                after.append(text)
    return "".join([*after, *lines[at:]])


def read_side(diff: str, sign: str) -> str:
    """Return the lines before ("-") or after ("+") the change that the hunks contain. For files whose whole text is not
    known."""
    return "".join(text for _, hunk in _parse_hunks(diff) for mark, text in hunk if mark in {" ", sign})


def _parse_hunks(diff: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """Return each hunk as the number of lines before it, and its lines with their signs."""
    hunks: list[tuple[int, list[tuple[str, str]]]] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", diff):
        if head := _HUNK.match(line):
            start = int(head["start"])
            hunks.append((start if head["count"] == "0" else max(0, start - 1), []))
        elif not hunks:
            continue
        elif line.startswith(_NO_END):
            sign, text = hunks[-1][1][-1]
            hunks[-1][1][-1] = (sign, text.removesuffix("\n"))
        else:
            hunks[-1][1].append((line[0], line[1:]))
    return hunks
