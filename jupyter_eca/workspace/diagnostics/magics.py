"""Parses the Python of a cell that contains IPython's own syntax (magics, shell commands and help requests). It does
not need IPython itself.

Lines in IPython's syntax are replaced by Python that does nothing, so that each line of the syntax tree has the number
that it has in the cell. A line counts as a magic only where Python cannot parse it. So text in strings and brackets is
never taken for a magic. The module must not look for names in the tree: `name_analysis.py` does.
"""

from __future__ import annotations

import ast
import re
import warnings
from dataclasses import dataclass
from typing import Final

# IPython compiles cells with the same flags.
_FLAGS: Final = ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT

# Cell magics whose body is Python code in the same namespace.
_PYTHON_MAGICS: Final = frozenset({"time", "timeit", "capture", "prun", "debug", "snakeviz", "memit", "mprun", "lprun"})

# Cell magics whose body is not Python. They bind only the names that their arguments contain.
_FOREIGN_MAGICS: Final = frozenset({
    "bash", "sh", "script", "cmd", "system", "sx", "!", "perl", "ruby", "html", "HTML", "svg", "SVG", "js",
    "javascript", "latex", "markdown", "writefile", "file", "sql", "eca",
})  # fmt: skip

# A cell magic: `%%capture out`.
_CELL: Final = re.compile(r"\s*%%(\S*)(.*)")
# A line in IPython's own syntax: `%matplotlib inline`, `!ls`, `?print`, `df.head?`.
_LINE: Final = re.compile(r"(\s*)(?:[%!]|\?{1,2}\S|[\w.\[\]'\"*%]+\?{1,2}\s*$)")
# `%time` or `%prun` with Python after it: `%time x = load()`.
_TIMED: Final = re.compile(r"(\s*)%(?:time|prun)\s+(?:-\S+\s+)*(\S.*)")
# An assignment of a magic or a shell command: `files = !ls`.
_ASSIGNED: Final = re.compile(r"(\s*[\w.,\s\[\]'\"()]+=\s*)[%!]")

# The names that magics bind: `%%eca -> x`, `%%capture x`, `%%bash --out x --err y`, `%%sql x << select`.
_BINDS: Final = re.compile(r"->\s*(\w+)|--(?:out|err)[ =](\w+)|(\w+)\s*<<")
# The first argument that is no option: `out` in `%%capture --no-stderr out`.
_CAPTURE: Final = re.compile(r"(?:^|\s)(?!-)(\w+)")

# Magics that bind names which the source does not show, such as `%run script.py`.
_OPAQUE: Final = re.compile(r"^\s*%(?:run|pylab|store\s+-r|macro|rerun|recall)\b", re.MULTILINE)

# The characters of a cell that is parsed. A longer cell is data, and Python needs seconds to parse it.
MAX_SOURCE: Final = 200_000

# The largest number of magics that are found one by one in a cell. Each of them costs one parse of the whole cell.
# After that, each remaining line that looks like a magic counts as a magic.
MAX_ROUNDS: Final = 50


@dataclass(frozen=True, slots=True)
class Flaw:
    """Why Python cannot parse a source: its first syntax error."""

    line: int
    """Counted from 0."""
    character: int
    """Counted from 0."""
    message: str
    """The error of Python's parser, with its type: `SyntaxError: invalid syntax`."""


@dataclass(frozen=True, slots=True)
class ParsedCell:
    """A parsed cell. A cell in another language than Python has an empty tree."""

    tree: ast.Module | None
    """None when Python cannot parse the cell."""
    flaw: Flaw | None = None
    """Why Python cannot parse it."""
    binds: frozenset[str] = frozenset()
    """The names that its magics bind."""
    opaque: bool = False
    """Whether a magic may bind names that cannot be known from the source."""


def parse_cell(source: str) -> ParsedCell:
    """Parse the source of a cell. A source that is too long counts as an opaque cell without code."""
    if len(source) > MAX_SOURCE:
        return ParsedCell(ast.Module([], []), opaque=True)
    lines = source.split("\n")
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)  # the first line that is not empty
    opaque = bool(_OPAQUE.search(source))
    if match := _CELL.match(lines[first]):
        name, arguments = match[1], match[2]
        binds = {word for groups in _BINDS.findall(arguments) for word in groups if word}
        if name not in _PYTHON_MAGICS:
            # An unknown cell magic may bind any name.
            return ParsedCell(ast.Module([], []), None, frozenset(binds), opaque=name not in _FOREIGN_MAGICS)
        if name == "capture" and (into := _CAPTURE.search(arguments)):
            binds.add(into[1])
        lines[first] = ""
        tree, flaw = _parse_without_magics(lines)
        return ParsedCell(tree, flaw, frozenset(binds), opaque)
    # What `%time x = load()` binds is noted here, because Python's parser never sees such a line as it is written.
    timed = {name for line in lines if (match := _TIMED.match(line)) for name in _list_stored_names(match[2])}
    tree, flaw = _parse_without_magics(lines)
    return ParsedCell(tree, flaw, frozenset(timed), opaque)


def _list_stored_names(statement: str) -> set[str]:
    """Return the names that a statement assigns."""
    tree = _compile(statement)
    names = (node for node in ast.walk(tree) if isinstance(node, ast.Name)) if isinstance(tree, ast.Module) else ()
    return {name.id for name in names if isinstance(name.ctx, ast.Store)}


def _parse_without_magics(lines: list[str]) -> tuple[ast.Module | None, Flaw | None]:
    """Parse the lines, and return the tree or the flaw; the other one is None. When Python stops at a line that is a
    magic, that line is replaced, and all lines are parsed again. `lines` is changed."""
    for _ in range(MAX_ROUNDS):
        parsed = _compile("\n".join(lines))
        if isinstance(parsed, ast.Module):
            return parsed, None
        if not _mask(lines, parsed.line):
            return None, parsed
    for index in range(len(lines)):
        _mask(lines, index, try_previous=False)
    parsed = _compile("\n".join(lines))
    return (parsed, None) if isinstance(parsed, ast.Module) else (None, parsed)


def _compile(source: str) -> ast.Module | Flaw:
    """Return the tree of a source, or why Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            # Warnings about the user's code, such as an invalid escape, are not ours to print.
            warnings.simplefilter("ignore")
            tree = compile(source, "<cell>", "exec", _FLAGS, dont_inherit=True)
    except SyntaxError as error:
        return Flaw((error.lineno or 1) - 1, max((error.offset or 1) - 1, 0), f"{type(error).__name__}: {error.msg}")
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return Flaw(0, 0, f"Python cannot read this cell: {error or type(error).__name__}")
    return tree if isinstance(tree, ast.Module) else ast.Module([], [])


def _mask(lines: list[str], index: int, *, try_previous: bool = True) -> bool:
    """Replace the magic in the line at this index by Python. `lines` is changed. If the line is no magic, also try the
    line before it with `try_previous`, because Python may report an error one line too late. Return False when no magic
    was found."""
    for number in (index, index - 1) if try_previous else (index,):
        if not 0 <= number < len(lines):
            continue
        line = lines[number]
        if match := _TIMED.match(line):
            lines[number] = f"{match[1]}{match[2]}"
        elif match := _LINE.match(line):
            lines[number] = f"{match[1]}pass"
        elif match := _ASSIGNED.match(line):
            lines[number] = f"{match[1]}None"
        else:
            continue
        # A magic that ends in a backslash continues on the next line, which becomes empty.
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line, lines[number] = lines[number], ""
        return True
    return False
