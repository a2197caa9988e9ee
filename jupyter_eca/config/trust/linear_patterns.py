"""Decides whether the regular expression of a rule takes linear time, whatever the text is that it is compared with.
Pure.

Python's regular expressions can take longer than anybody waits: `(.+)+x` tries all ways to divide a text of 40
characters, and the server does nothing else meanwhile. So a rule of a project that the user does not trust applies at
once only if its patterns cannot do this. This module must not know rules: its neighbour `split_settings` does.

A pattern is compared with a whole text. It takes linear time if it has the form `A B* C` or `A B* C .*`: `B` is a
single character or a set of characters, and `A` and `C` match in a few ways at most. Most patterns that people write
for rules are so: `git push.*--force.*`, `.*\\.env`. In doubt, a pattern counts as slow.
"""

from __future__ import annotations

import re
from typing import Final

# The parts of a pattern: flags at its beginning, an escape, a set, brackets, an alternative, how often the part before
# is repeated, and any other character.
_PART: Final = re.compile(
    r"(?P<flags>\A\(\?[aimsu]+\))|(?P<escape>\\.)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<group>\((?:\?:)?)|(?P<end>\))"
    r"|(?P<or>\|)|(?P<repeat>(?:[*+?]|\{(?P<least>\d*)(?P<comma>,?)(?P<most>\d*)\})[?+]?)|(?P<other>.)",
    re.DOTALL,
)

# In how many ways the rest of a pattern may match at one position, apart from its one repetition without a limit.
_MAX_WAYS: Final = 100


def takes_linear_time(pattern: str) -> bool:
    """Return whether a pattern surely takes linear time."""
    unlimited, before = 0, ""
    # For each open group, the outermost first: the ways of its alternatives so far, and those of the present one.
    groups: list[list[int]] = [[0, 1]]
    for part in _PART.finditer(pattern):
        text = part[0]
        is_special = text == "(" and pattern.startswith("(?", part.start())  # it looks ahead or back, for example
        if is_special or (part["escape"] and text[1].isdigit()):  # a digit repeats what a group has matched
            return False
        if part["group"]:
            groups.append([0, 1])
        elif part["or"]:
            groups[-1] = [sum(groups[-1]), 1]
        elif part["end"]:
            inner = sum(groups.pop())
            if not groups:
                return False
            groups[-1][1] *= inner
        elif part["repeat"]:
            if before in {"", "(", "(?:", "|"} or (before == ")" and text[0] != "?"):
                return False
            if _is_unlimited(part):
                # `.*` at the end matches whatever is left, without a second try.
                unlimited += not (before == "." and part.end() == len(pattern))
            else:
                groups[-1][1] *= _count_lengths(part)
        before = text
        if unlimited > 1 or sum(groups[-1]) > _MAX_WAYS:
            return False
    return len(groups) == 1


def _count_lengths(repeat: re.Match[str]) -> int:
    """Return in how many lengths a repetition with a limit may match: 3 for `{2,4}`."""
    if repeat[0][0] == "?":
        return 2
    least = int(repeat["least"] or 0)
    return int(repeat["most"] or 0) - least + 1 if repeat["comma"] else 1


def _is_unlimited(repeat: re.Match[str]) -> bool:
    """Return whether a repetition has no upper limit: `*`, `+` and `{2,}`."""
    return repeat[0][0] in {"*", "+"} or bool(repeat["comma"] and not repeat["most"])
