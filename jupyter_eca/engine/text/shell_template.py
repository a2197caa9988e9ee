"""Fills arguments into a shell command in such a way that the shell takes each argument as text and never runs it.

    grep {{word}} notes.txt    with  word = "a; rm b"    ->    grep 'a; rm b' notes.txt

It is for custom tools: the user writes the `command` of a tool, and a model writes the arguments. This module must not
run the command: its neighbour `plugins/tools/configured/custom` does.

How an argument must be quoted depends on what is around its place `{{name}}`: nothing, single or double quotes, or a
here document (the lines after `cat <<END`, up to a line `END`). So `parse` reads the line once as a shell would, and
stores with each place what is around it. `fill` then quotes each argument for its place.

Ruled out: one way of quoting for all places, which breaks `"{{text}}"` and here documents; and environment variables,
which the shell does not expand in a quoted here document.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, cast

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

# A place for an argument, and the word after `<<` that ends a here document.
PLACE: Final = re.compile(r"\{\{\s*(?P<name>[A-Za-z_][\w-]*)\s*\}\}")
_DELIMITER: Final = re.compile(r"[ \t]*(?P<word>'[\w.+-]+'|\"[\w.+-]+\"|\\?[\w.+-]+)(?=[\s;&|()<>]|$)")

# The text that may be in a construct that is skipped, such as `$((...))`. The text has no character that could move the
# end of the construct.
_SIMPLE: Final = re.compile(r"[^'\"\\`$(){}\n]*")


class Quoting(Enum):
    """What is around a place for an argument."""

    NOTHING = auto()
    SINGLE = auto()  # '...'
    DOUBLE = auto()  # "..."
    ESCAPED = auto()  # $'...'
    DOCUMENT = auto()  # a here document in which the shell expands variables
    RAW = auto()  # a here document in which it does not


@dataclass(frozen=True, slots=True)
class ArgumentPlace:
    """A place for an argument."""

    name: str
    """The name of the argument."""
    quoting: Quoting
    """What is around the place."""
    line: int
    """The line of the place in the command, for error messages."""


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here document. When it is filled, no line of it may equal its delimiter, which would end it too early."""

    delimiter: str
    """The word that ends the document."""
    strips_tabs: bool
    """Whether tabs at the beginning of a line are ignored (`<<-`)."""
    parts: tuple[str | ArgumentPlace, ...]
    """The text and the places of the document, in order."""


Part = str | ArgumentPlace | HereDocument


def parse(command: str, names: Collection[str]) -> tuple[Part, ...]:
    """Split a command into its texts and its places for arguments.

    `names` are the names of the arguments. Another name in double braces is not a place, but text of the command.

    Raises: ValueError when a place is in a construct where no text is safe, or whose end is uncertain. The message
    names the line.
    """
    known = frozenset(names)
    if not any(match["name"] in known for match in PLACE.finditer(command)):
        return (command,)
    reader = _Reader(command, known)
    reader.read_plain("")
    return tuple(reader.parts)


def fill(parts: tuple[Part, ...], values: Mapping[str, Any]) -> str:
    """Return the command with its arguments filled in. A place without a value becomes empty.

    Raises: ValueError when a value is not possible at its place.
    """
    return "".join(_fill_part(part, values) for part in parts)


def _fill_part(part: Part, values: Mapping[str, Any]) -> str:
    """Return one part of the command with its arguments filled in. Raises: ValueError, see `fill`."""
    match part:
        case str():
            return part
        case ArgumentPlace():
            return _quote(values[part.name], part.quoting) if values.get(part.name) is not None else ""
        case HereDocument():
            body = "".join(_fill_part(inner, values) for inner in part.parts)
            # The shell joins lines that end with a backslash, before it looks for the delimiter.
            joined = (body, body.replace("\\\n", ""))
            lines = [line.lstrip("\t") if part.strips_tabs else line for text in joined for line in text.split("\n")]
            if part.delimiter in lines:
                raise ValueError(f"no line of an argument may be {part.delimiter!r}")
            return body


def _quote(value: Any, quoting: Quoting) -> str:
    """Return a value as text that the shell takes literally at such a place. A value that is not a text becomes JSON; a
    list outside of quotes becomes several words."""
    if isinstance(value, list) and quoting is Quoting.NOTHING:
        return " ".join(_quote(item, quoting) for item in cast("list[Any]", value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\0" in text:
        raise ValueError("an argument may not hold a NUL character")
    match quoting:
        case Quoting.NOTHING:
            return shlex.quote(text)
        case Quoting.SINGLE:
            return text.replace("'", "'\\''")
        case Quoting.DOUBLE:
            return re.sub(r'([\\$"`])', r"\\\1", text)
        case Quoting.ESCAPED:
            return re.sub(r"([\\'])", r"\\\1", text)
        case Quoting.DOCUMENT:
            return re.sub(r"([\\$`])", r"\\\1", text)
        case Quoting.RAW:
            return text


@dataclass
class _Reader:
    """Reads a command as a shell would. Each method reads one construct, beginning at the current position."""

    text: str
    """The command."""
    names: frozenset[str]
    """The names of the arguments."""
    position: int = 0
    """The current position in the text."""
    parts: list[Part] = field(default_factory=list["Part"])
    """The texts and places that have been read."""
    _waiting: list[tuple[str, bool, bool]] = field(default_factory=list[tuple[str, bool, bool]])
    """The here documents that begin after the current line. Of each: its delimiter, whether the shell expands nothing
    in it, and whether tabs at the beginning of its lines are ignored."""

    def read_plain(self, end: str) -> None:
        """Read text outside of quotes, up to the character `end`, or to the end of the text if `end` is empty."""
        while self.position < len(self.text):
            if self._read_place(Quoting.NOTHING) or self._read_dollar():
                continue
            char = self._copy()
            if char == end:
                return
            match char:
                case "\\":
                    self._copy()
                case "'":
                    self._read_until("'", Quoting.SINGLE)
                case '"':
                    self._read_double_quotes('"')
                case "`":
                    self._skip_to("`", "backquotes")
                case "(":
                    self._read_parentheses()
                # A comment begins only at the beginning of a word.
                case "#" if self.position < 2 or self.text[self.position - 2] in " \t\n;&|()<>":
                    self._skip_comment()
                case "<" if self.text.startswith("<<", self.position):
                    self._copy(2)  # a here string: a word follows, as anywhere else
                # A here document: `<<END`.
                case "<" if self.text.startswith("<", self.position):
                    self._copy()
                    self._read_delimiter()
                case "\n":
                    self._read_documents()
                case _:
                    pass

    def _copy(self, count: int = 1) -> str:
        """Copy the next characters to the parts as they are, and return them."""
        text = self.text[self.position : self.position + count]
        self.position += count
        self.parts.append(text)
        return text

    def _read_place(self, quoting: Quoting) -> bool:
        """Read a place for an argument. Return False when there is none at the current position."""
        match = PLACE.match(self.text, self.position)
        if match is None or match["name"] not in self.names:
            return False
        self.parts.append(ArgumentPlace(match["name"], quoting, self._line))
        self.position = match.end()
        return True

    @property
    def _line(self) -> int:
        """The line of the current position, from 1."""
        return self.text.count("\n", 0, self.position) + 1

    def _read_dollar(self) -> bool:
        """Read a construct that begins with `$`, in or outside of double quotes. Return False when there is none."""
        ahead = self.text[self.position : self.position + 3]
        if ahead == "$((":
            self._copy(3)
            self._skip_to("))", "arithmetic")
        elif ahead.startswith("$("):
            self._copy(2)
            self._read_parentheses()
        elif ahead.startswith("${"):
            self._copy(2)
            self._skip_to("}", "the expansion of a variable")
        elif ahead.startswith("$'"):
            self._copy(2)
            self._read_until("'", Quoting.ESCAPED)
        else:
            return False
        return True

    def _read_until(self, end: str, quoting: Quoting) -> None:
        """Read text in `'...'` or `$'...'`, up to the character `end`."""
        while self.position < len(self.text):
            if self._read_place(quoting):
                continue
            char = self._copy()
            if char == end:
                return
            if char == "\\" and quoting is Quoting.ESCAPED:
                self._copy()

    def _read_double_quotes(self, end: str) -> None:
        """Read text in double quotes, in which the shell still expands `$` and backquotes."""
        while self.position < len(self.text):
            if self._read_place(Quoting.DOUBLE) or (
                not self.text.startswith("$'", self.position) and self._read_dollar()
            ):
                continue
            char = self._copy()
            if char == end:
                return
            if char == "\\":
                self._copy()
            elif char == "`":
                self._skip_to("`", "backquotes")

    def _read_parentheses(self) -> None:
        """Read up to the closing parenthesis. Refuse a `case`, whose patterns have closing parentheses of their own."""
        begin = self.position
        self.read_plain(")")
        if re.search(r"\bcase\b", self.text[begin : self.position]):
            raise self._make_error("a case in parentheses")

    def _skip_to(self, end: str, construct: str) -> None:
        """Copy a construct up to its end. It may contain only simple text and no places. `construct` is the name of the
        construct for an error message."""
        stop = self.text.find(end, self.position)
        if stop < 0 or not _SIMPLE.fullmatch(self.text, self.position, stop):
            raise self._make_error(construct)
        self._copy(stop - self.position + len(end))

    def _skip_comment(self) -> None:
        """Copy a comment. It may contain no places."""
        end = self.text.find("\n", self.position)
        end = len(self.text) if end < 0 else end
        if any(match["name"] in self.names for match in PLACE.finditer(self.text, self.position, end)):
            raise self._make_error("a comment")
        self._copy(end - self.position)

    def _make_error(self, construct: str) -> ValueError:
        """Return the error for a construct in which no argument is safe, or whose end is uncertain."""
        return ValueError(f"{construct} cannot have arguments in or near it (line {self._line} of the command)")

    def _read_delimiter(self) -> None:
        """Read the word after `<<`. Its here document begins after the current line."""
        tabs = self.text.startswith("-", self.position)
        if tabs:
            self._copy()
        match = _DELIMITER.match(self.text, self.position)
        if match is None:
            raise self._make_error("a here document without a plain delimiter")
        word = match["word"]
        self._copy(match.end() - self.position)
        self._waiting.append((word.strip("'\"\\"), word[0] in "'\"\\", tabs))

    def _read_documents(self) -> None:
        """Read the here documents that begin after the current line."""
        waiting, self._waiting = self._waiting, []
        for delimiter, raw, tabs in waiting:
            # `chr(9)` is a tab.
            pattern = rf"^{chr(9) + '*' if tabs else ''}{re.escape(delimiter)}$"
            match = re.compile(pattern, re.MULTILINE).search(self.text, self.position)
            if match is None:
                raise self._make_error("a here document without an end")
            stop = match.start()
            inside = _Reader(self.text[:stop], self.names, self.position)
            inside.read_document(raw=raw)
            without_documents = [part for part in inside.parts if not isinstance(part, HereDocument)]
            self.parts.append(HereDocument(delimiter, tabs, tuple(without_documents)))
            self.position = stop
            self._copy(match.end() - stop)

    def read_document(self, *, raw: bool) -> None:
        """Read the text of a here document. If it is `raw`, the shell expands nothing in it."""
        while self.position < len(self.text):
            if self._read_place(Quoting.RAW if raw else Quoting.DOCUMENT):
                continue
            ahead = self.text[self.position : self.position + 2]
            if not raw and ahead in {"$(", "${"}:
                self._copy(2)
                self._skip_to(")" if ahead == "$(" else "}", "a substitution")
                continue
            char = self._copy()
            if char == "\\" and not raw:
                self._copy()
            elif char == "`" and not raw:
                self._skip_to("`", "backquotes")
