"""Owns the application of unified diffs: a file after a tool call is computed from the file before it and the call's
diff. Pure. It must not know where files and diffs come from: the fronts do.

A diff is a list of hunks. A hunk is one changed place of the file. It begins with a line such as `@@ -3,2 +3,3 @@`:
here 2 lines from line 3 on become 3 lines. The lines that follow begin with a sign: "-" for a removed line, "+" for an
added line, a space for a line that stays.
"""

from __future__ import annotations

import re
from typing import Final

# The first line of a hunk. A count of 1 may be left out: `@@ -3 +3,2 @@`.
_HUNK: Final = re.compile(r"@@ -(?P<start>\d+)(?:,(?P<count>\d+))? \+\d+(?:,\d+)? @@")
# The mark of a last line that has no line break.
_NO_END: Final = "\\ No newline at end of file"


def apply_diff(before: str, diff: str) -> str | None:
    """Return the text after the change. Return None when the diff does not fit the text `before`."""
    # `splitlines` also splits at "\r". Only "\n" ends a line in a diff.
    lines = before.splitlines(keepends=True) if "\r" not in before else re.findall(r"[^\n]*\n|[^\n]+", before)
    after: list[str] = []
    position = 0  # the number of the lines of `before` that are already used
    for start, hunk in _parse_hunks(diff):
        if start < position:
            return None
        after += lines[position:start]
        position = start
        for sign, text in hunk:
            if sign in " -":
                if position >= len(lines) or lines[position] != text:
                    return None
                position += 1
            if sign in " +":
                after.append(text)
    return "".join([*after, *lines[position:]])


def read_side(diff: str, sign: str) -> str:
    """Return the lines of the hunks as they were before the change (`sign` "-") or are after it ("+"). It is for files
    whose whole text is not known."""
    return "".join(text for _, hunk in _parse_hunks(diff) for mark, text in hunk if mark in {" ", sign})


def _parse_hunks(diff: str) -> list[tuple[int, list[tuple[str, str]]]]:
    """Return each hunk as the number of lines before it, and its lines with their signs:
    `@@ -3 +3 @@`, `-old`, `+new` -> [(2, [("-", "old\\n"), ("+", "new\\n")])]."""
    hunks: list[tuple[int, list[tuple[str, str]]]] = []
    for line in re.findall(r"[^\n]*\n|[^\n]+", diff):
        if head := _HUNK.match(line):
            start = int(head["start"])
            # A hunk that removes nothing (count 0) has the number of the line after which lines are added.
            hunks.append((start if head["count"] == "0" else max(0, start - 1), []))
        elif not hunks:
            continue
        elif line.startswith(_NO_END):
            # The mark is about the line before it.
            sign, text = hunks[-1][1][-1]
            hunks[-1][1][-1] = (sign, text.removesuffix("\n"))
        else:
            hunks[-1][1].append((line[0], line[1:]))
    return hunks
