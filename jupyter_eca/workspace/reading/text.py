"""Decodes bytes as text, and shortens the text of a context for a model. It must not know files. The results of tools
are shortened elsewhere: see `head_and_tail.py`."""

from __future__ import annotations

import codecs
from contextlib import suppress
from typing import Final

# The size of the largest context, which is a text that is sent with the user's prompt. ECA has the same limit (its
# requirement 3.9). A longer text costs more than it helps, and the model can read the rest with tools.
MAX_LINES: Final = 2000
MAX_CHARACTERS: Final = 50_000

# The byte order marks, each with the encoding that it means. UTF-32 comes before UTF-16, because its mark may begin
# with the mark of UTF-16.
_BYTE_ORDER_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decode(data: bytes) -> str | None:
    """Decode bytes; return None when they are not text. A byte order mark decides the encoding. Without one, the bytes
    are read as UTF-8, and if they are not valid UTF-8, as Western European (cp1252), the next most common encoding."""
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            with suppress(UnicodeDecodeError):
                return _unify_line_ends(data.decode(encoding))
            return None
    if b"\0" in data:
        return None
    try:
        return _unify_line_ends(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        # The data may have been cut in the middle of a character.
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":
            return _unify_line_ends(data[: error.start].decode("utf-8"))
    with suppress(UnicodeDecodeError):
        return _unify_line_ends(data.decode("cp1252"))
    return None


def _unify_line_ends(text: str) -> str:
    """Return the text with `\\n` at the end of each line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def truncate(text: str, first: int = 1, total: int | None = None) -> str:
    """Return the beginning of a text. If this is not the whole text, a first line is added that says which part it is:
    `[lines 1-2000 of 3500]`.

    When `text` is itself a part of a longer text, `first` is the number of its first line, and `total` the number of
    lines of the longer text.
    """
    lines = text.split("\n")
    if lines[-1] == "":  # behind the last line break
        lines.pop()
    total = first - 1 + len(lines) if total is None else total
    fitting = lines[: _count_fitting(lines)]
    if len(fitting) == total:
        return text
    if not fitting and lines:
        cut = len(lines[0]) - MAX_CHARACTERS
        fitting = [f"{lines[0][:MAX_CHARACTERS]} [{cut} characters of this line left out]"]
    body = "\n".join(fitting)
    return f"[lines {first}-{first + len(fitting) - 1} of {total}]\n{body}"


def _count_fitting(lines: list[str]) -> int:
    """Return how many of the lines fit into the limits."""
    room = MAX_CHARACTERS
    for count, line in enumerate(lines[:MAX_LINES]):
        room -= len(line) + 1
        if room < 0:
            return count
    return min(len(lines), MAX_LINES)
