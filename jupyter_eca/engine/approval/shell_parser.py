"""What a shell line runs, as far as that can be told without a shell, and what of it may be remembered as approved.

The grammar is a table of regular expressions over a small, plain part of the POSIX shell language. A line with anything
else in it (`$`, backquotes, parentheses, here documents, comments) is not understood, and what is not understood is
never remembered. Where a word ends must be told exactly as the shell does: a word here that is an operator there would
let a command through that nobody approved. Which programs are known is in `known_programs`.

Ruled out: bashlex is under the GPL, tree-sitter and its grammar are 3 MiB of compiled code, and shlex alone cannot tell
a quoted `;` from an operator. It is used for what it does well, to take the quotes off a word.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Final

from jupyter_eca.engine.approval import known_programs

_TOKEN: Final = re.compile(
    r"""
      (?P<blank>[ \t]+)
    | (?P<redirect>[0-9]*(?:>>|>\||>&|<&|<>|>|<(?!<))|&>>?)
    | (?P<operator>&&|\|\||\|&|[;|&\n])
    | (?P<word>(?:
          [^\s'"\\;&|<>()`$\#\x00-\x1f\x7f]
        | (?<=[^\s;&|<>])\#
        | '[^'\x00]*'
        | "(?:[^"\\$`\x00]|\\[^\n\x00])*"
        | \\[^\n\x00]
      )+)
    """,
    re.VERBOSE,
)

# shlex takes minutes over a word of 3,000,000 characters; nobody reads such a line before approving it.
_MAX_LINE: Final = 10_000

# Words that are no commands where a command begins: what they make of the words after them is not read here.
_RESERVED: Final = re.compile(
    r"!|\{|\}|\[\[|\]\]|if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|coproc"
)

# The targets of a redirection that change no file.
_HARMLESS: Final = re.compile(r"/dev/null|[0-9]|-")

# A program is named outright: no quotes, globs or variables. One with a folder before it that is not the root's is
# another program in another folder.
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*|(?:/[A-Za-z0-9_.+-]+)+")
_SUBCOMMAND: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]*")
# Folders that `cd` may lead to: a program that was approved here is another one elsewhere.
_INSIDE: Final = re.compile(r"(?!.*\.\.)[A-Za-z0-9_.][A-Za-z0-9_./-]*")


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """One simple command of a line."""

    command: str
    args: tuple[str, ...] = ()
    key: str | None = None
    """What "remember" remembers; None for what must be asked about each time."""


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    raw: str


def parse_commands(line: str) -> tuple[ParsedCommand, ...] | None:
    """Return the simple commands of a line, in order. None for a line that is not understood."""
    tokens = _tokenize(line)
    if tokens is None:
        return None
    parsed: list[ParsedCommand] = []
    part: list[_Token] = []
    for token in (*tokens, _Token("operator", "\n")):
        if token.kind != "operator":
            part.append(token)
        elif part:
            if _RESERVED.fullmatch(part[0].raw):
                return None
            parsed.append(_parse_command(part))
            part = []
    return tuple(parsed)


def list_approval_keys(line: str) -> tuple[str | None, ...]:
    """Return the key of each command of a line. Never empty; (None,) for a line that is not understood."""
    return tuple(command.key for command in parse_commands(line) or ()) or (None,)


def _tokenize(line: str) -> list[_Token] | None:
    tokens: list[_Token] = []
    at = 0
    if len(line) > _MAX_LINE:
        return None
    while at < len(line):
        match = _TOKEN.match(line, at)
        if match is None:
            return None
        at = match.end()
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match[0]))
    return tokens


def _parse_command(part: list[_Token]) -> ParsedCommand:
    words: list[str] = []
    plain = True
    for before, token in zip((_Token("", ""), *part), part, strict=False):
        if before.kind == "redirect":
            plain = plain and token.kind == "word" and _HARMLESS.fullmatch(token.raw) is not None
        elif token.kind == "word":
            words.append(token.raw)
    plain = plain and part[-1].kind == "word"
    bare = [shlex.split(word)[0] for word in words]
    return ParsedCommand(bare[0] if bare else "", tuple(bare[1:]), _build_key(words, bare) if plain and words else None)


def _build_key(raw: list[str], bare: list[str]) -> str | None:
    """Return the key of a command. `raw` are the words as they were written: to the shell it makes no difference how a
    program or subcommand is quoted, but nobody quotes one without a reason.
    """
    program = raw[0]
    name = program.rpartition("/")[2]
    if not _PROGRAM.fullmatch(program) or any(known_programs.RUNS_ANOTHER.fullmatch(word) for word in bare[1:]):
        return None
    if name in known_programs.INTERPRETERS:
        module = len(raw) > 2 and raw[1] == "-m" and raw[2] in known_programs.MODULES
        return " ".join((program, *raw[1:3])) if module else None
    if name in known_programs.WRAPPERS or (name == "cd" and not (len(raw) == 2 and _INSIDE.fullmatch(raw[1]))):
        return None
    return _add_subcommands(program, name, raw[1:])


def _add_subcommands(program: str, name: str, rest: list[str]) -> str | None:
    """Return the key with the subcommand, None after options: they may change what it means (`git -c alias.x=!...`)."""
    command, key = name, program
    while command in known_programs.MANY:
        if not rest or not _SUBCOMMAND.fullmatch(rest[0]):
            return None
        command, key, rest = f"{command} {rest[0]}", f"{key} {rest[0]}", rest[1:]
    return None if command in known_programs.WRAPPING else key
