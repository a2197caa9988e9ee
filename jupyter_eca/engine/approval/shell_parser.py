"""Parses a shell line into its commands, for the approval rules. It also finds what an approval of the line remembers.

It must not run the line or decide about it: its neighbours `rule_matching` and `approval_scope` use the result.

The grammar is a small part of the POSIX shell language, as a table of regular expressions. A line with anything else in
it (`$`, backquotes, parentheses, here documents, comments) is not parsed, and no approval of it is remembered. The
parser must end a word exactly where the shell ends it. If it took an operator for a part of a word, a command could run
that nobody approved.

    parse_commands("git log > 'a b' && ls")   ->   `git log` with the redirection `> 'a b'`, and `ls`

For a line that cannot be parsed, `split_roughly` still finds words and redirections. `line_targets` searches them for
protected paths.

An approval of a line whose commands only read (`known_programs`) is remembered for its programs: after `git status`,
`git status -s` needs no approval either. An approval of another line is remembered for exactly this line. If the shell
expands a word of the line (`*.py`, `{a,b}`, `~`), nothing is remembered, because the word may expand to something else
the next time.

Ruled out: bashlex has the GPL as its licence, tree-sitter and its grammar are 3 MiB of compiled code, and shlex cannot
distinguish a quoted `;` from an operator. shlex is used only to remove the quotes of a word.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from jupyter_eca.engine.approval import known_programs

# The grammar: one group for each kind of token. A text that matches none of them is not in the grammar.
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

# The tokens for `split_roughly`. They match any text. A quoted text ends at the end of its line at the latest, so that
# an apostrophe in a comment hides nothing. A text that runs a command (`"$(cp x y)"`) does not count as quoted.
_ROUGH_TOKEN: Final = re.compile(
    r"""
      (?P<redirect>(?:[0-9]*|&)>[>|&]?)
    | (?P<end>[;&|()`\n]+)
    | (?P<word>(?:
          \$'(?:[^'\\\n]|\\.)*'
        | '[^'\n]*'
        | "(?:[^"\\`$\n]|\\.|\$(?!\())*"
        | \\.
        | [^\s\\;&|()`<>]
      )+)
    | .
    """,
    re.VERBOSE | re.DOTALL,
)
_ROUGH_QUOTES: Final = re.compile(r"""\$(?=')|['"\\]""")

# shlex needs minutes for a word of 3,000,000 characters, and no user reads such a line before they approve it.
_MAX_LINE_CHARS: Final = 10_000

# Words of the shell language that are not commands. A line with one of them at the place of a command is not parsed.
_RESERVED: Final = re.compile(
    r"!|\{|\}|\[\[|\]\]|if|then|elif|else|fi|case|esac|for|select|while|until|do|done|in|function|coproc"
)

# The targets of redirections that change no file. After `>&` and `<&`, that is the number of an open file. After other
# operators it is only this device: `> 5` writes a file named 5.
_DESCRIPTOR: Final = re.compile(r"[0-9]+|-")
_NOWHERE: Final = "/dev/null"

# The name of a program without quotes or a folder. With a folder, it may be another program of the same name.
_PROGRAM: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*")
# A part of a word in which the shell expands nothing.
_QUOTED: Final = re.compile(r"""'[^']*'|"(?:[^"\\]|\\.)*"|\\.""", re.DOTALL)
# The characters that make the shell expand a word, outside of quotes. zsh also expands `=ls`.
_EXPANDED: Final = re.compile(r"[{}*?\[~]|^=")


@dataclass(frozen=True, slots=True)
class Redirect:
    """A redirection of a command."""

    operator: str
    """The operator, with the number of the open file before it: `2>`."""
    target: str
    """The word after the operator, without quotes; empty when there is none."""
    written: str
    """The word after the operator, as it is written."""

    @property
    def text(self) -> str:
        """The redirection as it is written."""
        return f"{self.operator}{'' if self.operator.endswith('&') else ' '}{self.written}".rstrip()

    @property
    def is_harmless(self) -> bool:
        """Whether the redirection neither changes nor reads a file."""
        if self.operator.endswith(("<&", ">&")):
            return _DESCRIPTOR.fullmatch(self.written) is not None
        return self.written == _NOWHERE

    @property
    def writes(self) -> bool:
        """Whether the redirection may change a file."""
        return ">" in self.operator and not self.is_harmless


@dataclass(frozen=True, slots=True)
class ParsedCommand:
    """One simple command of a line."""

    command: str
    """The first word, which names the program, without quotes. It may contain the folder of the program."""
    args: tuple[str, ...] = ()
    """The arguments, without quotes."""
    words: tuple[str, ...] = ()
    """The program and its arguments as they are written, with their quotes."""
    redirects: tuple[Redirect, ...] = ()
    """The redirections."""
    key: str | None = None
    """If the command only reads: the program, with its subcommand (`git log`). None for all other commands."""

    @property
    def text(self) -> str:
        """The words as they are written, separated by one blank."""
        return " ".join(self.words)

    @property
    def plain_text(self) -> str:
        """The words without their quotes."""
        return " ".join((self.command, *self.args))

    @property
    def whole_text(self) -> str:
        """The words and the redirections, as they are written."""
        return " ".join((*self.words, *(redirect.text for redirect in self.redirects)))

    @property
    def expands(self) -> bool:
        """Whether the shell expands one of the words."""
        return any(map(expands, self.words)) or any(expands(redirect.written) for redirect in self.redirects)

    @property
    def program(self) -> str:
        """The name of the program, without its folder."""
        return self.command.rpartition("/")[2]

    @property
    def moves_folders(self) -> bool:
        """Whether the command may move, replace or fill a folder that it names: `mv a b`, `env mv a b`."""
        return self.program in known_programs.MOVERS or self.hides_program

    @property
    def hides_program(self) -> bool:
        """Whether the command may run another program than its first word says: `r?m x`, `A=1 rm x`, `env rm x`."""
        running_argument = known_programs.RUNNING_ARGUMENTS.get(self.program)
        reads_script = self.program in known_programs.SHELLS and all(word.startswith("-") for word in self.args)
        return (
            self.program in known_programs.RUNNERS
            or reads_script
            or (running_argument is not None and any(map(running_argument.fullmatch, self.args)))
            or any(expands(word) or "=" in word for word in self.words[:1])
        )


@dataclass(frozen=True, slots=True)
class LineKeys:
    """What an approval of a line remembers: either programs or the line."""

    programs: tuple[str, ...] = ()
    """The programs of the line, with their subcommands, if all of its commands only read; else empty."""
    line: str = ""
    """The whole line, if one of its commands may do more than read; else empty."""


@dataclass(frozen=True, slots=True)
class _Token:
    """A word, an operator or a redirection of a line."""

    kind: str
    """The name of the group in `_TOKEN` that matched."""
    raw: str
    """The text of the token, with its quotes."""


def parse_commands(line: str) -> tuple[ParsedCommand, ...] | None:
    """Return the simple commands of a line, in order; None when the line cannot be parsed."""
    tokens = _tokenize(line)
    if tokens is None:
        return None
    parsed: list[ParsedCommand] = []
    command_tokens: list[_Token] = []
    for token in (*tokens, _Token("operator", "\n")):
        if token.kind != "operator":
            command_tokens.append(token)
        elif command_tokens:
            if _RESERVED.fullmatch(command_tokens[0].raw):
                return None
            parsed.append(_parse_command(command_tokens))
            command_tokens = []
    return tuple(parsed)


def split_roughly(line: str) -> tuple[ParsedCommand, ...]:
    """Return the approximate commands of a line that cannot be parsed.

    Their words are those of the line, together with keywords, comments and the texts of here documents. Redirections
    that only read are left out. No command has a `key`.
    """
    commands: list[ParsedCommand] = []
    words: list[str] = []
    redirects: list[Redirect] = []
    operator = ""
    for found in (*_ROUGH_TOKEN.finditer(line), None):
        if found is not None and found["word"]:
            if operator:
                redirects.append(Redirect(operator, unquote_roughly(found["word"]), found["word"]))
            else:
                words.append(found["word"])
            operator = ""
        elif found is not None and found["redirect"]:
            operator = found["redirect"]
        elif found is None or found["end"]:
            if words or redirects:
                first, *others = map(unquote_roughly, words or [""])
                commands.append(ParsedCommand(first, tuple(others), tuple(words), tuple(redirects)))
            words, redirects, operator = [], [], ""
    return tuple(commands)


def unquote_roughly(word: str) -> str:
    """Return a word without any quotes and backslashes."""
    return _ROUGH_QUOTES.sub("", word)


def get_line_keys(line: str) -> LineKeys | None:
    """Return what an approval of a line remembers; None for a line that needs approval each time."""
    commands = parse_commands(line)
    if not commands or any(command.expands for command in commands):
        return None
    keys = tuple(dict.fromkeys(command.key for command in commands if command.key is not None))
    return LineKeys(keys) if all(command.key for command in commands) else LineKeys(line=line.strip())


@lru_cache(maxsize=256)
def certainly_changes_nothing(line: str) -> bool:
    """Return whether it is known that no command of a line changes anything."""
    keys = get_line_keys(line)
    return keys is not None and bool(keys.programs)


def expands(word: str) -> bool:
    """Return whether the shell expands a word that is written in this way."""
    return _EXPANDED.search(_QUOTED.sub("q", word)) is not None


def _tokenize(line: str) -> list[_Token] | None:
    """Return the tokens of a line without blanks; None when it is too long, or a part of it is not in the grammar."""
    tokens: list[_Token] = []
    position = 0
    if len(line) > _MAX_LINE_CHARS:
        return None
    while position < len(line):
        match = _TOKEN.match(line, position)
        if match is None:
            return None
        position = match.end()
        if match.lastgroup != "blank":
            tokens.append(_Token(str(match.lastgroup), match[0]))
    return tokens


def _parse_command(tokens: list[_Token]) -> ParsedCommand:
    """Return the simple command that these tokens form."""
    words: list[str] = []
    redirects: list[Redirect] = []
    operator = ""
    for token in tokens:
        if token.kind == "redirect":
            redirects += [Redirect(operator, "", "")] if operator else []
            operator = token.raw
        elif operator:
            redirects.append(Redirect(operator, _unquote(token.raw), token.raw))
            operator = ""
        else:
            words.append(token.raw)
    redirects += [Redirect(operator, "", "")] if operator else []
    bare = [_unquote(word) for word in words]
    key = _get_key(words, bare) if words and all(redirect.is_harmless for redirect in redirects) else None
    return ParsedCommand(bare[0] if bare else "", tuple(bare[1:]), tuple(words), tuple(redirects), key)


def _unquote(word: str) -> str:
    """Return a word as the shell passes it to a program: `'a b'` -> `a b`."""
    return shlex.split(word)[0]


def _get_key(raw: list[str], bare: list[str]) -> str | None:
    """Return the program of a command, with its subcommand, if the command only reads; else None.

    `raw` are the words as they are written, and `bare` the same words without quotes. The program and the subcommand
    must be written without quotes: a command that quotes them may try to hide something.
    """
    name, argument_start = raw[0], 1
    while name in known_programs.PROGRAMS_WITH_SUBCOMMANDS and argument_start < len(raw):
        name, argument_start = f"{name} {raw[argument_start]}", argument_start + 1
    program = known_programs.READ_ONLY.get(name)
    if program is None or not all(map(_PROGRAM.fullmatch, raw[:argument_start])) or any("{" in word for word in raw):
        return None
    # A single hyphen is an operand that stands for a file: `uniq - x` writes x.
    options = [word for word in bare[argument_start:] if word.startswith("-") and word != "-"]
    operands = [word for word in bare[argument_start:] if not word.startswith("-") or word == "-"]
    only_reads = all(map(program.options.fullmatch, options)) and all(map(program.operands.fullmatch, operands))
    return name if only_reads and (program.max_operands is None or len(operands) <= program.max_operands) else None
