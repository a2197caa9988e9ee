"""Owns the parsing of the marks by which a shell reports in its output where a command begins and how it ended. Pure.

A shell with a shell integration writes such marks between its output. They are escape sequences: `OSC 133` comes from
FinalTerm, `OSC 633` from VS Code, `OSC 1337` from iTerm, and `OSC 7` is written by many shells. This module must not
know terminals: `terminals.py` makes actions of the parsed pieces.

A mark looks like this: ESC `]133;D;0` BEL. OSC is the name of the two characters at its beginning. `133` is its kind.
The letter says what happens: A the prompt begins, B the prompt ends and the user types, C the command starts, D the
command has ended (here with exit code 0). VS Code adds E, which contains the command line, and P, which contains a
property such as the folder.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from jupyter_eca.workspace.paths import parse_file_uri

if TYPE_CHECKING:
    from collections.abc import Iterator

# A whole mark.
_MARK: Final = re.compile(r"\x1b\](?P<kind>133|633|1337|7);(?P<words>[^\x07\x1b]*)(?:\x07|\x1b\\)")
# The start of a mark at the end of a piece of output. It is held back until its end comes, but only up to 8,192
# characters: otherwise a start without an end would hold back all output for ever.
_MARK_START: Final = re.compile(r"\x1b(?:\](?:[0-9]{0,4}|(?:133|633|1337|7);[^\x07\x1b]{0,8192}\x1b?))?\Z")
# An escaped character in a mark of VS Code.
_ESCAPE: Final = re.compile(r"\\(?:\\|x(?P<code>[0-9a-fA-F]{2}))")
# Control characters and sequences, such as colours. They are removed from a typed command line.
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TerminalText:
    """Output that is not a mark."""

    text: str


@dataclass(frozen=True, slots=True)
class PromptStarted:
    """The shell shows its prompt. So we know that it has a shell integration."""


@dataclass(frozen=True, slots=True)
class CommandStarted:
    """The shell starts to run a command."""

    line: str
    """The command line."""


@dataclass(frozen=True, slots=True)
class CommandFinished:
    """A command has ended."""

    code: int | None
    """Its exit code; None if the shell does not report it."""


@dataclass(frozen=True, slots=True)
class FolderChanged:
    """The working directory of the shell has changed."""

    folder: str
    """The path of the new working directory."""


OutputPiece = TerminalText | PromptStarted | CommandStarted | CommandFinished | FolderChanged
"""A piece of a shell's output: a text, or what a mark reports."""


class OutputParser:
    """Parses the output of one terminal, which comes in pieces of any length."""

    def __init__(self) -> None:
        self._held_back = ""  # the start of a mark whose end has not come yet
        self._line = ""  # the command line that the shell has reported
        self._typed: str | None = None  # the text after the prompt, for shells that do not report the command line

    def feed(self, data: str) -> Iterator[OutputPiece]:
        """Yield the output and the marks in the next piece of output."""
        text = self._held_back + data
        start = _MARK_START.search(text)
        self._held_back = start.group() if start else ""
        text = text.removesuffix(self._held_back)
        position = 0
        for mark in _MARK.finditer(text):
            yield from self._emit_text(text[position : mark.start()])
            yield from self._read_mark(mark["kind"], mark["words"])
            position = mark.end()
        yield from self._emit_text(text[position:])

    def _emit_text(self, text: str) -> Iterator[OutputPiece]:
        """Yield output that is not a mark. After a prompt, it is also what the user types, which the shell echoes."""
        if text:
            if self._typed is not None:
                self._typed += text
            yield TerminalText(text)

    def _read_mark(self, kind: str, words: str) -> Iterator[OutputPiece]:
        """Yield what a mark says. `kind` is the number after `OSC`, and `words` are what follows: "D;0"."""
        name, _, rest = words.partition(";")
        match kind, name:
            case "133" | "633", "A":
                yield PromptStarted()
            case "133" | "633", "B":
                self._typed = ""
                yield PromptStarted()
            case "633", "E":
                self._line = _unescape(rest.partition(";")[0])
            case "133" | "633", "C":
                line = self._line or _CONTROL.sub("", self._typed or "").strip()
                self._line, self._typed = "", None
                yield CommandStarted(line)
            case "133" | "633", "D":
                code = rest.partition(";")[0]
                yield CommandFinished(int(code) if code.isascii() and code.isdecimal() else None)
            case "633" | "1337", _:
                # VS Code writes `P;Cwd=/work`, and iTerm `CurrentDir=/work`.
                key, _, value = rest.partition("=") if name == "P" else words.partition("=")
                if key in {"Cwd", "CurrentDir"}:
                    yield FolderChanged(_unescape(value))
            case "7", _:
                # The words are a `file:` URI.
                if (folder := parse_file_uri(words)) is not None:
                    yield FolderChanged(str(folder))
            case _:
                pass


def _unescape(words: str) -> str:
    """Replace the escapes of VS Code: `\\\\` stands for a backslash, `\\x3b` for a semicolon."""
    return _ESCAPE.sub(lambda match: chr(int(match["code"], 16)) if match["code"] else "\\", words)
