"""A shell line with places for arguments, filled so that an argument is never more than text where it stands.

The words of a custom tool's `command` are its author's, the arguments are a model's. What has to be done to one depends
on what is around its place: nothing, quotes of either kind, a here document. So the line is read once as a shell reads
it, and each place remembers which. It must not run the line: `host/tools` has the custom tools.

Ruled out: one way of quoting for all places, which breaks `"{{text}}"` and here documents; and variables of the
environment, which nothing puts into a quoted here document.
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

_PLACE: Final = re.compile(r"\{\{\s*(?P<name>[A-Za-z_][\w-]*)\s*\}\}")
_DELIMITER: Final = re.compile(r"[ \t]*(?P<word>'[\w.+-]+'|\"[\w.+-]+\"|\\?[\w.+-]+)(?=[\s;&|()<>]|$)")

# What may stand in a stretch that is passed over: nothing that could end it elsewhere than where it seems to end.
_SIMPLE: Final = re.compile(r"[^'\"\\`$(){}\n]*")


class Around(Enum):
    """What a place stands in."""

    NOTHING = auto()
    SINGLE = auto()
    DOUBLE = auto()
    ESCAPED = auto()  # $'...'
    DOCUMENT = auto()  # a here document in which variables are filled in
    RAW = auto()  # one in which they are not


@dataclass(frozen=True, slots=True)
class ArgumentPlace:
    """A place for an argument."""

    name: str
    """The argument."""
    around: Around
    """What it stands in."""
    line: int
    """Its line in the command, for error messages."""


@dataclass(frozen=True, slots=True)
class HereDocument:
    """A here document: no line of it may be its delimiter once it is filled in."""

    delimiter: str
    tabs: bool
    parts: tuple[str | ArgumentPlace, ...]


Part = str | ArgumentPlace | HereDocument


def parse(command: str, names: Collection[str]) -> tuple[Part, ...]:
    """Find the places of a command.

    `names` are those of arguments; anything else in double braces is the command's own.

    Raises: ValueError, with the line, where it cannot be told what a place stands in, or nothing is only text there.
    """
    known = frozenset(names)
    if not any(match["name"] in known for match in _PLACE.finditer(command)):
        return (command,)
    reader = _Reader(command, known)
    reader.plain("")
    return tuple(reader.parts)


def fill(parts: tuple[Part, ...], values: Mapping[str, Any]) -> str:
    """Return the command with its arguments. A place without a value becomes empty.

    Raises: ValueError for a value that cannot stand in its place.
    """
    return "".join(_fill_part(part, values) for part in parts)


def _fill_part(part: Part, values: Mapping[str, Any]) -> str:
    match part:
        case str():
            return part
        case ArgumentPlace():
            return _quote(values[part.name], part.around) if values.get(part.name) is not None else ""
        case HereDocument():
            body = "".join(_fill_part(inner, values) for inner in part.parts)
            joined = (body, body.replace("\\\n", ""))
            lines = [line.lstrip("\t") if part.tabs else line for text in joined for line in text.split("\n")]
            if part.delimiter in lines:
                raise ValueError(f"no line of an argument may be {part.delimiter!r}")
            return body


def _quote(value: Any, quoting: Around) -> str:
    if isinstance(value, list) and quoting is Around.NOTHING:
        return " ".join(_quote(item, quoting) for item in cast("list[Any]", value))
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if "\0" in text:
        raise ValueError("an argument may not hold a NUL character")
    match quoting:
        case Around.NOTHING:
            return shlex.quote(text)
        case Around.SINGLE:
            return text.replace("'", "'\\''")
        case Around.DOUBLE:
            return re.sub(r'([\\$"`])', r"\\\1", text)
        case Around.ESCAPED:
            return re.sub(r"([\\'])", r"\\\1", text)
        case Around.DOCUMENT:
            return re.sub(r"([\\$`])", r"\\\1", text)
        case Around.RAW:
            return text


@dataclass
class _Reader:
    text: str
    names: frozenset[str]
    at: int = 0
    parts: list[Part] = field(default_factory=list["Part"])
    _waiting: list[tuple[str, bool, bool]] = field(default_factory=list[tuple[str, bool, bool]])

    def plain(self, end: str) -> None:
        """Read what is outside of quotes, to the `end` of a substitution or of the text."""
        while self.at < len(self.text):
            if self._place(Around.NOTHING) or self._dollar():
                continue
            char = self._take()
            if char == end:
                return
            match char:
                case "\\":
                    self._take()
                case "'":
                    self._until("'", Around.SINGLE)
                case '"':
                    self._double('"')
                case "`":
                    self._skip_to("`", "backquotes")
                case "(":
                    self._inside()
                case "#" if self.at < 2 or self.text[self.at - 2] in " \t\n;&|()<>":
                    self._comment()
                case "<" if self.text.startswith("<<", self.at):
                    self._take(2)  # a here string: what follows is a word
                case "<" if self.text.startswith("<", self.at):
                    self._take()
                    self._delimiter()
                case "\n":
                    self._documents()
                case _:
                    pass

    def _take(self, count: int = 1) -> str:
        text = self.text[self.at : self.at + count]
        self.at += count
        self.parts.append(text)
        return text

    def _place(self, quoting: Around) -> bool:
        match = _PLACE.match(self.text, self.at)
        if match is None or match["name"] not in self.names:
            return False
        self.parts.append(ArgumentPlace(match["name"], quoting, self._line))
        self.at = match.end()
        return True

    @property
    def _line(self) -> int:
        return self.text.count("\n", 0, self.at) + 1

    def _dollar(self) -> bool:
        """Read what a `$` begins, in and out of double quotes."""
        rest = self.text[self.at : self.at + 3]
        if rest == "$((":
            self._take(3)
            self._skip_to("))", "arithmetic")
        elif rest.startswith("$("):
            self._take(2)
            self._inside()
        elif rest.startswith("${"):
            self._take(2)
            self._skip_to("}", "the expansion of a variable")
        elif rest.startswith("$'"):
            self._take(2)
            self._until("'", Around.ESCAPED)
        else:
            return False
        return True

    def _until(self, end: str, quoting: Around) -> None:
        while self.at < len(self.text):
            if self._place(quoting):
                continue
            char = self._take()
            if char == end:
                return
            if char == "\\" and quoting is Around.ESCAPED:
                self._take()

    def _double(self, end: str) -> None:
        while self.at < len(self.text):
            if self._place(Around.DOUBLE) or (not self.text.startswith("$'", self.at) and self._dollar()):
                continue
            char = self._take()
            if char == end:
                return
            if char == "\\":
                self._take()
            elif char == "`":
                self._skip_to("`", "backquotes")

    def _inside(self) -> None:
        """Read parentheses. The patterns of a `case` have one that closes nothing."""
        begin = self.at
        self.plain(")")
        if re.search(r"\bcase\b", self.text[begin : self.at]):
            raise self._unclear("a case in parentheses")

    def _skip_to(self, end: str, construct: str) -> None:
        """Pass over a stretch without places."""
        stop = self.text.find(end, self.at)
        if stop < 0 or not _SIMPLE.fullmatch(self.text, self.at, stop):
            raise self._unclear(construct)
        self._take(stop - self.at + len(end))

    def _comment(self) -> None:
        end = self.text.find("\n", self.at)
        end = len(self.text) if end < 0 else end
        if any(match["name"] in self.names for match in _PLACE.finditer(self.text, self.at, end)):
            raise self._unclear("a comment")
        self._take(end - self.at)

    def _unclear(self, construct: str) -> ValueError:
        return ValueError(f"{construct} cannot have arguments in or near it (line {self._line} of the command)")

    def _delimiter(self) -> None:
        tabs = self.text.startswith("-", self.at)
        if tabs:
            self._take()
        match = _DELIMITER.match(self.text, self.at)
        if match is None:
            raise self._unclear("a here document without a plain delimiter")
        word = match["word"]
        self._take(match.end() - self.at)
        self._waiting.append((word.strip("'\"\\"), word[0] in "'\"\\", tabs))

    def _documents(self) -> None:
        waiting, self._waiting = self._waiting, []
        for delimiter, raw, tabs in waiting:
            pattern = rf"^{chr(9) + '*' if tabs else ''}{re.escape(delimiter)}$"
            match = re.compile(pattern, re.MULTILINE).search(self.text, self.at)
            if match is None:
                raise self._unclear("a here document without an end")
            stop = match.start()
            inside = _Reader(self.text[:stop], self.names, self.at)
            inside.document(raw=raw)
            without_documents = [part for part in inside.parts if not isinstance(part, HereDocument)]
            self.parts.append(HereDocument(delimiter, tabs, tuple(without_documents)))
            self.at = stop
            self._take(match.end() - stop)

    def document(self, *, raw: bool) -> None:
        while self.at < len(self.text):
            if self._place(Around.RAW if raw else Around.DOCUMENT):
                continue
            if not raw and self.text[self.at] == "$" and self.text[self.at + 1 : self.at + 2] in {"(", "{"}:
                self._skip_to(")" if self.text[self.at + 1] == "(" else "}", "a substitution")
                continue
            char = self._take()
            if char == "\\" and not raw:
                self._take()
            elif char == "`" and not raw:
                self._skip_to("`", "backquotes")
