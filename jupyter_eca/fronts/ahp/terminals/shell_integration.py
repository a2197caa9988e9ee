"""Owns what a shell reports in its output: where a command begins, and how it ended. Pure.

Shells with an integration write marks (`OSC 133` is FinalTerm's, `633` VS Code's, `1337` iTerm's, `7` everybody's).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

_MARK: Final = re.compile(r"\x1b\](?P<kind>133|633|1337|7);(?P<words>[^\x07\x1b]*)(?:\x07|\x1b\\)")
# The start of a mark at the end of a piece of output. If it is longer than this, it is not a mark.
_MARK_START: Final = re.compile(r"\x1b(?:\](?:[0-9]{0,4}|(?:133|633|1337|7);[^\x07\x1b]{0,8192}\x1b?))?\Z")
_ESCAPE: Final = re.compile(r"\\(?:\\|x(?P<code>[0-9a-fA-F]{2}))")
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class TerminalText:
    text: str


@dataclass(frozen=True, slots=True)
class PromptStarted:
    """The shell is at a prompt, so it has an integration."""


@dataclass(frozen=True, slots=True)
class CommandStarted:
    line: str


@dataclass(frozen=True, slots=True)
class CommandFinished:
    code: int | None


@dataclass(frozen=True, slots=True)
class FolderChanged:
    folder: str


OutputPiece = TerminalText | PromptStarted | CommandStarted | CommandFinished | FolderChanged


class OutputParser:
    """Parses the output of one terminal."""

    def __init__(self) -> None:
        self._rest = ""
        self._line = ""
        self._typed: str | None = None  # the text behind a prompt, for shells that do not report the line itself

    def feed(self, data: str) -> Iterator[OutputPiece]:
        text = self._rest + data
        start = _MARK_START.search(text)
        self._rest = start.group() if start else ""
        text = text.removesuffix(self._rest)
        at = 0
        for mark in _MARK.finditer(text):
            yield from self._text_before(text[at : mark.start()])
            yield from self._read_mark(mark["kind"], mark["words"])
            at = mark.end()
        yield from self._text_before(text[at:])

    def _text_before(self, text: str) -> Iterator[OutputPiece]:
        if text:
            if self._typed is not None:
                self._typed += text
            yield TerminalText(text)

    def _read_mark(self, kind: str, words: str) -> Iterator[OutputPiece]:
        name, _, rest = words.partition(";")
        match kind, name:
            case "133" | "633", "A":
                yield PromptStarted()
            case "133" | "633", "B":
                self._typed = ""
                yield PromptStarted()
            case "633", "E":
                self._line = _plain(rest.partition(";")[0])
            case "133" | "633", "C":
                line = self._line or _CONTROL.sub("", self._typed or "").strip()
                self._line, self._typed = "", None
                yield CommandStarted(line)
            case "133" | "633", "D":
                code = rest.partition(";")[0]
                yield CommandFinished(int(code) if code.isascii() and code.isdecimal() else None)
            case "633" | "1337", _:
                key, _, value = rest.partition("=") if name == "P" else words.partition("=")
                if key in {"Cwd", "CurrentDir"}:
                    yield FolderChanged(_plain(value))
            case "7", _:
                yield FolderChanged(unquote(urlsplit(words).path))
            case _:
                pass


def _plain(words: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match["code"], 16)) if match["code"] else "\\", words)
