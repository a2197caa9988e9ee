"""Divides a shell script, such as a command line, into its text, the commands whose output it uses (`$(ls)`), and its
here documents. Pure.

A *here document* is a text that a command reads from the lines below it: `cat <<END`, then the text, then `END`.

    cp $(cat list) b; cat <<END    ->    text: "cp \\ue001 b; cat "
    hello                                output_commands: ("cat list",)
    END                                  documents: ("hello\\n",)

This module is for scripts that `shell_parser` does not understand. If it is not certain where a part ends, `is_certain`
is False. The neighbour `shell_expansion` replaces variables by their values.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

UNKNOWN: Final = "\ue000"
"""Stands for a text that is not known. Unicode gives no meaning to this character."""
FIRST_OUTPUT: Final = 0xE001
"""The code of the character that stands for the output of the first command. The output of the second has the next."""
# There are 6,399 such characters, up to U+F8FF.
_MAX_OUTPUTS: Final = 4000
# How deep `$(…)` and `${…}` may be nested. Nobody writes more, and each level takes a level of Python's stack.
_MAX_LEVELS: Final = 20
# The longest `((…))` that counts as an arithmetic expression.
_MAX_ARITHMETIC_CHARS: Final = 200

# `<<END`, `<<-END`, `<<'END'`, `<<"END"`. The last three groups are the name, in its three forms.
_DOCUMENT_START: Final = re.compile(r"<<(-?)[ \t]*(?:'([^'\n]+)'|\"([^\"\n]+)\"|(\\?[\w.-]+))")
# `$'a\n'`
_ANSI_QUOTED: Final = re.compile(r"\$'(?:[^'\\]|\\.)*'", re.DOTALL)
# What may be in `((…))` if it is an arithmetic expression. Two parentheses may also begin commands.
_ARITHMETIC: Final = re.compile(r"\s*(?:[\w$+*/%<>=!&|?:,~^#{}\s-]|\((?:[\w$+*/%<>=!&|?:,~^#{}\s-])*\))*")
# The word that begins a `case` of the shell.
_CASE: Final = re.compile(r"\bcase\b")
# A command in backquotes. The group is the command.
_BACKQUOTED: Final = re.compile(r"`((?:[^`\\]|\\.)*)`", re.DOTALL)
# A `#` begins a comment only at the start of the line, or after one of these characters.
_BEFORE_COMMENT: Final = " \t\n;&|()"


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """The parts of a script."""

    text: str
    """The script without its here documents and comments. A character stands for each command whose output is used."""
    output_commands: tuple[str, ...] = ()
    """The commands whose output is used, in the order of their characters. In place of the commands within it, a
    command has such characters itself. With them, the words of `text` are computed."""
    written_commands: tuple[str, ...] = ()
    """The outermost commands whose output is used, exactly as they are written, with the commands within them. Those in
    here documents are here too, but not in `output_commands`. The caller examines each as a script of its own."""
    documents: tuple[str, ...] = ()
    """The texts of the here documents."""
    is_certain: bool = True
    """Whether all parts were found."""


@dataclass(slots=True)
class _Scanner:
    """Reads a script from left to right and collects its parts: the fields of `ScriptParts` with the same names."""

    script: str
    """The whole script, which may have several lines."""
    position: int = 0
    """The index of the next character to read."""
    output_commands: list[str] = field(default_factory=list[str])
    written_commands: list[str] = field(default_factory=list[str])
    documents: list[str] = field(default_factory=list[str])
    pending: list[tuple[str, bool]] = field(default_factory=list[tuple[str, bool]])
    """The here documents that begin on the next line. Of each, its name, and whether the shell leaves its text as it is
    (`<<'END'`)."""
    endless: set[str] = field(default_factory=set[str])
    """The names of here documents whose end was not found. Searching for it again would take too long."""
    command_depth: int = 0
    """How many `$(…)` are open at `position`."""
    nesting_depth: int = 0
    """How many `$(…)` and `${…}` are open at `position`."""
    is_certain: bool = True

    def scan(self, end: str = "", *, is_in_quotes: bool = False) -> str:
        """Read up to the character `end`, and return the text. An empty `end` is the end of the script.

        `is_in_quotes` says whether the text is within `"…"`, where `'` is an ordinary character.
        """
        text: list[str] = []
        depth, is_quoted = 0, False  # how many parentheses are open, and whether this is within `"…"`
        while self.position < len(self.script):
            char = self.script[self.position]
            if char == end and not is_quoted and depth == 0:
                self.position += 1
                return "".join(text)
            if (taken := self._take_expansion(is_quoted=is_quoted or is_in_quotes)) is not None:
                text.append(taken)
            elif char == '"':
                is_quoted = not is_quoted
                text.append(self._take(1))
            elif is_quoted or (char == "'" and is_in_quotes):
                # A quoted text is one word, even if it has several lines.
                text.append(self._take(1).replace("\n", " "))
            # In `${…}` there are no comments and here documents.
            elif end != "}" and (taken := self._take_syntax("".join(text[-1:]))) is not None:
                text.append(taken)
            elif char == "'":
                # A text in single quotes, up to its end. A quote without an end is an ordinary character.
                text.append(
                    self._take(max(self.script.find("'", self.position + 1) - self.position + 1, 1)).replace("\n", " ")
                )
            else:
                depth += {"(": 1, ")": -1}.get(char, 0) if end == ")" else 0
                text.append(self._take(1))
        self.is_certain = self.is_certain and not end
        return "".join(text)

    def _take(self, count: int) -> str:
        """Read some characters, and return them."""
        text = self.script[self.position : self.position + count]
        self.position += count
        return text

    def _take_expansion(self, *, is_quoted: bool) -> str | None:
        """Read what the shell replaces even in `"…"`: an escape, an arithmetic expression (`$((1 + 2))`),
        `$(…)`, `${…}` or a text in backquotes.

        `is_quoted` says whether this is within `"…"`. Returns the text that stands for what was read; None, without
        reading, if there is none of them at this place.
        """
        script, start = self.script, self.position
        if script[start] == "\\":
            return self._take(2)
        if script.startswith(("$((", "$["), start) and self._skip_arithmetic():
            return "0"
        if script.startswith("$(", start):
            return self._take_output()
        if script.startswith("${", start):
            return "${" + self._take_nested("}", is_in_quotes=is_quoted) + "}"
        if script[start] == "`":
            return self._take_backquoted()
        return None

    def _take_syntax(self, before: str) -> str | None:
        """Read what has a meaning only outside of quotes: a comment, an arithmetic expression (`((i = 1))`),
        `$'…'`, or a part of a here document.

        `before` is the text read last. Returns the text that stands for it; None, without reading, if there is none of
        them at this place.
        """
        script, start = self.script, self.position
        if ansi := _ANSI_QUOTED.match(script, start):
            return self._take(len(ansi[0])).replace("\n", " ")
        if script[start] == "#" and not before.startswith("\\") and (not before or before[-1] in _BEFORE_COMMENT):
            end = script.find("\n", start)
            self.position = end if end >= 0 else len(script)
            return ""
        if script.startswith("((", start) and self._skip_arithmetic():
            return script[start : self.position]
        if script.startswith("<<<", start):
            return self._take(3)
        if found := _DOCUMENT_START.match(script, start):
            # If the name is in quotes or has a backslash, the shell replaces nothing in the text.
            name = next(name for name in found.groups()[1:] if name)
            self.pending.append((name.lstrip("\\"), found[4] is None or name.startswith("\\")))
            self.position = found.end()
            return ""
        if script[start] == "\n" and self.pending:
            pending, self.pending = self.pending, []
            self.position += 1
            for name, is_literal in pending:
                self._take_document(name, is_literal=is_literal)
            return "\n"
        return None

    def _skip_arithmetic(self) -> bool:
        """Skip an arithmetic expression: `((…))`, `$((…))` or `$[…]`. Return True. If it may be a command, do nothing
        and return False."""
        begin, close = ("$[", "]") if self.script.startswith("$[", self.position) else ("((", "))")
        inside = self.script.index(begin, self.position) + len(begin)
        end = self.script.find(close, inside, inside + _MAX_ARITHMETIC_CHARS)
        # In `((2 * (1 + 1)))`, the last two parentheses are the end.
        while end >= 0 and self.script[end + 1 : end + 3] == "))":
            end += 1
        if end < 0 or "$(" in self.script[inside:end] or not _ARITHMETIC.fullmatch(self.script, inside, end):
            return False
        self.position = end + len(close)
        return True

    def _take_nested(self, end: str, *, is_in_quotes: bool = False) -> str:
        """Skip two characters (`$(` or `${`), read up to the character `end`, and return the text between them. See
        `scan` for `is_in_quotes`."""
        self.position += 2
        if self.nesting_depth >= _MAX_LEVELS:
            self.is_certain = False
            return UNKNOWN
        self.nesting_depth += 1
        text = self.scan(end, is_in_quotes=is_in_quotes)
        self.nesting_depth -= 1
        return text

    def _take_output(self) -> str:
        """Read `$(…)`, and return the character that stands for its output."""
        start = self.position + 2
        self.command_depth += 1
        command = self._take_nested(")")
        self.command_depth -= 1
        if _CASE.search(self.script, start, self.position):
            self.is_certain = False  # In `case`, the `)` of `x)` does not end the command.
        return self._store_output(command, self.script[start : self.position - 1])

    def _take_backquoted(self) -> str:
        """Read a command in backquotes, and return the character that stands for its output."""
        found = _BACKQUOTED.match(self.script, self.position)
        if found is None:
            return self._take(1)
        self.position = found.end()
        command = re.sub(r"\\([`$\\])", r"\1", found[1])
        return self._store_output(UNKNOWN if "$(" in command or "`" in command else command, command)

    def _store_output(self, command: str, written: str) -> str:
        """Store a command whose output is used, and return the character that stands for the output.

        `command` has such characters itself, in place of the commands within it. `written` is the command as written.
        """
        if self.command_depth == 0:
            self.written_commands.append(written)
        if len(self.output_commands) >= _MAX_OUTPUTS:
            return UNKNOWN
        self.output_commands.append(command)
        return chr(FIRST_OUTPUT + len(self.output_commands) - 1)

    def _take_document(self, name: str, *, is_literal: bool) -> None:
        """Read the text of a here document up to its name. `is_literal`: the shell replaces nothing in the text."""
        # Tabs before the name are allowed with `<<-` only. They are accepted for `<<` too: then the document is
        # shorter, and what follows is read as commands, which are examined more strictly than a text.
        pattern = re.compile(rf"^\t*{re.escape(name)}$", re.MULTILINE)
        found = None if name in self.endless else pattern.search(self.script, self.position)
        if found is None:
            # We do not understand this here document. So its lines are read as commands.
            self.endless.add(name)
            return
        body = self.script[self.position : found.start()]
        self.position = found.end()
        self.documents.append(body if is_literal else re.sub(r"\\([`$\\\n])", r"\1", body))
        if not is_literal and self.command_depth == 0:
            # Quotes, comments and here documents are ordinary text there.
            within = _Scanner(re.sub(r"['\"#]|<<", "", body))
            within.scan()
            self.written_commands += within.written_commands
            self.is_certain = self.is_certain and within.is_certain


def divide_script(script: str) -> ScriptParts:
    """Return the parts of a script."""
    scanner = _Scanner(script)
    text = scanner.scan()
    parts = (scanner.output_commands, scanner.written_commands, scanner.documents)
    return ScriptParts(text, *map(tuple, parts), is_certain=scanner.is_certain)
