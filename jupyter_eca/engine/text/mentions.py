"""What a message points at, with `@` or `#` before it.

It must not know whether there is such a thing: the plugs of `plugins/contexts` find out. An e-mail address, a decorator
or a heading may look like a mention, and stays what it is when nothing has that name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Code that is quoted is shown, and points at nothing.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)

# At the beginning of a word. What is in quotes may have spaces; its lines stand behind the quotes.
_MENTION = re.compile(r"""(?:^|(?<=[\s(\[{<"']))([@#])(?:"([^"\n]+)"(:L\d+(?:-L?\d+)?)?|([^\s"'`@#!<>|*?]\S*))""")

_LINES = re.compile(r"(.+):L(\d+)(?:-L?(\d+))?")

# What only a live notebook has. Ids of cells are nbformat's, some languages allow a dot in a name, and what is taken of
# a variable is the sentence's.
_LIVE = re.compile(
    r"(?:(cell|output):([\w-]+)|(var):([^\W\d]\w*(?:\.\w+)*)(?:[\[(].*)?|(notebook)(?::(.+))?|(selection|error))(?:'s)?"
)

_BRACKETS = {")": "(", "]": "[", "}": "{", ">": "<"}


@dataclass(frozen=True, slots=True)
class LiveMention:
    """A part of a notebook or its kernel that a mention names."""

    kind: str
    name: str = ""
    """Which one; empty where the kind says it all."""


def find_mentions(message: str, signs: str = "@#") -> list[str]:
    """Return what a message mentions, each once, in order.

    These are paths (with `:L10-20` when they have lines), addresses, and words that `live` knows.
    """
    mentions: dict[str, None] = {}
    for match in _MENTION.finditer(_CODE.sub(" ", message)):
        sign, quoted, quoted_lines, plain = match.groups()
        if sign not in signs:
            continue
        if mention := f"{quoted}{quoted_lines or ''}" if quoted else _trim(plain):
            mentions[mention] = None
    return list(mentions)


def parse_live(mention: str) -> LiveMention | None:
    """Return what a mention names in a notebook, None when it names nothing there."""
    if (match := _LIVE.fullmatch(mention)) is None:
        return None
    kind = match[1] or match[3] or match[5] or match[7]
    return LiveMention(kind, match[2] or match[4] or match[6] or "")


def split_mention(mention: str) -> tuple[str, int, int]:
    """Return the path, its first and its last line. The lines are 0 and 0 when all of it is meant."""
    match = _LINES.fullmatch(mention)
    if match is None or not 0 < int(match[2]) < 10**9:
        return mention, 0, 0
    start, end = int(match[2]), int(match[3] or match[2])
    return match[1], min(start, end), max(start, end)


def _trim(word: str) -> str:
    """Return a word without the punctuation of the sentence around it. Brackets that it opens are its own."""
    while word:
        last = word[-1]
        opening = _BRACKETS.get(last)
        if last not in ".,;:!?\"'`" and (opening is None or word.count(opening) >= word.count(last)):
            return word
        word = word[:-1]
    return ""
