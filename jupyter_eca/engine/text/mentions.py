"""Finds the mentions in a message: words with `@` or `#` before them, such as `@data.csv`.

It must not know whether a mentioned thing exists: its neighbours in `plugins/contexts` find out. An e-mail address, a
decorator or a heading may look like a mention. It has no effect when nothing of that name exists.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SIGNS: Final = "@#"
"""The characters that begin a mention. `#` mentions only files and folders, see `plugins/contexts/resolve`."""

# Quoted code. It contains no mentions.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)

# A mention begins at the beginning of a word: `@data.csv`. In quotes it may contain spaces, and its lines follow the
# quotes: `@"my data.csv":L10-20`. The groups are the sign, the quoted text, its lines, and the text without quotes.
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<"']))([@#])(?:"([^"\n]+)"(:L\d+(?:-L?\d+)?)?|([^\s"'`@#!<>|*?]\S*))""")

# `data.csv:L10-20`
_LINES = re.compile(r"(.+):L(\d+)(?:-L?(\d+))?")

# A mention of something in a live notebook. Ids of cells have the characters that nbformat allows. The name of a
# variable may contain dots, as some languages allow them. What follows it, such as `[0]` or `'s`, is ignored. The name
# of a table may contain all characters.
_LIVE = re.compile(
    r"(?:(?P<cell>cell|output):(?P<id>[\w-]+)"
    r"|(?P<var>var):(?P<variable>[^\W\d]\w*(?:\.\w+)*)(?:[\[(].*)?"
    r"|(?P<table>table):(?P<name>.+?)"
    r"|(?P<notebook>notebook)(?::(?P<path>.+))?"
    r"|(?P<word>selection|error))(?:'s)?"
)

# The opening bracket of each closing one.
_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class LiveMention:
    """A mention of a part of a live notebook or of its kernel."""

    kind: str
    """`cell`, `output`, `var`, `table`, `notebook`, `selection` or `error`."""
    name: str = ""
    """The cell, the variable, the table or the path of the notebook; empty when the kind needs no name."""


def find_mentions(message: str, signs: str = SIGNS) -> list[str]:
    """Return the mentions in a message without their signs, each once, in order.

    `signs` are the signs to look for. The mentions are paths (with `:L10-20` if they have lines), addresses, and words
    that `parse_live` understands.
    """
    mentions: dict[str, None] = {}
    for match in _MENTION.finditer(_CODE.sub(" ", message)):
        sign, quoted, quoted_lines, plain = match.groups()
        if sign not in signs:
            continue
        if mention := f"{quoted}{quoted_lines or ''}" if quoted else trim_punctuation(plain):
            mentions[mention] = None
    return list(mentions)


def parse_live(mention: str) -> LiveMention | None:
    """Parse a mention of a part of a live notebook. Return None when it is something else."""
    if (match := _LIVE.fullmatch(mention)) is None:
        return None
    kind = match["cell"] or match["var"] or match["table"] or match["notebook"] or match["word"]
    return LiveMention(kind, match["id"] or match["variable"] or match["name"] or match["path"] or "")


def split_mention(mention: str) -> tuple[str, int, int]:
    """Return the path of a mention, and its first and last line, counted from 1. Both lines are 0 when the whole file
    is meant. `"data.csv:L10-20"` -> `("data.csv", 10, 20)`"""
    match = _LINES.fullmatch(mention)
    if match is None or not 0 < int(match[2]) < 10**9:
        return mention, 0, 0
    start, end = int(match[2]), int(match[3] or match[2])
    return match[1], min(start, end), max(start, end)


def trim_punctuation(word: str) -> str:
    """Return a word without the punctuation at its end. A closing bracket stays if the word has the opening one."""
    while word:
        last = word[-1]
        opening = _BRACKETS.get(last)
        if last not in ".,;:!?\"'`" and (opening is None or word.count(opening) >= word.count(last)):
            return word
        word = word[:-1]
    return ""
