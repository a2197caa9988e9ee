"""Computes the words that a shell would make from a line. It replaces variables, defaults, quoted escapes and outputs
of commands by their values. Pure.

    A=.e; cp x ${A}ca ${B:-out} "$(cat list)"   ->   cp x .eca out UNKNOWN

It is for lines that `shell_parser` does not understand. A text that is not known before the line runs becomes the
character `UNKNOWN`: the output of most commands, the arguments of a function, a variable that `read` sets.

Its neighbours: `shell_script` has found the commands within the line and put a character in the place of each.
`line_targets` decides whether a word may become a protected path.
"""

from __future__ import annotations

import fnmatch
import math
import re
from itertools import product
from typing import TYPE_CHECKING, Final

from jupyter_eca.engine.approval.shell_parser import split_roughly, unquote_roughly
from jupyter_eca.engine.approval.shell_script import FIRST_OUTPUT, UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jupyter_eca.engine.approval.shell_script import ScriptParts

# A word that may become more words than this, or a longer one, counts as unknown. This limits the work.
_MAX_VALUES: Final = 50
_MAX_CHARS: Final = 5000
# `${name%pattern}` is computed only for values and patterns up to this length, because it takes quadratic time.
_MAX_TRIMMED: Final = 200
_MAX_TRIM_PATTERN: Final = 30

# What the shell replaces in a word, and its quotes. `ansi` is `$'a\n'`. `open` is a `${` without its end. `output` is
# one of the characters that `shell_script` puts in the place of `$(command)`.
_EXPANSION: Final = re.compile(
    r"""
      (?P<escape>\\.)
    | \$'(?P<ansi>(?:[^'\\]|\\.)*)'
    | '(?P<single>[^']*)'
    | "(?P<double>(?:[^"\\]|\\.)*)"
    | \$(?P<name>[A-Za-z_][A-Za-z0-9_]*|[0-9@*\#?$!-])
    | \$\{(?P<braced>(?:[^{}\\]|\\.|\{[^{}]*\})*)\}
    | (?P<open>\$\{)
    | (?P<output>[\ue001-\uf8ff])
    """,
    re.VERBOSE | re.DOTALL,
)
# What may be in `${…}`: a name, an operator and a word. `name:-word` -> ("name", ":-", "word")
_BRACED: Final = re.compile(r"(\w+|[@*#?$!-])(?:(:?[-=+?]|%%?|\#\#?)(.*))?", re.DOTALL)
# The escapes in `$'…'`: octal, three lengths of hexadecimal, control characters, and any other character.
_ANSI_ESCAPE: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(c.)|(.))", re.DOTALL
)

# Variables that are numbers. A number cannot be a protected path, so all of them count as 0.
_NUMBERS: Final = frozenset(
    {"#", "?", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "EPOCHSECONDS", "SHLVL"}
)
# Variables that the shell sets while the line runs, or whose value differs from the one in our own environment.
_SET_BY_SHELL: Final = re.compile(
    r"_|argv|path|[0-9]+|[@*-]|BASH\w*|\w*MATCH|match|REPLY|MAPFILE|COPROC|DIRSTACK|FUNCNAME|OPTARG|PIPESTATUS|pipestatus"
)
# A whole word that gives a variable a value. The groups are the name and the value.
_ASSIGNMENT: Final = re.compile(r"(\w+)=(.*)", re.DOTALL)
# Commands that set variables in another way than by `name=value`. The group has the names: `read a b`.
_SETTING_COMMANDS: Final = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|unset|select|printf[^;&|\n]{0,99}?\s-v"
    r"|(?:declare|local|typeset)[^;&|\n]{0,99}?\s-\w{0,9}n)([^;&|\n]*)"
)
# `a=(x y)` and `a[1]=x`. The group is the name.
_LIST_ASSIGNMENT: Final = re.compile(r"(?<!\w)(\w+)(?:=\(|\+=|\[[^\]\n]*\]\+?=)")
# Commands that run a text later, so that an assignment in it is not seen here.
_EVALUATES: Final = re.compile(r"\b(?:eval|trap|alias)\b")
# An assignment anywhere in a text: `name=` or `name+=`. The group is the name.
_ASSIGNED_NAME: Final = re.compile(r"(?<!\w)(\w+)\+?=")
# `((i = i + 1))`, which may set variables to numbers.
_ARITHMETIC: Final = re.compile(r"\(\(([^()]*)\)\)")
# A line with a function or an alias may give the name of a program another meaning.
_REPLACES_PROGRAMS: Final = re.compile(r"\(\s*\)|\b(?:function|alias)\b")


class Variables:
    """The values that the variables of a line may have.

    A variable may have several: that of a loop, or one that is assigned twice.
    """

    def __init__(self, script: ScriptParts, environment: Mapping[str, str]) -> None:
        """Begin with the variables of the environment, and add those that are set in other ways than by `name=value`.

        `assign` adds the others, one command after the other.
        """
        # The folder of a command is `.`, wherever it is. A path in it is resolved later.
        self._values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in environment.items()}
        self._values |= {"PWD": (".",), "OLDPWD": (".",)}
        # The commands whose output the line uses, see `ScriptParts`.
        self._outputs = script.output_commands
        # Whether the names of programs surely have their usual meaning.
        self._knows_programs = not _REPLACES_PROGRAMS.search(script.text)
        plain = unquote_roughly(script.text)
        unknown = {
            name for found in _SETTING_COMMANDS.finditer(plain) for name in re.findall(r"[A-Za-z_]\w*", found[1])
        }
        unknown |= {found[1] for found in _LIST_ASSIGNMENT.finditer(plain)}
        if _EVALUATES.search(plain):
            unknown |= {found[1] for found in _ASSIGNED_NAME.finditer(plain)}
        # A name in a computation may be set by it, to a number.
        for found in _ARITHMETIC.finditer(plain):
            for name in re.findall(r"[A-Za-z_]\w*", found[1]):
                self.add(name, "0")
        for name in unknown:
            self.add(name, UNKNOWN)

    def add(self, name: str, *values: str) -> None:
        """Add values that a variable may have."""
        known = self._values.get(name, ())
        found = tuple(dict.fromkeys((*known, *values)))
        self._values[name] = found if len(found) <= _MAX_VALUES else (UNKNOWN,)

    def export(self) -> dict[str, str]:
        """Return the variables for a line within the line. A variable with several values is unknown there."""
        return {name: values[0] if len(values) == 1 else UNKNOWN for name, values in self._values.items()}

    def assign(self, words: tuple[str, ...]) -> None:
        """Store what a command assigns (`a=b`, `for a in b c`). `words` are its words without quotes."""
        for word in words:
            if assigned := _ASSIGNMENT.fullmatch(word):
                self.add(assigned[1], assigned[2])
        if words[0] in {"for", "select"} and len(words) > 1:
            values = words[3:] if words[2:3] == ("in",) else ()
            self.add(words[1], *(values or (UNKNOWN,)))

    def expand_word(self, word: str, *, is_quoted: bool = False) -> list[str]:
        """Return the words that a word, as it is written, may become: `$a.csv` -> `["x.csv", "y.csv"]`.

        Quotes stay, except those of `$'…'`. `is_quoted` says whether the word is the text between two quotes.
        """
        parts: list[tuple[str, ...]] = []
        position = 0
        for found in _EXPANSION.finditer(word):
            parts += [(word[position : found.start()],), self._expand_match(found, is_quoted=is_quoted)]
            position = found.end()
        parts.append((word[position:],))
        count = math.prod(map(len, parts))
        length = sum(max(map(len, part)) for part in parts)
        is_short = count <= _MAX_VALUES and (length <= _MAX_CHARS or count == 1)
        return list(map("".join, product(*parts))) if is_short else [UNKNOWN]

    def _expand_match(self, found: re.Match[str], *, is_quoted: bool) -> tuple[str, ...]:
        """Return the texts that a match of `_EXPANSION` may become. `is_quoted` says whether it is between two
        quotes."""
        match found.lastgroup:
            case "ansi" if not is_quoted:
                return (_decode_ansi_quoted(found["ansi"]),)
            case "single" if not is_quoted:
                # This shell does not expand the text, but another shell may: `sh -c 'rm $a'`.
                values = self.expand_word(found["single"], is_quoted=True)
                return tuple(f"'{value}'" for value in values if UNKNOWN not in value) or (found[0],)
            # Within quotes, the text is not for this shell, but perhaps for another one that gets it.
            case "ansi":
                return tuple(f"$'{value}'" for value in self.expand_word(found["ansi"], is_quoted=True))
            case "single":
                return tuple(f"'{value}'" for value in self.expand_word(found["single"], is_quoted=True))
            case "double":
                return tuple(f'"{value}"' for value in self.expand_word(found["double"], is_quoted=True))
            case "name":
                return self._split_at_separators(self._look_up_variable(found["name"]), is_quoted=is_quoted)
            case "braced":
                return self._split_at_separators(self._expand_braced(found["braced"]), is_quoted=is_quoted)
            case "open":
                return (UNKNOWN,)
            case "output":
                return self._compute_output(found["output"])
            case _:
                return (found[0],)

    def _split_at_separators(self, values: tuple[str, ...], *, is_quoted: bool) -> tuple[str, ...]:
        """Return the values and, if the line sets `IFS`, also the parts into which the shell then splits them. Between
        quotes (`is_quoted`) it splits nothing."""
        separators = "".join(self._values.get("IFS", ()))
        # If `IFS` has only blanks, as in `IFS=$'\n\t'`, the shell splits at no other characters than usual.
        if is_quoted or not separators.strip("'\"\\$nt \n\t"):
            return values
        parts = (part for value in values for part in re.split(f"[{re.escape(separators)}]", value))
        return tuple(dict.fromkeys((*values, *parts)))

    def _look_up_variable(self, name: str) -> tuple[str, ...]:
        """Return the values that the variable `$name` may have."""
        if name in _NUMBERS:
            return ("0",)
        return (UNKNOWN,) if _SET_BY_SHELL.fullmatch(name) else self._values.get(name, (UNKNOWN,))

    def _expand_braced(self, text: str) -> tuple[str, ...]:
        """Return the values that `${text}` may have: `B:-out` -> `("out",)` if `B` is not set."""
        if re.fullmatch(r"#\w+", text):  # the length of a value
            return ("0",)
        parameter = _BRACED.fullmatch(text)
        if parameter is None:
            return (UNKNOWN,)
        name, operator, word = parameter[1], parameter[2] or "", parameter[3] or ""
        if operator in {"", "?", ":?"}:
            return self._look_up_variable(name)
        if operator in {"#", "##", "%", "%%"}:
            patterns = [unquote_roughly(value) for value in self.expand_word(word)]
            pairs = product(self._look_up_variable(name), patterns)
            return tuple({_trim_value(value, operator, pattern) for value, pattern in pairs})
        # A default (`:-`, `:=`) or a replacement (`:+`). It is not certain which one of the two the shell takes.
        is_set = name in self._values or _SET_BY_SHELL.fullmatch(name)
        known = self._look_up_variable(name) if is_set and operator not in {"+", ":+"} else ()
        return tuple(dict.fromkeys((*known, *([""] if operator in {"+", ":+"} else []), *self.expand_word(word))))

    def _compute_output(self, mark: str) -> tuple[str, ...]:
        """Return what the command of `$(command)` prints; `UNKNOWN` for most commands.

        `mark` is the character that `shell_script` put in its place. An output that cannot be a protected path, such as
        a number or the name of the user, counts as `"0"`.
        """
        index = ord(mark) - FIRST_OUTPUT
        command = self._outputs[index] if index < len(self._outputs) else ""
        if not self._knows_programs or re.search(r"[;&|<>\n]", command):
            return (UNKNOWN,)
        words = next((command.words for command in split_roughly(command)), ())
        match words:
            case ("pwd",) | ("git", "rev-parse", "--show-toplevel"):
                return (".",)
            case ("nproc" | "hostname" | "whoami",) | ("id", "-u" | "-g") | ("uname", *_):
                return ("0",)
            case ("git", "rev-parse", "HEAD") | ("git", "rev-parse", "--short", "HEAD") | ("git", "merge-base", *_):
                return ("0",)
            case ("mktemp",) | ("mktemp", "-d"):
                return ("/tmp/x",)  # noqa: S108  # it is only a name
            case ("date", *options) if "-f" not in options:
                shape = next((unquote_roughly(option)[1:] for option in options if "+" in option[:2]), "0")
                text = re.sub(r"%[-_0^#:]*[A-Za-z%]", "0", shape)
                # The name of the time zone is a variable, and `%n` and `%t` begin a new word.
                is_unknown = re.search(r"[%$]|[\ue000-\uf8ff]", text) or re.search(r"%[-_0^#:EO]*[Znt]", shape)
                return (UNKNOWN,) if is_unknown else (text,)
            case ("basename", path) | ("basename", path, _):
                endings = [unquote_roughly(value) for value in self.expand_word("".join(words[2:]))]
                names = [unquote_roughly(value).rstrip("/").rpartition("/")[2] for value in self.expand_word(path)]
                return tuple({_remove_ending(name, ending) for name, ending in product(names, endings)})
            case ("dirname", path):
                return tuple({_take_folder(unquote_roughly(value)) for value in self.expand_word(path)})
            case _:
                return (UNKNOWN,)


def _remove_ending(name: str, ending: str) -> str:
    """Return what `basename NAME ENDING` prints."""
    return UNKNOWN if UNKNOWN in ending else name.removesuffix(ending) or name


def _take_folder(path: str) -> str:
    """Return the folder of a path. If a part of the path is unknown, the folder is unknown too."""
    return UNKNOWN if UNKNOWN in path else path.rstrip("/").rpartition("/")[0] or "."


def _decode_ansi_quoted(text: str) -> str:
    """Return the text that `$'text'` means, in plain quotes: `a\\tb` -> a quoted text with a tab."""

    def replace(found: re.Match[str]) -> str:
        """Return the character that one escape stands for."""
        octal, *hexadecimal, control, other = found.groups()
        digits = next(filter(None, hexadecimal), "")
        if control or (digits and int(digits, 16) > 0x10FFFF):
            return UNKNOWN
        if octal or digits:
            return chr(int(octal, 8) % 256 if octal else int(digits, 16))
        return {"n": "\n", "t": "\t", "r": "\r"}.get(other, other)

    decoded = _ANSI_ESCAPE.sub(replace, text)
    # A single byte (`\xc3`) may be a part of a character, and not the character that Python makes of it.
    return f"'{decoded}'" if decoded.isascii() and "'" not in decoded else UNKNOWN


def _trim_value(value: str, operator: str, pattern: str) -> str:
    """Return a value without the beginning (`#`, `##`) or the end (`%`, `%%`) that matches a pattern.

    `("a.csv", "%", ".csv")` -> `"a"`. The value may be a pattern itself: `*.csv` in a loop over files.
    """
    is_long = len(value) > _MAX_TRIMMED or len(pattern) > _MAX_TRIM_PATTERN or pattern.count("*") > 2
    if is_long or UNKNOWN in value or UNKNOWN in pattern:
        return UNKNOWN
    is_pattern = re.search(r"[*?\[{]", value) is not None
    # `%` and `#` remove the shortest matching part, `%%` and `##` the longest.
    cuts = range(len(value) + 1)
    if operator[0] == "%":
        matching = [cut for cut in cuts if fnmatch.fnmatchcase(value[cut:], pattern)]
        position = (min if operator == "%%" else max)(matching, default=len(value))
        # If the value is a pattern, the names that it stands for may still have an end that is removed.
        return value[:position] if position < len(value) or not is_pattern else f"{value}*"
    if is_pattern and pattern != "*/":
        return UNKNOWN
    matching = [cut for cut in cuts if fnmatch.fnmatchcase(value[:cut], pattern)]
    return value[(max if operator == "##" else min)(matching, default=0) :]
