"""Owns files before and after a call, computed from its unified diff. Pure."""

from __future__ import annotations

import re
from typing import Final

_HUNK: Final = re.compile(r"@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@")
_NO_END: Final = "\\ No newline at end of file"


def apply_diff(before: str, diff: str) -> str | None:
    """Return the text after the change; None when the diff is of another text."""
    lines = before.splitlines(keepends=True) if "\r" not in before else re.findall(r"[^\n]*\n|[^\n]+", before)
    after: list[str] = []
    at = 0
    for start, hunk in _hunks(diff):
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
    """Return the text before ("-") or after ("+") as far as the hunks contain it. For files that are no text."""
    return "".join(text for _, hunk in _hunks(diff) for mark, text in hunk if mark in {" ", sign})


def _hunks(diff: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """Yield each hunk, and the number of lines before it."""
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
