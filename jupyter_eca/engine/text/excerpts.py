"""Owns the excerpt of a message that a search has found: the sentence with the words of the query.

It must not know how the message was found: `host.store.message_index` does that.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

# The end of a line, or the end of a sentence: a mark that a space follows. No space follows the marks of Chinese and
# Japanese.
_SENTENCE_END: Final = re.compile(r"\n+|(?<=[.!?…])\s+|(?<=[。\uff01\uff1f])")

# Marks of Markdown at the beginning of a line: a heading, a list, a quote, a table or a fence.
_MARKS: Final = re.compile(r"^(?:[#>*+|-]+\s+|\d+\.\s+|`{3,}\w*)+")

# Marks of Markdown around words: strong text, emphasis, code and links. The group is the text between them. A name such
# as `__init__` or `a_b_c` and a product `2*3*4` have no marks.
_SPAN_MARKS: Final = re.compile(
    r"(?<![\w*])\*{1,3}(?=[^\s*])(.+?)(?<=[^\s*])\*{1,3}(?![\w*])|`+([^`]+)`+|!?\[([^\]]+)\]\([^()\s]*\)"
)

# This fits on two lines of a narrow panel.
MAX_EXCERPT_CHARS: Final = 140


def split_query(query: str) -> list[str]:
    """Return the words of a query, case-folded."""
    return query.casefold().split()


def find_excerpt(text: str, words: Sequence[str]) -> str | None:
    """Return the sentence of a text that contains the most of the words, cut around the first of them. None if the text
    does not contain all of them. `words` are case-folded."""
    folded = text.casefold()
    if not all(word in folded for word in words):
        return None
    sentences = [_MARKS.sub("", sentence.strip()) for sentence in _SENTENCE_END.split(text)]
    best = max(sentences, key=lambda sentence: sum(word in sentence.casefold() for word in words))
    line = " ".join(best.split())
    plain = _remove_span_marks(line)
    # The user may have searched for the address of a link, or for the marks themselves.
    has_all = all(word in plain.casefold() for word in words if word in line.casefold())
    return _cut_sentence(plain if has_all else line, words)


def _remove_span_marks(line: str) -> str:
    """Return a line without the marks of Markdown around words."""
    return _SPAN_MARKS.sub(lambda match: next(filter(None, match.groups()), ""), line)


def _cut_sentence(sentence: str, words: Sequence[str]) -> str:
    """Cut a long sentence so that the first of the words is about a third into the excerpt. `…` marks each cut."""
    if len(sentence) <= MAX_EXCERPT_CHARS:
        return sentence
    folded = sentence.casefold()
    first_match = min((place for word in words if (place := folded.find(word)) >= 0), default=0)
    start = max(0, min(first_match - MAX_EXCERPT_CHARS // 3, len(sentence) - MAX_EXCERPT_CHARS))
    end = start + MAX_EXCERPT_CHARS
    return ("…" if start else "") + sentence[start:end].strip() + ("…" if end < len(sentence) else "")
