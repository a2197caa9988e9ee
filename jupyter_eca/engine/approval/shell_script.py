"""Divides a command line into what the shell reads in different ways: its words, the commands whose output it uses, and
its here documents. Pure.

It must not know what a word stands for: its neighbour `shell_expansion` does. If it is not certain where a part ends,
`ScriptParts.is_certain` is False.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

UNKNOWN: Final = "\ue000"
"""Stands for any text. It is a character that has no meaning of its own."""
FIRST_OUTPUT: Final = 0xE001
"""The first of the characters that stand for the commands whose output is a part of a word."""
_MOST_OUTPUTS: Final = 4000
# Parts within parts within parts. Nobody writes more, and each level takes a level of Python's stack.
_MOST_LEVELS: Final = 20
# The longest `((…))` that is taken for a number.
_MOST_NUMBER: Final = 200

_DOCUMENT: Final = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?[\w.-]+))")
_ANSI_QUOTED: Final = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
# What stands in `((…))` if it is no command.
_NUMBER: Final = re.compile(r"\s*(?:[\w$+*/%<>=!&|?:,~^#{}\s-]|\((?:[\w$+*/%<>=!&|?:,~^#{}\s-])*\))*")
_CASE: Final = re.compile(r"\bcase\b")
_BACKQUOTED: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
# A comment begins behind one of these.
_BREAKS: Final = " \t\n;&|()"


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """A line, divided."""

    text: str
    """The line without its here documents and comments. A character stands for each command whose output is used."""
    outputs: tuple[str, ...] = ()
    """These commands, in the order of their characters."""
    inner: tuple[str, ...] = ()
    """The command lines within the line: those whose output is used, also within here documents."""
    documents: tuple[str, ...] = ()
    """The texts of the here documents."""
    is_certain: bool = True
    """Whether all of this was found."""


@dataclass(slots=True)
class _Scanner:
    line: str
    at: int = 0
    outputs: list[str] = field(default_factory=list[str])
    inner: list[str] = field(default_factory=list[str])
    documents: list[str] = field(default_factory=list[str])
    pending: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """The here documents that begin with the next line: their names, and whether their text is not expanded."""
    missing: set[str] = field(default_factory=set[str])
    """The names of here documents that do not end. To search for one again would take long."""
    commands: int = 0
    """The commands whose output is used that the place is in."""
    levels: int = 0
    """These commands and the `${…}` that the place is in."""
    is_certain: bool = True

    def scan(self, end: str = "", *, is_in_quotes: bool = False) -> str:
        """Return the text up to a character that ends it. `is_in_quotes`: it is within `"…"`, where `'` is a letter."""
        text: list[str] = []
        depth, is_quoted = 0, False
        while self.at < len(self.line):
            char = self.line[self.at]
            if char == end and not is_quoted and depth == 0:
                self.at += 1
                return "".join(text)
            if (taken := self._take_expansion(is_quoted=is_quoted or is_in_quotes)) is not None:
                text.append(taken)
            elif char == '"':
                is_quoted = not is_quoted
                text.append(self._take(1))
            elif is_quoted or (char == "'" and is_in_quotes):
                # A quoted text is one word, over all of its lines.
                text.append(self._take(1).replace("\n", " "))
            elif end != "}" and (taken := self._take_syntax("".join(text[-1:]))) is not None:
                text.append(taken)
            elif char == "'":
                text.append(self._take(max(self.line.find("'", self.at + 1) - self.at + 1, 1)).replace("\n", " "))
            else:
                depth += {"(": 1, ")": -1}.get(char, 0) if end == ")" else 0
                text.append(self._take(1))
        self.is_certain = self.is_certain and not end
        return "".join(text)

    def _take(self, count: int) -> str:
        text = self.line[self.at : self.at + count]
        self.at += count
        return text

    def _take_expansion(self, *, is_quoted: bool) -> str | None:
        """Take what the shell expands within quotes, too; None if nothing of this is here."""
        line, start = self.line, self.at
        if line[start] == "\\":
            return self._take(2)
        if line.startswith(("$((", "$["), start) and self._skip_number():
            return "0"
        if line.startswith("$(", start):
            return self._take_output()
        if line.startswith("${", start):
            return "${" + self._descend("}", is_in_quotes=is_quoted) + "}"
        if line[start] == "`":
            return self._take_backquoted()
        return None

    def _take_syntax(self, before: str) -> str | None:
        """Take a comment, a number, or the beginning or the text of a here document; None if none of these is here."""
        line, start = self.line, self.at
        if ansi := _ANSI_QUOTED.match(line, start):
            return self._take(len(ansi[0])).replace("\n", " ")
        if line[start] == "#" and not before.startswith("\\") and (not before or before[-1] in _BREAKS):
            end = line.find("\n", start)
            self.at = end if end >= 0 else len(line)
            return ""
        if line.startswith("((", start) and self._skip_number():
            return line[start : self.at]
        if line.startswith("<<<", start):
            return self._take(3)
        if found := _DOCUMENT.match(line, start):
            name = next(name for name in found.groups()[1:] if name)
            self.pending.append((name.lstrip("\\"), found[4] is None or name.startswith("\\")))
            self.at = found.end()
            return ""
        if line[start] == "\n" and self.pending:
            pending, self.pending = self.pending, []
            self.at += 1
            for name, is_literal in pending:
                self._take_document(name, is_literal=is_literal)
            return "\n"
        return None

    def _skip_number(self) -> bool:
        """Skip `((…))`, `$((…))` or `$[…]`, and return True. Do nothing if it may be a command."""
        begin, close = ("$[", "]") if self.line.startswith("$[", self.at) else ("((", "))")
        inside = self.line.index(begin, self.at) + len(begin)
        end = self.line.find(close, inside, inside + _MOST_NUMBER)
        while end >= 0 and self.line[end + 1 : end + 3] == "))":
            end += 1
        if end < 0 or "$(" in self.line[inside:end] or not _NUMBER.fullmatch(self.line, inside, end):
            return False
        self.at = end + len(close)
        return True

    def _descend(self, end: str, *, is_in_quotes: bool = False) -> str:
        """Take the text between two characters at the place and the one that ends it."""
        self.at += 2
        if self.levels >= _MOST_LEVELS:
            self.is_certain = False
            return UNKNOWN
        self.levels += 1
        text = self.scan(end, is_in_quotes=is_in_quotes)
        self.levels -= 1
        return text

    def _take_output(self) -> str:
        """Take `$(…)`, and return the character that stands for it."""
        start = self.at + 2
        self.commands += 1
        command = self._descend(")")
        self.commands -= 1
        if _CASE.search(self.line, start, self.at):
            self.is_certain = False  # `x)` does not end the command.
        return self._note_output(command, self.line[start : self.at - 1])

    def _take_backquoted(self) -> str:
        found = _BACKQUOTED.match(self.line, self.at)
        if found is None:
            return self._take(1)
        self.at = found.end()
        command = re.sub(r"\\([`$\\])", r"\1", found[1])
        return self._note_output(UNKNOWN if "$(" in command or "`" in command else command, command)

    def _note_output(self, command: str, written: str) -> str:
        if self.commands == 0:
            self.inner.append(written)
        if len(self.outputs) >= _MOST_OUTPUTS:
            return UNKNOWN
        self.outputs.append(command)
        return chr(FIRST_OUTPUT + len(self.outputs) - 1)

    def _take_document(self, name: str, *, is_literal: bool) -> None:
        pattern = re.compile(rf"^\t*{re.escape(name)}$", re.MULTILINE)
        found = None if name in self.missing else pattern.search(self.line, self.at)
        if found is None:
            # It is no here document that we understand, so its text counts as commands.
            self.missing.add(name)
            return
        body = self.line[self.at : found.start()]
        self.at = found.end()
        self.documents.append(body if is_literal else re.sub(r"\\([`$\\\n])", r"\1", body))
        if not is_literal and self.commands == 0:
            # Quotes, comments and here documents are ordinary text there.
            within = _Scanner(re.sub(r"['\"#]|<<", "", body))
            within.scan()
            self.inner += within.inner
            self.is_certain = self.is_certain and within.is_certain


def divide_script(line: str) -> ScriptParts:
    """Return the parts of a line."""
    scanner = _Scanner(line)
    text = scanner.scan()
    parts = (scanner.outputs, scanner.inner, scanner.documents)
    return ScriptParts(text, *map(tuple, parts), is_certain=scanner.is_certain)
