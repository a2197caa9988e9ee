"""Owns what the shell makes of the words of a line that `shell_parser` does not understand: variables, defaults, quoted
escapes and the output of commands. Pure.

A text that is not known before the line runs becomes `UNKNOWN`: the output of most commands, the arguments of a
function, a variable that `read` fills. `shell_script` is the neighbour: it finds the commands within the line.
`line_targets` decides whether such a word may become a protected path.

    A=.e; cp x ${A}ca ${B:-out} "$(cat list)"   ->   cp x .eca out UNKNOWN
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

# A word that has more readings than these is not known, nor is one that is longer.
_MOST_VALUES: Final = 50
_MOST_CHARS: Final = 5000
# `${name%pattern}` is worked out for values and patterns of this length.
_MOST_TRIMMED: Final = 200
_MOST_PATTERN: Final = 30

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
_PARAMETER: Final = re.compile(r"(\w+|[@*#?$!-])(?:(:?[-=+?]|%%?|\#\#?)(.*))?", re.DOTALL)
_ANSI: Final = re.compile(
    r"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|(c.)|(.))", re.DOTALL
)

# Parameters that are numbers.
_NUMBERS: Final = frozenset(
    {"#", "?", "$", "!", "RANDOM", "SRANDOM", "SECONDS", "LINENO", "UID", "EUID", "PPID", "EPOCHSECONDS", "SHLVL"}
)
# Variables that the shell sets while the line runs, or that are other than in our own environment.
_SET_BY_SHELL: Final = re.compile(
    r"_|argv|path|[0-9]+|[@*-]|BASH\w*|\w*MATCH|match|REPLY|MAPFILE|COPROC|DIRSTACK|FUNCNAME|OPTARG|PIPESTATUS|pipestatus"
)
_ASSIGNMENT: Final = re.compile(r"(\w+)=(.*)", re.DOTALL)
# What sets variables in another way than by a plain assignment.
_SETTERS: Final = re.compile(
    r"\b(?:read|mapfile|readarray|getopts|unset|select|printf[^;&|\n]{0,99}?\s-v"
    r"|(?:declare|local|typeset)[^;&|\n]{0,99}?\s-\w{0,9}n)([^;&|\n]*)"
)
_LISTS: Final = re.compile(r"(?<!\w)(\w+)(?:=\(|\+=|\[[^\]\n]*\]\+?=)")
_EVALUATES: Final = re.compile(r"\b(?:eval|trap|alias)\b")
_ASSIGNED: Final = re.compile(r"(?<!\w)(\w+)\+?=")
_COUNTED: Final = re.compile(r"\(\(([^()]*)\)\)")
_REPLACES_PROGRAMS: Final = re.compile(r"\(\s*\)|\b(?:function|alias)\b")


class Variables:
    """The values that the variables of a line may have."""

    def __init__(self, script: ScriptParts, environment: Mapping[str, str]) -> None:
        self._values: dict[str, tuple[str, ...]] = {name: (value,) for name, value in environment.items()}
        self._values |= {"PWD": (".",), "OLDPWD": (".",)}
        self._outputs = script.outputs
        self._knows_programs = not _REPLACES_PROGRAMS.search(script.text)
        plain = unquote_roughly(script.text)
        unknown = {name for found in _SETTERS.finditer(plain) for name in re.findall(r"[A-Za-z_]\w*", found[1])}
        unknown |= {found[1] for found in _LISTS.finditer(plain)}
        if _EVALUATES.search(plain):
            unknown |= {found[1] for found in _ASSIGNED.finditer(plain)}
        for found in _COUNTED.finditer(plain):
            for name in re.findall(r"[A-Za-z_]\w*", found[1]):
                self.add(name, "0")
        for name in unknown:
            self.add(name, UNKNOWN)

    def add(self, name: str, *values: str) -> None:
        """Add values that a variable may have."""
        known = self._values.get(name, ())
        found = tuple(dict.fromkeys((*known, *values)))
        self._values[name] = found if len(found) <= _MOST_VALUES else (UNKNOWN,)

    def export(self) -> dict[str, str]:
        """Return the variables for a line within the line."""
        return {name: values[0] if len(values) == 1 else UNKNOWN for name, values in self._values.items()}

    def assign(self, words: tuple[str, ...]) -> None:
        """Note what a command assigns. `words` are its words without quotes."""
        for word in words:
            if assigned := _ASSIGNMENT.fullmatch(word):
                self.add(assigned[1], assigned[2])
        if words[0] in {"for", "select"} and len(words) > 1:
            self.add(words[1], *(words[3:] if words[2:3] == ("in",) else (UNKNOWN,)))

    def fill(self, word: str, *, is_quoted: bool = False) -> list[str]:
        """Return what a word, as it is written, may become. Quotes stay, but for those of `$'…'`."""
        parts: list[tuple[str, ...]] = []
        at = 0
        for found in _EXPANSION.finditer(word):
            parts += [(word[at : found.start()],), self._expand(found, is_quoted=is_quoted)]
            at = found.end()
        parts.append((word[at:],))
        count = math.prod(map(len, parts))
        length = sum(max(map(len, part)) for part in parts)
        is_short = count <= _MOST_VALUES and (length <= _MOST_CHARS or count == 1)
        return list(map("".join, product(*parts))) if is_short else [UNKNOWN]

    def _expand(self, found: re.Match[str], *, is_quoted: bool) -> tuple[str, ...]:
        match found.lastgroup:
            case "ansi" if not is_quoted:
                return (_decode(found["ansi"]),)
            case "single" if not is_quoted:
                # The shell does not look into it, but a shell that is given the text does.
                values = self.fill(found["single"], is_quoted=True)
                return tuple(f"'{value}'" for value in values if UNKNOWN not in value) or (found[0],)
            case "ansi":
                return tuple(f"$'{value}'" for value in self.fill(found["ansi"], is_quoted=True))
            case "single":
                return tuple(f"'{value}'" for value in self.fill(found["single"], is_quoted=True))
            case "double":
                return tuple(f'"{value}"' for value in self.fill(found["double"], is_quoted=True))
            case "name":
                return self._split(self._look_up(found["name"]), is_quoted=is_quoted)
            case "braced":
                return self._split(self._evaluate(found["braced"]), is_quoted=is_quoted)
            case "open":
                return (UNKNOWN,)
            case "output":
                return self._run(found["output"])
            case _:
                return (found[0],)

    def _split(self, values: tuple[str, ...], *, is_quoted: bool) -> tuple[str, ...]:
        """Return the values and, if the line says where the shell splits them, also their parts."""
        ends = "".join(self._values.get("IFS", ()))
        if is_quoted or not ends.strip("'\"\\$nt \n\t"):
            return values
        parts = (part for value in values for part in re.split(f"[{re.escape(ends)}]", value))
        return tuple(dict.fromkeys((*values, *parts)))

    def _look_up(self, name: str) -> tuple[str, ...]:
        if name in _NUMBERS:
            return ("0",)
        return (UNKNOWN,) if _SET_BY_SHELL.fullmatch(name) else self._values.get(name, (UNKNOWN,))

    def _evaluate(self, text: str) -> tuple[str, ...]:
        """Return the values of `${text}`."""
        if re.fullmatch(r"#\w+", text):
            return ("0",)
        parameter = _PARAMETER.fullmatch(text)
        if parameter is None:
            return (UNKNOWN,)
        name, operator, word = parameter[1], parameter[2] or "", parameter[3] or ""
        if operator in {"", "?", ":?"}:
            return self._look_up(name)
        if operator in {"#", "##", "%", "%%"}:
            patterns = [unquote_roughly(value) for value in self.fill(word)]
            return tuple({_trim(value, operator, one) for value, one in product(self._look_up(name), patterns)})
        is_set = name in self._values or _SET_BY_SHELL.fullmatch(name)
        known = self._look_up(name) if is_set and operator not in {"+", ":+"} else ()
        return tuple(dict.fromkeys((*known, *([""] if operator in {"+", ":+"} else []), *self.fill(word))))

    def _run(self, mark: str) -> tuple[str, ...]:
        """Return what a command prints whose output is used, as far as that is certain."""
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
                endings = [unquote_roughly(value) for value in self.fill("".join(words[2:]))]
                names = [unquote_roughly(value).rstrip("/").rpartition("/")[2] for value in self.fill(path)]
                return tuple({_remove_ending(name, ending) for name, ending in product(names, endings)})
            case ("dirname", path):
                return tuple({_take_folder(unquote_roughly(value)) for value in self.fill(path)})
            case _:
                return (UNKNOWN,)


def _remove_ending(name: str, ending: str) -> str:
    return UNKNOWN if UNKNOWN in ending else name.removesuffix(ending) or name


def _take_folder(path: str) -> str:
    """Return the folder of a path. What is not known may have folders of its own."""
    return UNKNOWN if UNKNOWN in path else path.rstrip("/").rpartition("/")[0] or "."


def _decode(text: str) -> str:
    """Return what `$'text'` stands for, in quotes."""

    def replace(found: re.Match[str]) -> str:
        octal, *hexadecimal, control, other = found.groups()
        digits = next(filter(None, hexadecimal), "")
        if control or (digits and int(digits, 16) > 0x10FFFF):
            return UNKNOWN
        if octal or digits:
            return chr(int(octal, 8) % 256 if octal else int(digits, 16))
        return {"n": "\n", "t": "\t", "r": "\r"}.get(other, other)

    decoded = _ANSI.sub(replace, text)
    # A byte alone may be a part of a character.
    return f"'{decoded}'" if decoded.isascii() and "'" not in decoded else UNKNOWN


def _trim(value: str, operator: str, pattern: str) -> str:
    """Return a value without the beginning or the end that matches a pattern. A value that is itself a pattern, such as
    `*.csv` of a loop, stands for names without a dot before them."""
    is_long = len(value) > _MOST_TRIMMED or len(pattern) > _MOST_PATTERN or pattern.count("*") > 2
    if is_long or UNKNOWN in value or UNKNOWN in pattern:
        return UNKNOWN
    is_pattern = re.search(r"[*?\[{]", value) is not None
    cuts = range(len(value) + 1)
    if operator[0] == "%":
        matching = [cut for cut in cuts if fnmatch.fnmatchcase(value[cut:], pattern)]
        at = (min if operator == "%%" else max)(matching, default=len(value))
        return value[:at] if at < len(value) or not is_pattern else f"{value}*"
    if is_pattern and pattern != "*/":
        return UNKNOWN
    matching = [cut for cut in cuts if fnmatch.fnmatchcase(value[:cut], pattern)]
    return value[(max if operator == "##" else min)(matching, default=0) :]
