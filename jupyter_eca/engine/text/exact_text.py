r"""Converts a text of a model, a tool or a server so that no character in it can deceive the reader. Pure.

A user who approves a command, a path or a change must see every character of it. But a terminal obeys some characters
instead of drawing them. Other characters have no width, look like a space, or change the writing direction. And a
letter of another alphabet can look like a Latin letter. `as_exact_text` replaces all of these by their code points, for
example `rm\u202e`.

`labextension/src/render/format.ts` does the same in the page. `tests/fixtures/exact_texts.json` tests both.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

# Control and format characters, separators except the space, halves of surrogate pairs, private and ignorable
# characters. In the last line: characters that look like a space, a slash or a semicolon.
_HIDDEN: Final = (
    "\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u115f\u1160\u1680\u17b4\u17b5"
    "\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ud800-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U0010ffff"
    "\u2800\u2044\u2215\u29f8\uff0f\u037e"
)
# Emoji and similar pictures.
_PICTOGRAPHS: Final = "\xa9\xae\u203c-\u3299\U0001f000-\U0001faff"
# Letters of scripts that need joiners: Arabic, Syriac, the scripts of India and its neighbours, Mongolian.
_JOINED: Final = "\u0620-\u06dc\u06de-\u070e\u0710-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u180a\u1810-\u18af"
# Finds the hidden characters (the group `hidden`). The other alternatives match the invisible characters that a script
# or an emoji needs (joiners and selectors), so that they are kept.
_HIDDEN_OR_NEEDED: Final = re.compile(
    rf"(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    rf"|(?<=[{_PICTOGRAPHS}\ufe0f])\u200d(?=[{_PICTOGRAPHS}])"
    rf"|(?<=[{_PICTOGRAPHS}])\ufe0f|\ufe0f(?=\u20e3)"
    rf"|(?P<hidden>[{_HIDDEN}])"
)
# Letters that may look like Latin letters: Cyrillic, Armenian, Cherokee, and some Greek letters.
_LOOKALIKE: Final = re.compile(
    "[\u0400-\u052f\u0531-\u0587\u13a0-\u13fd\uab70-\uabbf\u0391\u0392\u0395-\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4"
    "\u03a5\u03a7\u03bf]"
)
_WORD: Final = re.compile(r"\w+")
_LATIN: Final = re.compile("[A-Za-z]")
# Four or more empty lines: so many could move the end of a command out of sight.
_EMPTY_LINES: Final = re.compile(r"(?<=\n)(?:[ \t]*\n){4,}")
# Characters that a terminal obeys instead of drawing them, or that change the writing direction.
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def as_exact_text(text: str) -> str:
    """Return the text with the code point in place of each character that is not drawn, or looks like another."""
    return _replace_deceptive(text.replace("\r\n", "\n"), _format_code_point)


def as_exact_json(value: Any) -> str:
    """Return the value as JSON that shows all of its characters, and is read as the same value."""
    return _replace_deceptive(json.dumps(value, ensure_ascii=False), lambda character: json.dumps(character)[1:-1])


def as_terminal_text(text: str) -> str:
    """Return the exact text for a terminal. A long run of empty lines becomes one line with their number."""
    return _EMPTY_LINES.sub(lambda found: f"... {found[0].count(chr(10))} empty lines ...\n", as_exact_text(text))


def drop_control_characters(text: str) -> str:
    """Return the text without the characters that a terminal obeys. It is for texts that nobody approves."""
    return _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))


def _replace_deceptive(text: str, escape: Callable[[str], str]) -> str:
    r"""Replace each character that is not drawn, or looks like another, by its escape: `escape("\u202e")`.

    A letter that looks like a Latin letter is replaced only in a word that also has a Latin letter.
    """

    def escape_hidden(found: re.Match[str]) -> str:
        """Return the escape of a hidden character; an invisible character that is needed stays."""
        return escape(found[0]) if found["hidden"] else found[0]

    def escape_lookalikes(word: re.Match[str]) -> str:
        """Return a word with the escape in place of each letter that looks like a Latin one, if it also has a Latin
        letter."""
        return _LOOKALIKE.sub(lambda found: escape(found[0]), word[0]) if _LATIN.search(word[0]) else word[0]

    return _WORD.sub(escape_lookalikes, _HIDDEN_OR_NEEDED.sub(escape_hidden, text))


def _format_code_point(character: str) -> str:
    r"""Return the escape of a character as text: `\u202e`, or `\u{1f600}` above U+FFFF."""
    number = ord(character)
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\u{{{number:x}}}"
