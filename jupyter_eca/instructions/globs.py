"""Compiles the patterns of rules for certain paths. They are Java's globs (`FileSystem.getPathMatcher`), because ECA
uses these. The module must not know rules: `rules.py` does.

`*` and `?` match within one folder, and `**` matches across folders. `{a,b}` matches `a` or `b`. `[a-c]` and `[!a-c]`
match one character. Unlike in a shell, `**/` matches at least one folder: `src/**/*.py` does not match `src/a.py`, but
`src/**.py` does.
"""

from __future__ import annotations

import re
from typing import Final

# One part of a pattern. The name of the group says what it is.
_PART: Final = re.compile(
    r"\\(?P<plain>.)|(?P<deep>\*\*+)|(?P<star>\*)|(?P<any>\?)|\[(?P<not>!?)(?P<set>[^\]/]+)\]"
    r"|(?P<open>\{)|(?P<close>\})|(?P<comma>,)|(?P<bad>\[|\\)|(?P<else>.)",
    re.DOTALL,
)


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Return a regular expression that matches the whole path.

    Raises: ValueError when it is not a valid pattern.
    """
    out: list[str] = []
    grouped = False  # whether a `{` is open
    for part in _PART.finditer(pattern):
        match part.lastgroup:
            case "deep":
                out.append(".*")
            case "star":
                out.append("[^/]*")
            case "any":
                out.append("[^/]")
            case "set":
                # Characters with a meaning in a set of a regular expression, but not in a set of a glob, are escaped.
                chars = re.sub(r"[\\\[^&~|]|(?<=-)-", r"\\\g<0>", part["set"])
                out.append(f"(?!/)[{'^' if part['not'] else ''}{chars}]")
            case "open" if not grouped:
                grouped = True
                out.append("(?:(?:")
            case "close" if grouped:
                grouped = False
                out.append("))")
            case "comma" if grouped:
                out.append(")|(?:")
            case "open" | "bad":
                raise ValueError(f"{pattern!r} is not a pattern for paths")
            case _:
                out.append(re.escape(part["plain"] or part[0]))
    if grouped:
        raise ValueError(f"{pattern!r} is not a pattern for paths")
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a pattern for paths") from error
