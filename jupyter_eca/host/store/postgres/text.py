"""Stores the character NUL in PostgreSQL, whose texts cannot contain it. Pure.

It is replaced by two other characters, of which the first is for private use. If that one is in a text itself, it is
replaced too, so every text is read back as it was.
"""

from __future__ import annotations

import re
from typing import Final

_MARK: Final = "\ue000"
_MARK_NUL: Final = f"{_MARK}0"
_MARK_ITSELF: Final = f"{_MARK}1"
_MARKED: Final = re.compile(f"{_MARK}[01]")


def escape(text: str) -> str:
    """Return a text without NUL."""
    if _MARK in text:
        text = text.replace(_MARK, _MARK_ITSELF)
    return text.replace("\0", _MARK_NUL) if "\0" in text else text


def unescape(text: str) -> str:
    """Return the text that `escape` was given."""
    if _MARK not in text:
        return text
    return _MARKED.sub(lambda found: "\0" if found[0] == _MARK_NUL else _MARK, text)
